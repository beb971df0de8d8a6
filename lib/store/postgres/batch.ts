/**
 * One SQL transaction that carries a batch of decisions. Each store has a row that names its last commit, the head: a
 * writer locks it, so that writers queue, and moves it on from its last value, so that no two commits follow the same one
 * even where an engine's locks do not hold. A name is used once: a database that fails over to a copy that lags behind, or
 * is restored, would count the same number twice.
 */
import type { Pool, PoolClient } from "pg";
import { type Attempt, Contended } from "../engine/attempt.ts";
import { type Pacing, pauseMs } from "../engine/pacing.ts";
import { OutcomeUnknown } from "../store.ts";
import { borrow } from "./connection.ts";
import { isServerRejection, storeError } from "./errors.ts";
import { readLastCommit, listRecords, readVersions, requireHead, writeVersions } from "./rows.ts";

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
  /** Names this process; the number of its last commit is kept under this name. */
  id: string;
}

/** Begins a transaction that has the lock of the head. `number` is what this commit is known by. */
export function beginBatch(writer: Writer, number: number): Attempt {
  const { store, place } = writer;
  const borrowed = borrow(writer.pool, place);
  /** Sent in this order, without waiting for one another where the connection can do so. */
  const ask = async <T>(work: (client: PoolClient) => Promise<T>, use?: "first use"): Promise<T> => {
    const connection = await borrowed;
    return connection.send(work).catch((error: unknown) => {
      throw storeError(error, place, use);
    });
  };
  const head = ask((client) => lockHead(client, writer), "first use");
  head.catch(() => undefined);
  const leave = async (method: "release" | "giveUp"): Promise<void> => {
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
        await Promise.all([ask((client) => requireHead(client, store, from)), leave("giveUp")]);
        return from;
      }
      const to = crypto.randomUUID();
      const by = { id: writer.id, number };
      const [written, committed] = await Promise.allSettled([
        ask((client) => writeVersions(client, { store, from, to, by }, writes)),
        ask(commit),
      ]);
      if (committed.status === "fulfilled" && written.status === "fulfilled") {
        await leave("release");
        return to;
      }
      await leave("giveUp");
      for (const end of [written, committed])
        if (end.status === "rejected" && isServerRejection(end.reason.cause)) throw end.reason;
      if (await isCommitStored(writer, number)) return to;
      throw new Contended(`${place}: the connection was lost before the commit`, { cause: committed });
    },
    abandon: () => leave("giveUp"),
  };
}

/** The lock is had in turn, and ends with the transaction: after its commit can be seen, and also when its process dies. */
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
  // A transaction that failed before answers a commit with this, and with no error.
  if (command !== "COMMIT") throw new Error(`the commit was answered with ${command}`);
}

/**
 * Returns whether the commit with this number was stored, when its answer was lost. The lock is free only when that transaction
 * has ended, one way or the other. Errors: `OutcomeUnknown`.
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
