/** Records as rows: the statements that read and write them. */
import type { Pool, PoolClient } from "pg";
import { boundsOf, idOf, sortKey } from "../engine/record_key.ts";
import { type Key, nameOf, type Row as Listed, type Version } from "../engine/view.ts";
import { Json } from "../json.ts";
import type { ListOptions } from "../store.ts";

/** A pool, or one connection of it. */
export type Queryable = Pick<Pool | PoolClient, "query">;

interface Row {
  collection: string;
  id: Uint8Array;
  /** A double, since the driver gives 64-bit integers as text. */
  revision: number;
  /** JSON text; null when the record was deleted. */
  value: string | null;
}

const VERSIONS = `select collection, id, revision::float8, value
  from unnest($2::text[], $3::bytea[]) as asked(collection, id) join countersign_records using (collection, id)
  where store = $1`;

const PUT = `insert into countersign_records (store, collection, id, revision, deleted, value)
  select $1, collection, id, revision, value is null, value
  from unnest($2::text[], $3::bytea[], $4::bigint[], $5::text[]) as put(collection, id, revision, value)
  on conflict (store, collection, id)
  do update set revision = excluded.revision, deleted = excluded.deleted, value = excluded.value`;

const versionIn = ({ collection, id, revision, value }: Row): Version => ({
  collection,
  id: idOf(id),
  revision,
  json: value === null ? undefined : new Json(value),
});

/** A page of a collection. */
export async function listRecords(
  client: Queryable,
  store: string,
  collection: string,
  options: ListOptions<boolean>,
): Promise<Listed[]> {
  const { limit, reverse = false, keysOnly = false } = options;
  const bounds = boundsOf(options);
  if (!bounds) return [];
  const { rows } = await client.query<Row>(
    `select id ${keysOnly ? "" : ", collection, revision::float8, value"} from countersign_records
     where store = $1 and collection = $2 and id between $3 and $4 and not deleted
     order by id ${reverse ? "desc" : "asc"} limit $5`,
    [store, collection, bounds.from, bounds.to, limit],
  );
  return keysOnly ? rows.map(({ id }) => ({ id: idOf(id) })) : rows.map(versionIn);
}

/** The last version of each record, deleted or not, in the order asked for. */
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
  const found = new Map(rows.map(versionIn).map((version) => [nameOf(version), version]));
  return keys.map((key) => found.get(nameOf(key)));
}

/** Writes each version in place of the one before. */
export async function writeVersions(client: Queryable, store: string, versions: readonly Version[]): Promise<void> {
  await client.query(PUT, [
    store,
    versions.map(({ collection }) => collection),
    versions.map(({ id }) => sortKey(id)),
    versions.map(({ revision }) => revision),
    versions.map(({ json }) => json?.text ?? null),
  ]);
}
