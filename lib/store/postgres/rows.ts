/** The SQL statements that read and write records. */
import type { Pool, PoolClient } from "pg";
import type { Write } from "../engine/attempt.ts";
import { keyBounds, parseId, sortKey } from "../engine/record_key.ts";
import { type Key, recordName, type Row as Listed, type Version } from "../engine/view.ts";
import { Json } from "../json.ts";
import type { ListOptions } from "../store.ts";

/** A pool, or one connection of it. */
export type Queryable = Pick<Pool | PoolClient, "query">;

/** Collection of the writers' commit numbers; no record of the service can be in it. */
export const WRITERS = "";

interface Row {
  collection: string;
  id: Uint8Array;
  /** Read as a double, since the driver returns 64-bit integers as text. */
  revision: number;
  /** JSON text; null when the record was deleted. */
  value: string | null;
}

/** SQL that formats a time as JSON text in UTC, as in a writer's record. */
const timeAsJson = (time: string): string =>
  `'"' || to_char((${time}) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'`;

const VERSIONS = `select collection, id, revision::float8, value
  from unnest($2::text[], $3::bytea[]) as requested(collection, id) join countersign_rows using (collection, id)
  where store = $1`;

/**
 * Moves the head and writes each record, if the head and the records are still as they were read; a record that was absent
 * (`before` 0) must not be live. If some records were not read ($11), a new revision must also be above that of the deleted
 * record. If a condition fails, a division by zero rolls the transaction back. The writer's row stores the number of its
 * last commit.
 */
const WRITE = `with put as materialized (
    select * from unnest($3::text[], $4::bytea[], $5::bigint[], $6::bigint[], $7::text[])
      as put(collection, id, before, revision, value)
  ), moved as (
    update countersign_heads set commits = commits + 1, name = $10 where store = $1 and name = $2 returning 1
  ), added as (
    insert into countersign_rows (store, collection, id, revision, deleted, value)
    select $1, collection, id, revision, value is null, value from put where before = 0
    on conflict (store, collection, id)
    do update set revision = excluded.revision, deleted = excluded.deleted, value = excluded.value
    where countersign_rows.deleted and (not $11 or countersign_rows.revision < excluded.revision) returning 1
  ), changed as (
    update countersign_rows as row set revision = put.revision, deleted = put.value is null, value = put.value
    from put where put.before > 0 and row.store = $1 and row.collection = put.collection and row.id = put.id
      and row.revision = put.before returning 1
  ), recorded as (
    insert into countersign_rows (store, collection, id, revision, deleted, value)
    values ($1, '${WRITERS}', $8, $9, false, ${timeAsJson("now()")})
    on conflict (store, collection, id) do update set revision = excluded.revision, value = excluded.value
  )
  select 1 / ((select count(*) from moved) * (
    (select count(*) from added) + (select count(*) from changed) = (select count(*) from put))::int) as matches`;

const parseVersion = ({ collection, id, revision, value }: Row): Version => ({
  collection,
  id: parseId(id),
  revision,
  json: value === null ? undefined : new Json(value),
});

/** Reads a page of a collection. */
export async function listRecords(
  client: Queryable,
  store: string,
  collection: string,
  options: ListOptions<boolean>,
): Promise<Listed[]> {
  const { limit, reverse = false, keysOnly = false } = options;
  const bounds = keyBounds(options);
  if (!bounds) return [];
  const { rows } = await client.query<Row>(
    `select id ${keysOnly ? "" : ", collection, revision::float8, value"} from countersign_rows
     where store = $1 and collection = $2 and id between $3 and $4 and not deleted
     order by id ${reverse ? "desc" : "asc"} limit $5`,
    [store, collection, bounds.from, bounds.to, limit],
  );
  return keysOnly ? rows.map(({ id }) => ({ id: parseId(id) })) : rows.map(parseVersion);
}

/** Reads the last version of each record, deleted or not, in the order of `keys`. */
export async function readVersions(
  client: Queryable,
  store: string,
  keys: readonly Key[],
): Promise<(Version | undefined)[]> {
  const { rows } = await client.query<Row>(VERSIONS, [
    store,
    keys.map(({ collection }) => collection),
    keys.map(({ id }) => sortKey(id)),
  ]);
  const found = new Map(rows.map(parseVersion).map((version) => [recordName(version), version]));
  return keys.map((key) => found.get(recordName(key)));
}

/** A commit of a writer. */
export interface Commit {
  store: string;
  /** Name of the head that the writer read. */
  from: string;
  /** Name of this commit. */
  to: string;
  by: { id: string; number: number };
}

/** Makes all writes. Errors: `division_by_zero`, `unique_violation` if the store has changed since it was read. */
export async function writeVersions(
  client: Queryable,
  { store, from, to, by }: Commit,
  writes: readonly Write[],
): Promise<void> {
  await client.query(WRITE, [
    store,
    from,
    writes.map(({ collection }) => collection),
    writes.map(({ id }) => sortKey(id)),
    writes.map(({ before }) => (before?.json ? before.revision : 0)),
    writes.map(({ revision }) => revision),
    writes.map(({ json }) => json?.text ?? null),
    sortKey(by.id),
    by.number,
    to,
    writes.some(({ unread }) => unread),
  ]);
}

/** Verifies that the last commit is still `from`: the comparison is 0 if it is not. Errors: `division_by_zero`. */
export async function requireHead(client: Queryable, store: string, from: string): Promise<void> {
  await client.query("select 1 / (name = $2)::int from countersign_heads where store = $1", [store, from]);
}

/** Reads the number of a writer's last commit. */
export async function readLastCommit(client: Queryable, store: string, id: string): Promise<number | undefined> {
  return (await readVersions(client, store, [{ collection: WRITERS, id }]))[0]?.revision;
}

/** Deletes the records of writers that have not written for a week, by the clock of the database. Their times compare as text. */
export async function sweepWriters(client: Queryable, store: string): Promise<void> {
  await client.query(
    `delete from countersign_rows where store = $1 and collection = $2 and value collate "C" < ${timeAsJson("now() - interval '7 days'")}`,
    [store, WRITERS],
  );
}
