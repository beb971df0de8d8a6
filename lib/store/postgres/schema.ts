/** Tables of the Postgres store; the first process that opens it creates them. */
import type { PoolClient } from "pg";
import { StoreUnavailable } from "../store.ts";

/** Version of the table layout. */
const VERSION = 1;

/**
 * Ids are sort keys (see `record_key.ts`), values are JSON text. Rows of deleted records stay, since they have the last
 * revision. The partial index lists live records; it depends on the column `deleted`, so that a new value needs no index update.
 * The fill factors leave free space in each page for updated rows. A head has the number of commits of its store, and the name of
 * the last one.
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

/** Advisory lock for the creation of tables, an arbitrary number that is the same in every process. */
const CREATION_LOCK = "4850194026871223041";

/** Creates the tables if absent. Errors: `StoreUnavailable` if they have another version, or the encoding is not UTF-8. */
export async function makeTables(client: Pick<PoolClient, "query">, place: string): Promise<void> {
  const { rows } = await client.query<{ encoding: string; exists: boolean }>(
    `select current_setting('server_encoding') as encoding, to_regclass('countersign_schema') is not null as "exists"`,
  );
  const { encoding, exists } = rows[0]!;
  if (encoding !== "UTF8")
    throw new StoreUnavailable(`${place}: the database has the encoding ${encoding}; make one with encoding UTF8`);
  if (exists && (await readSchemaVersion(client)) === VERSION) return;
  await client.query("begin isolation level read committed read write");
  try {
    await client.query(`select pg_advisory_xact_lock(${CREATION_LOCK})`);
    // Another process may have created the tables before this one got the lock.
    await client.query("create table if not exists countersign_schema (version integer not null)");
    const version = await readSchemaVersion(client);
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

/** Reads the version of the tables; 0 if they are not created yet. */
async function readSchemaVersion(client: Pick<PoolClient, "query">): Promise<number> {
  const { rows } = await client.query<{ version: number }>("select version from countersign_schema");
  return rows[0]?.version ?? 0;
}
