/**
 * Runs a batch of decisions in one SQL transaction. Each store has a row with the name of its last commit, the head. A writer
 * locks this row, so that writers queue, and replaces the name only if it is still the one that it read, so that no two commits
 * follow the same commit even if the database's locks fail. Names are unique; numbers would repeat after a restore, or after a
 * failover to a replica that lags behind.
 */
import type { Pool, PoolClient } from "pg";
import { type Attempt, Contended } from "../engine/attempt.ts";
import { type Pacing, pauseMs } from "../engine/pacing.ts";
import { OutcomeUnknown } from "../store.ts";
import { borrow } from "./connection.ts";
import { isServerRejection, storeError } from "./errors.ts";
import { readLastCommit, listRecords, readVersions, requireHead, writeVersions } from "./rows.ts";

/** Time limits; milliseconds. */
export interface PostgresLimits {
  /** One try to lock the head. */
  lock: number;
  /** One answer of the server. */
  answer: number;
  /** The server rolls back a transaction that is idle for this long, so that a suspended process does not block others. */
  idle: number;
  /** Finding out the result of a commit whose answer was lost. */
  findOut: number;
}

/** One process that writes to a store in a database. */
export interface Writer {
  pool: Pool;
  /** The store's name among the stores in the database. */
  store: string;
  /** The database's address, for messages. */
  place: string;
  limits: PostgresLimits;
  pacing: Pacing;
  /** Id of this process; the number of its last commit is stored under this id. */
  id: string;
}

/** Begins a transaction that locks the head. `number` identifies the commit among those of this writer. */
export function beginBatch(writer: Writer, number: number): Attempt {
  const { store, place } = writer;
  const borrowed = borrow(writer.pool, place);
  /**
   * Sends a request after the earlier ones; on a pipelined connection without waiting for their answers. `first use`: nothing was
   * written on the connection yet, so if it broke, the error is `Contended` and the batch is tried again.
   */
  const ask = async <T>(work: (client: PoolClient) => Promise<T>, use?: "first use"): Promise<T> => {
    const connection = await borrowed;
    return connection.send(work).catch((error: unknown) => {
      throw storeError(error, place, use);
    });
  };
  const head = ask((client) => lockHead(client, writer), "first use");
  // Handled where `head` is awaited; without this, a failure before then would be an unhandled rejection.
  head.catch(() => undefined);
  const endConnection = async (method: "release" | "giveUp"): Promise<void> => {
    const connection = await borrowed.catch(() => undefined);
    await connection?.[method]();
  };

  return {
    head,
    versions: (keys) => ask((client) => readVersions(client, store, keys), "first use"),
    list: (collection, options) => ask((client) => listRecords(client, store, collection, options), "first use"),
    async commit(writes) {
      const from = await head;
      if (writes.length === 0) {
        await Promise.all([ask((client) => requireHead(client, store, from)), endConnection("giveUp")]);
        return from;
      }
      const to = crypto.randomUUID();
      const by = { id: writer.id, number };
      const [written, committed] = await Promise.allSettled([
        ask((client) => writeVersions(client, { store, from, to, by }, writes)),
        ask(commit),
      ]);
      if (committed.status === "fulfilled" && written.status === "fulfilled") {
        await endConnection("release");
        return to;
      }
      await endConnection("giveUp");
      // A rejection by the server is certain; after any other error the commit may be stored.
      for (const result of [written, committed])
        if (result.status === "rejected" && isServerRejection(result.reason.cause)) throw result.reason;
      if (await isCommitStored(writer, number)) return to;
      throw new Contended(`${place}: the connection was lost before the commit`, { cause: committed });
    },
    abandon: () => endConnection("giveUp"),
  };
}

/**
 * Locks the head and returns its name. The lock ends with the transaction: when its commit is visible, or its process dies. Where
 * `synchronous_commit` is off, the transaction turns it on, since a commit must be durable before it is acknowledged.
 */
async function lockHead(client: PoolClient, { store, limits }: Writer): Promise<string> {
  const results = (await client.query(
    `begin isolation level read committed read write;
     set local lock_timeout = ${limits.lock};
     set local idle_in_transaction_session_timeout = ${limits.idle};
     select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off';
     select name from countersign_heads where store = ${client.escapeLiteral(store)} for update`,
  )) as unknown as { rows: { name: string }[] }[];
  const [head] = results.at(-1)!.rows;
  if (!head) throw new Error(`there is no head of the store ${store}: somebody deleted it`);
  return head.name;
}

async function commit(client: PoolClient): Promise<void> {
  const { command } = await client.query("commit");
  // The commit of a failed transaction is answered with ROLLBACK and not with an error.
  if (command !== "COMMIT") throw new Error(`the commit was answered with ${command}`);
}

/**
 * Finds out whether the commit with this number was stored, after its answer was lost. It locks the head first, which waits until
 * the lost transaction has committed or was rolled back. Errors: `OutcomeUnknown`.
 */
async function isCommitStored(writer: Writer, number: number): Promise<boolean> {
  const { limits, pacing, place, store, id } = writer;
  const { clock, random } = pacing;
  const end = clock.now() + limits.findOut;
  for (let tries = 1; ; tries++) {
    try {
      const { client, giveUp } = await borrow(writer.pool, place);
      try {
        await lockHead(client, writer);
        return (await readLastCommit(client, store, id)) === number;
      } finally {
        await giveUp();
      }
    } catch (error) {
      if (clock.now() >= end)
        throw new OutcomeUnknown(
          `${place}: the connection was lost during a commit, and the database has not answered since; the transaction may have been kept`,
          { cause: error },
        );
      await clock.sleep(pauseMs(tries, random));
    }
  }
}
