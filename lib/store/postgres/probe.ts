/** Checks that a database keeps the guarantees that writers rely on: some that speak its protocol do not. */
import type { Pool } from "pg";
import { Contended } from "../engine/attempt.ts";
import { StoreUnavailable } from "../store.ts";
import { borrow } from "./connection.ts";
import { storeError } from "./errors.ts";

const MOVE = "update countersign_heads set commits = commits + 1 where store = $1 and commits = 0";

const verifiedPools = new WeakSet<Pool>();

/**
 * Has two connections move one head from one place at the same moment, once a pool. Errors: `StoreUnavailable`, which names
 * the engine, when not exactly one of them does.
 */
export async function probeFence(pool: Pool, place: string): Promise<void> {
  if (verifiedPools.has(pool)) return;
  const store = `probe/${crypto.randomUUID()}`;
  await pool.query("insert into countersign_heads values ($1, 0, '')", [store]);
  try {
    const moved = await moveTwice(pool, place, store);
    const { rows } = await pool.query<{ commits: number; engine: string }>(
      "select commits::float8, version() as engine from countersign_heads where store = $1",
      [store],
    );
    const { commits, engine } = rows[0]!;
    if (moved !== 1 || commits !== 1)
      throw new StoreUnavailable(
        `${place}: ${engine} let ${moved} of two connections move one row from the same place, and kept ${commits}: two writers could follow the same audit entry there; use PostgreSQL 13 or later`,
      );
    verifiedPools.add(pool);
  } finally {
    await pool.query("delete from countersign_heads where store = $1", [store]);
  }
}

/** How many of two connections moved the head. */
async function moveTwice(pool: Pool, place: string, store: string): Promise<number> {
  const one = await borrow(pool, place);
  const other = await borrow(pool, place).catch(async (error: unknown) => {
    await one.giveUp();
    throw error;
  });
  try {
    await one.send((client) => client.query("begin isolation level read committed"));
    await other.send((client) => client.query("begin isolation level read committed"));
    const first = await one.send((client) => client.query(MOVE, [store]));
    const second = other.send((client) => client.query(MOVE, [store]));
    second.catch(() => undefined);
    await one.send((client) => client.query("commit"));
    const late = await second
      .then(async ({ rowCount }) => {
        await other.send((client) => client.query("commit"));
        return rowCount ?? 0;
      })
      .catch((error: unknown) => {
        const reported = storeError(error, place);
        // An engine that has both try again keeps them apart too.
        if (reported instanceof Contended) return 0;
        throw reported;
      });
    return (first.rowCount ?? 0) + late;
  } finally {
    await Promise.all([one.giveUp(), other.giveUp()]);
  }
}
