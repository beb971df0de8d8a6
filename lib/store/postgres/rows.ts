/** Records as rows: the statements that read and write them. */
import type { Pool, PoolClient } from "pg";
import type { Key } from "../engine/async_write_set.ts";
import type { Row as Listed, Version } from "../engine/write_set.ts";
import { boundsOf, idOf, sortKey } from "../engine/record_key.ts";
import type { ListOptions, Stored } from "../store.ts";

/** A pool, or one connection of it. */
export type Queryable = Pick<Pool | PoolClient, "query">;

interface Row {
  id: Uint8Array;
  /** A double, since the driver gives 64-bit integers as text. */
  revision: number;
  /** JSON text; null when the record was deleted. */
  value: string | null;
}

const GET = `select id, revision::float8, value from countersign_records
  where store = $1 and collection = $2 and id = $3 and not deleted`;

const VERSIONS = `select collection, id, revision::float8, value
  from unnest($2::text[], $3::bytea[]) as asked(collection, id) join countersign_records using (collection, id)
  where store = $1`;

const PUT = `insert into countersign_records (store, collection, id, revision, deleted, value)
  select $1, collection, id, revision, value is null, value
  from unnest($2::text[], $3::bytea[], $4::bigint[], $5::text[]) as put(collection, id, revision, value)
  on conflict (store, collection, id)
  do update set revision = excluded.revision, deleted = excluded.deleted, value = excluded.value`;

const GET_MANY = `select id, revision::float8, value from countersign_records
  where store = $1 and collection = $2 and id = any($3::bytea[]) and not deleted`;

const storedOf = ({ id, revision, value }: Row): Stored => ({
  id: idOf(id),
  revision,
  value: JSON.parse(value!),
});

/** A record, unless it is deleted. */
export async function getRecord(
  client: Queryable,
  store: string,
  { collection, id }: Key,
): Promise<Stored | undefined> {
  const { rows } = await client.query<Row>(GET, [store, collection, sortKey(id)]);
  return rows[0] && storedOf(rows[0]);
}

/** The records with these ids, in their order. */
export async function getRecords(
  client: Queryable,
  store: string,
  collection: string,
  ids: readonly string[],
): Promise<(Stored | undefined)[]> {
  const { rows } = await client.query<Row>(GET_MANY, [store, collection, ids.map(sortKey)]);
  const found = new Map(rows.map(storedOf).map((stored) => [stored.id, stored]));
  return ids.map((id) => found.get(id));
}

/** A page of a collection. */
export async function listRecords(
  client: Queryable,
  store: string,
  collection: string,
  options: ListOptions<boolean>,
): Promise<Listed[]> {
  const { limit, reverse = false, keysOnly = false } = options;
  const bounds = boundsOf(options);
  if (limit === 0 || !bounds) return [];
  const { rows } = await client.query<Row>(
    `select id ${keysOnly ? "" : ", revision::float8, value"} from countersign_records
     where store = $1 and collection = $2 and id between $3 and $4 and not deleted
     order by id ${reverse ? "desc" : "asc"} limit $5`,
    [store, collection, bounds.from, bounds.to, limit],
  );
  return keysOnly ? rows.map(({ id }) => ({ id: idOf(id) })) : rows.map(storedOf);
}

/** The last version of each record, deleted or not, in the order asked for. */
export async function readVersions(
  client: Queryable,
  store: string,
  keys: readonly Key[],
): Promise<(Version | undefined)[]> {
  const { rows } = await client.query<Row & { collection: string }>(VERSIONS, [
    store,
    keys.map(({ collection }) => collection),
    keys.map(({ id }) => sortKey(id)),
  ]);
  const nameOf = ({ collection, id }: Key): string => JSON.stringify([collection, id]);
  const found = new Map<string, Version>();
  for (const { collection, id: bytes, revision, value } of rows) {
    const version = { collection, id: idOf(bytes), revision, text: value ?? undefined };
    found.set(nameOf(version), version);
  }
  return keys.map((key) => found.get(nameOf(key)));
}

/** Writes each version in place of the one before. */
export async function writeVersions(client: Queryable, store: string, versions: readonly Version[]): Promise<void> {
  await client.query(PUT, [
    store,
    versions.map(({ collection }) => collection),
    versions.map(({ id }) => sortKey(id)),
    versions.map(({ revision }) => revision),
    versions.map(({ text }) => text ?? null),
  ]);
}
