/** Dumps all records of a store in Postgres, as of one moment. */
import type { PoolClient } from "pg";
import { dumpVersions } from "../engine/dump.ts";
import type { Version } from "../version.ts";
import type { Writer } from "./batch.ts";
import { borrow } from "./connection.ts";
import { storeError } from "./errors.ts";
import { listRecords } from "./rows.ts";

// Rows with `deleted` are deletions; the highest revision among them is the floor of the collection.
const COLLECTIONS = `select collection as name, coalesce(max(revision) filter (where deleted), 0)::float8 as floor
  from countersign_rows where store = $1 group by collection order by collection`;

/** Dumps all records of a store, without writes that are made during the dump. */
export async function* dumpRecords({ pool, place, store }: Writer): AsyncGenerator<readonly Version[]> {
  const { client, giveUp } = await borrow(pool, place);
  try {
    await client.query("begin isolation level repeatable read read only");
    yield* dumpVersions({
      collections: () => listCollections(client, store),
      list: (collection, options) => listRecords(client, store, collection, options),
    });
  } catch (error) {
    throw storeError(error, place);
  } finally {
    // Rolls back the transaction, which only read.
    await giveUp();
  }
}

async function listCollections(client: PoolClient, store: string): Promise<{ name: string; floor: number }[]> {
  const { rows } = await client.query<{ name: string; floor: number }>(COLLECTIONS, [store]);
  return rows;
}
