/** A store in the SQLite storage of a Durable Object, whose only writer is this object. */
import { dumpVersions } from "./engine/dump.ts";
import { readVersionsWithFloors } from "./engine/floors.ts";
import { MOVE_STATE_KEY } from "./engine/move_state.ts";
import { keyBounds, parseId, sortKey } from "./engine/record_key.ts";
import { serial } from "./engine/serial.ts";
import { soleWriterBulkAccess } from "./engine/sole_writer_bulk_access.ts";
import { recordName, makeReads, type SyncView, type Version, type View } from "./engine/view.ts";
import { Json } from "./json.ts";
import { type Store, StoreUnavailable } from "./store.ts";

/** The used part of `ctx.storage`, the storage that Cloudflare provides to a Durable Object. */
export interface ObjectStorage {
  sql: { exec(query: string, ...bindings: unknown[]): { toArray(): Record<string, unknown>[] } };
  transactionSync<T>(run: () => T): T;
  /** Resolves when all earlier writes are durable; rejects if they could not be made durable. */
  sync(): Promise<void>;
}

// Ids are sort keys (see `record_key.ts`). The last revisions of deleted records have their own table, so that reading a page
// never scans them.
const TABLES = `
  create table if not exists records (
    collection text not null, id blob not null, revision integer not null, value text not null,
    primary key (collection, id));
  create table if not exists deleted_records (
    collection text not null, id blob not null, revision integer not null,
    primary key (collection, id)) without rowid;`;

// The keys are one JSON parameter, since a statement may not have a parameter for each of many keys.
const VERSIONS = `with requested(collection, id) as (select value ->> 0, unhex(value ->> 1) from json_each(?))
  select collection, id, revision, value from requested join records using (collection, id)
  union all select collection, id, revision, null from requested join deleted_records using (collection, id)`;
const PAGE = "from records where collection = ? and id between ? and ? order by id";
const PUT = `insert into records (collection, id, revision, value) values (?, ?, ?, ?)
  on conflict (collection, id) do update set revision = excluded.revision, value = excluded.value`;
const DELETE_TOMBSTONE = "delete from deleted_records where collection = ? and id = ?";
const DELETE = "delete from records where collection = ? and id = ?";
const COLLECTIONS = `select collection as name, max(floor) as floor from (
    select distinct collection, 0 as floor from records
    union all select collection, max(revision) from deleted_records group by collection)
  group by collection order by collection`;
const PUT_TOMBSTONE = "insert or replace into deleted_records (collection, id, revision) values (?, ?, ?)";

interface Row {
  collection: string;
  id: ArrayBuffer;
  revision: number;
  value: string | null;
}

/**
 * Opens the store and creates its tables. The storage reads and writes synchronously, so the writes of a decision are one
 * `transactionSync`, which is atomic. The runtime commits it to disk a moment later, and delays outgoing messages until then
 * (the output gate). The store waits too, with `sync`, since a caller may continue without sending a message. If a commit
 * fails, the runtime resets the object and its memory; until then every call of the store fails.
 */
export function durableObjectStore(storage: ObjectStorage): Store {
  const { sql } = storage;
  sql.exec(TABLES);
  const sync = sharedSync(() => storage.sync());
  let lastSync: Promise<void> | undefined;
  let syncError: StoreUnavailable | undefined;

  /** Resolves when all writes so far are durable. */
  const waitUntilDurable = async (): Promise<void> => {
    await lastSync;
    if (syncError) throw syncError;
  };

  const persist = (writes: readonly Version[]): Promise<void> => {
    if (syncError) throw syncError;
    if (writes.length > 0) {
      try {
        storage.transactionSync(() => writes.forEach((version) => write(sql, version)));
      } catch (error) {
        throw new StoreUnavailable("the storage of the Durable Object refused a write", { cause: error });
      }
      lastSync = sync().catch((cause: unknown) => {
        syncError = new StoreUnavailable("the storage of the Durable Object failed", { cause });
      });
    }
    return waitUntilDurable();
  };

  const view = createView(sql);
  /** Returns what was read once the writes that it may show are durable. */
  const returnWhenDurable = async <T>(result: T): Promise<Awaited<T>> => {
    await waitUntilDurable();
    return await result;
  };
  const durableReads: View = {
    versions: (keys) => returnWhenDurable(view.versions(keys)),
    list: (collection, options) => returnWhenDurable(view.list(collection, options)),
  };
  const collections = () => sql.exec(COLLECTIONS).toArray() as unknown as { name: string; floor: number }[];
  const [storedMoveState] = view.versions([MOVE_STATE_KEY]);
  const bulkAccess = soleWriterBulkAccess({
    storedMoveState,
    persist,
    // Transactions may run between two pages of a dump.
    atOneMoment: false,
    dump: () => dumpVersions({ ...durableReads, collections }),
  });
  // A loaded copy has only the highest deleted revision of each collection; transactions number new records above it.
  const transactionView: View = { ...view, versions: (keys) => readVersionsWithFloors(view, keys) };
  const transactions = serial(transactionView, {
    persist,
    findWriteError: () => syncError ?? bulkAccess.findWriteError(),
  });
  return { ...makeReads(durableReads), ...transactions, bulk: bulkAccess.createBulkAccess(transactions.transact) };
}

/** Wraps `sync` so that all calls during a running sync share the next one. */
function sharedSync(sync: () => Promise<void>): () => Promise<void> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () =>
    (next ??= running.then(() => {
      next = undefined;
      const current = sync();
      running = current.catch(() => undefined);
      return current;
    }));
}

function createView(sql: ObjectStorage["sql"]): SyncView {
  const queryRows = (query: string, ...bindings: unknown[]): Row[] =>
    sql.exec(query, ...bindings).toArray() as unknown as Row[];
  return {
    versions(keys) {
      const requested = keys.map(({ collection, id }) => [collection, toHex(sortKey(id))]);
      const versions = queryRows(VERSIONS, JSON.stringify(requested)).map(parseVersion);
      const found = new Map(versions.map((version) => [recordName(version), version]));
      return keys.map((key) => found.get(recordName(key)));
    },
    list(collection, options) {
      const bounds = keyBounds(options);
      if (!bounds) return [];
      const { limit, reverse = false, keysOnly = false } = options;
      const query = `select id${keysOnly ? "" : ", collection, revision, value"} ${PAGE}${reverse ? " desc" : ""} limit ?`;
      const page = queryRows(query, collection, bounds.from, bounds.to, limit);
      return keysOnly ? page.map(({ id }) => ({ id: parseStoredId(id) })) : page.map(parseVersion);
    },
  };
}

const parseStoredId = (id: ArrayBuffer): string => parseId(new Uint8Array(id));
const toHex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const parseVersion = ({ collection, id, revision, value }: Row): Version => ({
  collection,
  id: parseStoredId(id),
  revision,
  json: value === null ? undefined : new Json(value),
});

function write(sql: ObjectStorage["sql"], { collection, id, revision, json }: Version): void {
  const key = sortKey(id);
  if (json) {
    sql.exec(PUT, collection, key, revision, json.text);
    sql.exec(DELETE_TOMBSTONE, collection, key);
  } else {
    sql.exec(DELETE, collection, key);
    sql.exec(PUT_TOMBSTONE, collection, key, revision);
  }
}
