/** Tables of the Postgres store; the first process that opens it makes them. */
import type { PoolClient } from "pg";
import { StoreUnavailable } from "../store.ts";

/** Format of the tables; a change of them raises it. */
const VERSION = 1;

/**
 * Ids are bytes (see `record_key.ts`), values the JSON text as it was put. Deleted records stay, for their revision; the
 * partial index keeps them out of pages, and `deleted` is a column of its own so that replacing a value touches no index.
 */
const TABLES = `
  create table countersign_rows (
    store text collate "C" not null,
    collection text collate "C" not null,
    id bytea not null,
    revision bigint not null,
    deleted boolean not null,
    value text,
    primary key (store, collection, id),
    check (deleted = (value is null))
  ) with (fillfactor = 80);
  create index countersign_live on countersign_rows (store, collection, id) where not deleted;
  create table countersign_heads (
    store text collate "C" primary key,
    commits bigint not null,
    name text not null
  ) with (fillfactor = 10)`;

/** Any number that is the same in every process: two that open an empty database take turns. */
const CREATION_LOCK = "4850194026871223041";

/** Makes the tables. Errors: `StoreUnavailable` when they are there in another version, or the encoding is not UTF-8. */
export async function makeTables(client: Pick<PoolClient, "query">, place: string): Promise<void> {
  const { rows } = await client.query<{ encoding: string; made: boolean }>(
    "select current_setting('server_encoding') as encoding, to_regclass('countersign_schema') is not null as made",
  );
  const { encoding, made } = rows[0]!;
  if (encoding !== "UTF8")
    throw new StoreUnavailable(`${place}: the database has the encoding ${encoding}; make one with encoding UTF8`);
  if (made && (await versionIn(client)) === VERSION) return;
  await client.query("begin isolation level read committed read write");
  try {
    await client.query(`select pg_advisory_xact_lock(${CREATION_LOCK})`);
    // Values that were read before the lock may be stale.
    await client.query("create table if not exists countersign_schema (version integer not null)");
    const version = await versionIn(client);
    if (version !== 0 && version !== VERSION)
      throw new StoreUnavailable(
        `${place}: its tables are of version ${version}, this program reads ${VERSION}: use the version that made them`,
      );
    if (version === 0) {
      await client.query(TABLES);
      await client.query("insert into countersign_schema values ($1)", [VERSION]);
    }
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
}

/** 0 when nothing was made yet. */
async function versionIn(client: Pick<PoolClient, "query">): Promise<number> {
  const { rows } = await client.query<{ version: number }>("select version from countersign_schema");
  return rows[0]?.version ?? 0;
}
