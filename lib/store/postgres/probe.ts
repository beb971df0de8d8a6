/** Checks that a database isolates concurrent writers, which some databases with the Postgres protocol do not. */
import type { Pool } from "pg";
import { Contended } from "../engine/attempt.ts";
import { StoreUnavailable } from "../store.ts";
import { borrow } from "./connection.ts";
import { storeError } from "./errors.ts";

const MOVE_HEAD = "update countersign_heads set commits = commits + 1 where store = $1 and commits = 0";

const verifiedPools = new WeakSet<Pool>();

/**
 * Lets two connections move the same head concurrently, once for each pool. Errors: `StoreUnavailable`, which names the
 * database's version, unless exactly one of them succeeds.
 */
export async function probeFence(pool: Pool, place: string): Promise<void> {
  if (verifiedPools.has(pool)) return;
  const store = `probe/${crypto.randomUUID()}`;
  await pool.query("insert into countersign_heads values ($1, 0, '')", [store]);
  try {
    const moved = await moveTwice(pool, place, store);
    const { rows } = await pool.query<{ commits: number; engine: string }>(
      // As a float, since the driver returns a bigint as text.
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

/** Returns how many of two connections moved the head. */
async function moveTwice(pool: Pool, place: string, store: string): Promise<number> {
  const first = await borrow(pool, place);
  const second = await borrow(pool, place).catch(async (error: unknown) => {
    await first.giveUp();
    throw error;
  });
  try {
    await first.send((client) => client.query("begin isolation level read committed"));
    await second.send((client) => client.query("begin isolation level read committed"));
    const firstMove = await first.send((client) => client.query(MOVE_HEAD, [store]));
    const secondMove = second.send((client) => client.query(MOVE_HEAD, [store]));
    // The second move may wait for the lock of the first, so it is awaited after the commit; it may fail before that.
    secondMove.catch(() => undefined);
    await first.send((client) => client.query("commit"));
    const secondCount = await secondMove
      .then(async ({ rowCount }) => {
        await second.send((client) => client.query("commit"));
        return rowCount ?? 0;
      })
      .catch((error: unknown) => {
        const reported = storeError(error, place);
        // A database that rejects the second move with a conflict isolates writers too.
        if (reported instanceof Contended) return 0;
        throw reported;
      });
    return (firstMove.rowCount ?? 0) + secondCount;
  } finally {
    await Promise.all([first.giveUp(), second.giveUp()]);
  }
}
