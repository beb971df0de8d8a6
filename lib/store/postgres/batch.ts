/** One SQL transaction that carries a batch of decisions, under a lock that every writer of the store takes. */
import type { Pool, PoolClient } from "pg";
import { type Attempt, Contended, OutcomeUnknown, type Pacing, pauseAfter } from "../engine/group_commit.ts";
import type { Version } from "../engine/view.ts";
import { type Json, json } from "../json.ts";
import { borrow } from "./connection.ts";
import { isRefusal, storeError } from "./errors.ts";
import { listRecords, readVersions, writeVersions } from "./rows.ts";

/** How long to wait for what; milliseconds. */
export interface PostgresLimits {
  /** For the lock, at each try. */
  lock: number;
  /** For an answer of the server. */
  answer: number;
  /** A transaction that does nothing for so long is undone by the server, so that a halted process blocks nobody. */
  idle: number;
  /** For the server to say what became of a commit. */
  findOut: number;
}

/** A store in a database, as one process writes to it. */
export interface Writer {
  pool: Pool;
  /** The store's name among those in the database. */
  store: string;
  /** The database's address, for messages. */
  place: string;
  limits: PostgresLimits;
  pacing: Pacing;
  /** Names this process; it keeps the number of its last commit under this name. */
  id: string;
}

/** The collection of the writers' commit numbers: no record of the service can have it. */
export const WRITERS = "";

/** What a writer's record holds: when it last wrote, so that writers that are long gone can be told. */
export const writtenAt = (now: number): Json<string> => json(new Date(now).toISOString());

/** Begins a transaction that has the lock. `number` is what this commit is known by. */
export async function beginBatch(writer: Writer, number: number): Promise<Attempt> {
  const { store, place } = writer;
  const connection = await borrow(writer.pool, place);
  const { client } = connection;
  const mapped = <T>(work: Promise<T>, use?: "first use"): Promise<T> =>
    work.catch(async (error: unknown) => {
      await connection.giveUp();
      throw storeError(error, place, use);
    });
  await mapped(lock(client, writer), "first use");

  return {
    versions: (keys) => mapped(readVersions(client, store, keys)),
    list: (collection, options) => mapped(listRecords(client, store, collection, options)),
    async commit(writes) {
      if (writes.length === 0) return connection.giveUp();
      const marker: Version = {
        collection: WRITERS,
        id: writer.id,
        revision: number,
        json: writtenAt(writer.pacing.clock.now()),
      };
      await mapped(writeVersions(client, store, [...writes, marker]));
      try {
        await commit(client);
      } catch (error) {
        await connection.giveUp();
        if (isRefusal(error)) throw storeError(error, place);
        if (await wasKept(writer, number)) return;
        throw new Contended(`${place}: the connection was lost before the commit`, { cause: error });
      }
      connection.release();
    },
    abandon: () => connection.giveUp(),
  };
}

/** The lock is fair, and ends with the transaction: after its commit can be seen, and also when its process dies. */
async function lock(client: PoolClient, { store, limits }: Writer): Promise<void> {
  await client.query(
    `begin isolation level read committed read write;
     set local lock_timeout = ${limits.lock};
     set local idle_in_transaction_session_timeout = ${limits.idle};
     select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'`,
  );
  await client.query("select pg_advisory_xact_lock(hashtextextended('countersign/' || $1, 0))", [store]);
}

async function commit(client: PoolClient): Promise<void> {
  const { command } = await client.query("commit");
  // A transaction that failed before answers a commit with this, and with no error.
  if (command !== "COMMIT") throw new Error(`the commit was answered with ${command}`);
}

/**
 * Whether the commit with this number was kept, when its answer was lost. The lock is had only when that transaction has
 * ended, one way or the other. Errors: `OutcomeUnknown`.
 */
async function wasKept(writer: Writer, number: number): Promise<boolean> {
  const { limits, pacing, place, store, id } = writer;
  const { clock, random } = pacing;
  const end = clock.now() + limits.findOut;
  for (let tries = 1; ; tries++) {
    try {
      const { client, giveUp } = await borrow(writer.pool, place);
      try {
        await lock(client, writer);
        const [last] = await readVersions(client, store, [{ collection: WRITERS, id }]);
        return last?.revision === number;
      } finally {
        await giveUp();
      }
    } catch (error) {
      if (clock.now() >= end)
        throw new OutcomeUnknown(
          `${place}: the connection was lost during a commit, and the database has not answered since; the transaction may have been kept`,
          { cause: error },
        );
      await clock.sleep(pauseAfter(tries, random));
    }
  }
}
