/** All of a store in Postgres, as of one moment. */
import type { PoolClient } from "pg";
import { dumpVersions } from "../engine/dump.ts";
import type { Version } from "../version.ts";
import type { Writer } from "./batch.ts";
import { borrow } from "./connection.ts";
import { storeError } from "./errors.ts";
import { listRecords } from "./rows.ts";

const COLLECTIONS = `select collection as name, coalesce(max(revision) filter (where deleted), 0)::float8 as floor
  from countersign_rows where store = $1 group by collection order by collection`;

/** Every record of a store: what is written after this began is not among them. */
export async function* dumpRecords({ pool, place, store }: Writer): AsyncGenerator<readonly Version[]> {
  const { client, giveUp } = await borrow(pool, place);
  try {
    await client.query("begin isolation level repeatable read read only");
    yield* dumpVersions({
      collections: () => collectionsIn(client, store),
      list: (collection, options) => listRecords(client, store, collection, options),
    });
  } catch (error) {
    throw storeError(error, place);
  } finally {
    await giveUp();
  }
}

async function collectionsIn(client: PoolClient, store: string): Promise<{ name: string; floor: number }[]> {
  const { rows } = await client.query<{ name: string; floor: number }>(COLLECTIONS, [store]);
  return rows;
}
