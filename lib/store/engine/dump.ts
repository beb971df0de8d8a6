/** Dumps all records of a store, page by page. */
import type { ListOptions } from "../store.ts";
import type { Version } from "../version.ts";
import type { Awaitable, Row } from "./view.ts";

/** The reads of an engine that a dump needs. */
export interface DumpSource {
  /** The collections that have or had records, each with the highest revision of its deleted records, 0 if there are none. */
  collections(): Awaitable<readonly { name: string; floor: number }[]>;
  list(collection: string, options: ListOptions<boolean>): Awaitable<readonly Row[]>;
}

const PAGE_SIZE = 100;

/**
 * Implements `BulkAccess.dump`: all records, then for each collection with deletions one deletion of an empty id with the highest
 * revision of its deleted records. The collection without a name contains the store's own records and is left out.
 */
export async function* dumpVersions({ collections, list }: DumpSource): AsyncGenerator<readonly Version[]> {
  const named = (await collections()).filter(({ name }) => name !== "");
  for (const { name } of named)
    for (let after: string | undefined; ;) {
      // The rows have values, since `keysOnly` is not set.
      const page = (await list(name, {
        limit: PAGE_SIZE,
        ...(after !== undefined && { after }),
      })) as readonly Version[];
      if (page.length > 0) yield page;
      if (page.length < PAGE_SIZE) break;
      after = page.at(-1)!.id;
    }
  // A deletion without id carries the floor of its collection, so that a copy numbers new records above it.
  const floors = named.filter(({ floor }) => floor > 0);
  if (floors.length > 0)
    yield floors.map(({ name, floor }) => ({ collection: name, id: "", revision: floor, json: undefined }));
}
