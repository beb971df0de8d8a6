/** A store in the SQLite storage of a Durable Object, which no one else can write to. */
import { checkList, draft, storedOf, type Version, type Versions, type View } from "./engine/write_set.ts";
import { boundsOf, idOf, sortKey } from "./engine/record_key.ts";
import { type ListOptions, type Store, type Stored, StoreUnavailable, type Tx } from "./store.ts";

/** What is used of the storage that Cloudflare hands to a Durable Object as `ctx.storage`. */
export interface ObjectStorage {
  sql: { exec(query: string, ...bindings: unknown[]): { toArray(): Record<string, unknown>[] } };
  transactionSync<T>(run: () => T): T;
  /** Resolves when everything written before is durable; rejects when it could not be made so. */
  sync(): Promise<void>;
}

/** A row may have 2 MB; the rest of it is the id and the record's header. */
const LARGEST = 2_000_000 - 2_000;

// The last revisions of deleted records lie apart, so that a page never goes through them.
const TABLES = `
  create table if not exists records (
    collection text not null, id blob not null, revision integer not null, value text not null,
    primary key (collection, id));
  create table if not exists deleted_records (
    collection text not null, id blob not null, revision integer not null,
    primary key (collection, id)) without rowid;`;

const GET = "select revision, value from records where collection = ? and id = ?";
const DELETED = "select revision from deleted_records where collection = ? and id = ?";
const PUT = `insert into records (collection, id, revision, value) values (?, ?, ?, ?)
  on conflict (collection, id) do update set revision = excluded.revision, value = excluded.value`;
const REVIVE = "delete from deleted_records where collection = ? and id = ?";
const DELETE = "delete from records where collection = ? and id = ?";
const BURY = "insert or replace into deleted_records (collection, id, revision) values (?, ?, ?)";
const PAGE = "from records where collection = ? and id between ? and ? order by id";
const GET_MANY = `select id, revision, value from records
  where collection = ? and id in (select unhex(value) from json_each(?))`;

interface Row {
  id: ArrayBuffer;
  revision: number;
  value: string;
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
  let queue: Promise<unknown> = Promise.resolve();
  let unsynced: Promise<void> | undefined;
  let lost: StoreUnavailable | undefined;
  let closed = false;

  const view = viewOf(sql);

  /** Resolves when all that has been written is durable. */
  const durable = async (): Promise<void> => {
    await unsynced;
    if (lost) throw lost;
  };

  const keep = (writes: Versions): void => {
    if (writes.size === 0) return;
    refuseLarge(writes);
    try {
      storage.transactionSync(() => write(sql, writes));
    } catch (error) {
      throw new StoreUnavailable("the storage of the Durable Object refused a write", { cause: error });
    }
    const own = sync()
      .catch((cause: unknown) => {
        lost = new StoreUnavailable("the storage of the Durable Object failed", { cause });
      })
      .finally(() => {
        if (unsynced === own) unsynced = undefined;
      });
    unsynced = own;
  };

  const attempt = async <T>(decide: (tx: Tx) => T | Promise<T>): Promise<T> => {
    if (lost) throw lost;
    const { tx, finish } = draft(view);
    const result = await decide(tx);
    keep(finish());
    return result;
  };

  /** An answer, also a refusal, may tell of what an earlier decision wrote; it waits until that is durable. */
  const answered = async <T>(work: Promise<T>): Promise<T> => {
    await work.catch(() => undefined);
    await durable();
    return work;
  };

  const read = async <T>(look: () => T): Promise<T> => {
    const seen = look();
    await durable();
    return seen;
  };

  return {
    get: <T>(collection: string, id: string) => read(() => view.get(collection, id) as Stored<T> | undefined),
    getMany: <T>(collection: string, ids: readonly string[]) =>
      read(() => view.getMany!(collection, ids) as (Stored<T> | undefined)[]),
    list: <T>(collection: string, options: ListOptions<boolean>) =>
      read(() => {
        checkList(options);
        return view.list(collection, options) as Stored<T>[];
      }),
    transact<T>(decide: (tx: Tx) => T | Promise<T>) {
      if (closed) return Promise.reject(new StoreUnavailable("the store is closed"));
      const done = queue.then(() => attempt(decide));
      queue = done.catch(() => undefined);
      return answered(done);
    },
    async close() {
      closed = true;
      await queue;
      await unsynced;
    },
  };
}

/** Those that ask while a sync runs share the next one. */
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

function viewOf(sql: ObjectStorage["sql"]): View {
  const rows = (query: string, ...bindings: unknown[]): Row[] =>
    sql.exec(query, ...bindings).toArray() as unknown as Row[];
  return {
    get(collection, id) {
      const [row] = rows(GET, collection, sortKey(id));
      return row && storedOf({ id, revision: row.revision, text: row.value });
    },
    getMany(collection, ids) {
      const found = new Map<string, Stored>();
      for (const row of rows(GET_MANY, collection, JSON.stringify(ids.map((id) => hex(sortKey(id)))))) {
        const stored = storedIn(row);
        found.set(stored.id, stored);
      }
      return ids.map((id) => found.get(id));
    },
    list(collection, options) {
      const { limit, reverse = false, keysOnly = false } = options;
      const bounds = boundsOf(options);
      if (!bounds) return [];
      const query = `select id${keysOnly ? "" : ", revision, value"} ${PAGE}${reverse ? " desc" : ""} limit ?`;
      const page = rows(query, collection, bounds.from, bounds.to, limit);
      return keysOnly ? page.map(({ id }) => ({ id: idOf(new Uint8Array(id)) })) : page.map(storedIn);
    },
    revision(collection, id) {
      const key = sortKey(id);
      const [live] = rows(GET, collection, key);
      return live ? live.revision : -(rows(DELETED, collection, key)[0]?.revision ?? 0);
    },
  };
}

const storedIn = ({ id, revision, value }: Row): Stored =>
  storedOf({ id: idOf(new Uint8Array(id)), revision, text: value })!;

const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

function write(sql: ObjectStorage["sql"], writes: Versions): void {
  for (const { collection, id, revision, text } of each(writes)) {
    const key = sortKey(id);
    if (text === undefined) {
      sql.exec(DELETE, collection, key);
      sql.exec(BURY, collection, key, revision);
    } else {
      sql.exec(PUT, collection, key, revision, text);
      sql.exec(REVIVE, collection, key);
    }
  }
}

function* each(writes: Versions): Generator<Version> {
  for (const versions of writes.values()) yield* versions.values();
}

/** Refuses what no row can hold, before anything is written. */
function refuseLarge(writes: Versions): void {
  for (const { collection, id, text } of each(writes)) {
    // A UTF-16 code unit has three bytes in UTF-8 at most.
    if (text === undefined || text.length * 3 <= LARGEST) continue;
    const bytes = new TextEncoder().encode(text).length;
    if (bytes > LARGEST)
      throw new RangeError(
        `${collection}/${id} has ${bytes} bytes as JSON; a record in a Durable Object may have ${LARGEST}`,
      );
  }
}
