/** A store in the SQLite storage of a Durable Object, which no one else can write to. */
import { dumpVersions } from "./engine/dump.ts";
import { versionsOverFloors } from "./engine/floors.ts";
import { MOVE_STATE_KEY } from "./engine/move_state.ts";
import { keyBounds, parseId, sortKey } from "./engine/record_key.ts";
import { serial } from "./engine/serial.ts";
import { soleWriterBulkAccess } from "./engine/sole_writer_bulk_access.ts";
import { recordName, makeReads, type SyncView, type Version, type View } from "./engine/view.ts";
import { Json } from "./json.ts";
import { type Store, StoreUnavailable } from "./store.ts";

/** The part in use of the storage that Cloudflare hands to a Durable Object as `ctx.storage`. */
export interface ObjectStorage {
  sql: { exec(query: string, ...bindings: unknown[]): { toArray(): Record<string, unknown>[] } };
  transactionSync<T>(run: () => T): T;
  /** Resolves when everything written before is durable; rejects when it could not be made so. */
  sync(): Promise<void>;
}

// The last revisions of deleted records lie apart, so that a page never goes through them.
const TABLES = `
  create table if not exists records (
    collection text not null, id blob not null, revision integer not null, value text not null,
    primary key (collection, id));
  create table if not exists deleted_records (
    collection text not null, id blob not null, revision integer not null,
    primary key (collection, id)) without rowid;`;

// One statement, however many are asked for; a statement may not have that many parameters.
const VERSIONS = `with asked(collection, id) as (select value ->> 0, unhex(value ->> 1) from json_each(?))
  select collection, id, revision, value from asked join records using (collection, id)
  union all select collection, id, revision, null from asked join deleted_records using (collection, id)`;
const PAGE = "from records where collection = ? and id between ? and ? order by id";
const PUT = `insert into records (collection, id, revision, value) values (?, ?, ?, ?)
  on conflict (collection, id) do update set revision = excluded.revision, value = excluded.value`;
const REVIVE = "delete from deleted_records where collection = ? and id = ?";
const DELETE = "delete from records where collection = ? and id = ?";
const COLLECTIONS = `select collection as name, max(floor) as floor from (
    select distinct collection, 0 as floor from records
    union all select collection, max(revision) from deleted_records group by collection)
  group by collection order by collection`;
const BURY = "insert or replace into deleted_records (collection, id, revision) values (?, ?, ?)";

interface Row {
  collection: string;
  id: ArrayBuffer;
  revision: number;
  value: string | null;
}

/**
 * Opens the store and makes its tables. The storage reads and writes synchronously, so a decision's writes go in with one
 * `transactionSync`, which the runtime keeps whole or not at all. It commits to disk a moment later. What leaves the object
 * waits for that by itself (the output gate); the store waits too, with `sync`, because what a caller does next may not
 * leave the object. When a commit fails, the runtime resets the object, and its memory with it; until then the store
 * refuses everything.
 */
export function durableObjectStore(storage: ObjectStorage): Store {
  const { sql } = storage;
  sql.exec(TABLES);
  const sync = sharedSync(() => storage.sync());
  let unsynced: Promise<void> | undefined;
  let lost: StoreUnavailable | undefined;

  /** Resolves when all that has been written is durable. */
  const durable = async (): Promise<void> => {
    await unsynced;
    if (lost) throw lost;
  };

  const keep = (writes: readonly Version[]): Promise<void> => {
    if (lost) throw lost;
    if (writes.length > 0) {
      try {
        storage.transactionSync(() => writes.forEach((version) => write(sql, version)));
      } catch (error) {
        throw new StoreUnavailable("the storage of the Durable Object refused a write", { cause: error });
      }
      unsynced = sync().catch((cause: unknown) => {
        lost = new StoreUnavailable("the storage of the Durable Object failed", { cause });
      });
    }
    return durable();
  };

  const view = viewOf(sql);
  const shown = async <T>(seen: T): Promise<Awaited<T>> => {
    await durable();
    return await seen;
  };
  const reads: View = {
    versions: (keys) => shown(view.versions(keys)),
    list: (collection, options) => shown(view.list(collection, options)),
  };
  const collections = () => sql.exec(COLLECTIONS).toArray() as unknown as { name: string; floor: number }[];
  const [found] = view.versions([MOVE_STATE_KEY]);
  // Others write between two pages.
  const sole = soleWriterBulkAccess({
    found,
    keep,
    atOneMoment: false,
    dump: () => dumpVersions({ ...reads, collections }),
  });
  const decided: View = { ...view, versions: (keys) => versionsOverFloors(view, keys) };
  const transactions = serial(decided, { keep, failure: () => lost ?? sole.refusal() });
  return { ...makeReads(reads), ...transactions, bulk: sole.over(transactions.transact) };
}

/** Returns a sync that its callers share: calls during a running sync share the next one. */
function sharedSync(sync: () => Promise<void>): () => Promise<void> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () =>
    (next ??= running.then(() => {
      next = undefined;
      const begun = sync();
      running = begun.catch(() => undefined);
      return begun;
    }));
}

function viewOf(sql: ObjectStorage["sql"]): SyncView {
  const rows = (query: string, ...bindings: unknown[]): Row[] =>
    sql.exec(query, ...bindings).toArray() as unknown as Row[];
  return {
    versions(keys) {
      const requested = keys.map(({ collection, id }) => [collection, hex(sortKey(id))]);
      const versions = rows(VERSIONS, JSON.stringify(requested)).map(versionIn);
      const found = new Map(versions.map((version) => [recordName(version), version]));
      return keys.map((key) => found.get(recordName(key)));
    },
    list(collection, options) {
      const bounds = keyBounds(options);
      if (!bounds) return [];
      const { limit, reverse = false, keysOnly = false } = options;
      const query = `select id${keysOnly ? "" : ", collection, revision, value"} ${PAGE}${reverse ? " desc" : ""} limit ?`;
      const page = rows(query, collection, bounds.from, bounds.to, limit);
      return keysOnly ? page.map(({ id }) => ({ id: idIn(id) })) : page.map(versionIn);
    },
  };
}

const idIn = (id: ArrayBuffer): string => parseId(new Uint8Array(id));
const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const versionIn = ({ collection, id, revision, value }: Row): Version => ({
  collection,
  id: idIn(id),
  revision,
  json: value === null ? undefined : new Json(value),
});

function write(sql: ObjectStorage["sql"], { collection, id, revision, json }: Version): void {
  const key = sortKey(id);
  if (json) {
    sql.exec(PUT, collection, key, revision, json.text);
    sql.exec(REVIVE, collection, key);
  } else {
    sql.exec(DELETE, collection, key);
    sql.exec(BURY, collection, key, revision);
  }
}
