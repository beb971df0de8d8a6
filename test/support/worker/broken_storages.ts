/** Storages that break what the store relies on, so that it breaks the contract. */
import type { ObjectStorage } from "../../../lib/store/durable_object.ts";
import { overrideStorage } from "./object_cases.ts";

/** Wraps a storage and rewrites every query. */
const rewriteQueries = (storage: ObjectStorage, rewrite: (query: string) => string): ObjectStorage =>
  overrideStorage(storage, { sql: { exec: (query, ...bindings) => storage.sql.exec(rewrite(query), ...bindings) } });

/** Replaces a statement of three bindings, and does nothing with them. */
const IGNORED = "select ? as ignored, ? as ignored, ? as ignored";

/** Functions that break a storage, by the fault. */
export const brokenStorages: Record<string, (storage: ObjectStorage) => ObjectStorage> = {
  "puts do nothing": (storage) =>
    rewriteQueries(storage, (query) => (query.startsWith("insert into records") ? `${IGNORED}, ? as ignored` : query)),
  "deletes are not remembered": (storage) =>
    rewriteQueries(storage, (query) => (query.includes("into deleted_records") ? IGNORED : query)),
  "pages are in the order they came": (storage) =>
    rewriteQueries(storage, (query) => query.replace("order by id", "order by rowid")),
  "pages have no end": (storage) => rewriteQueries(storage, (query) => query.replace("limit ?", "limit max(?, 1000)")),
};
