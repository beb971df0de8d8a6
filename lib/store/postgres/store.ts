/** A store in Postgres (13 or later), which many processes may use concurrently. */
import { Pool, type PoolClient, type PoolConfig } from "pg";
import type { Log } from "../../kit/platform.ts";
import { runWithTimeLimit, Unanswered } from "../../kit/time_limit.ts";
import type { Engine } from "../engine/attempt.ts";
import { enforceRevisionFloors } from "../engine/enforce_floors.ts";
import { groupCommit } from "../engine/group_commit.ts";
import { type Pacing, systemPacing, retryContended } from "../engine/pacing.ts";
import { enforceMoveState, sharedBulkAccess } from "../engine/shared_bulk_access.ts";
import { makeReads } from "../engine/view.ts";
import { beginBatch, type PostgresLimits, type Writer } from "./batch.ts";
import { closeOnBadBytes, runOnConnection } from "./connection.ts";
import { databaseAddress, storeError } from "./errors.ts";
import { readOtherCommits } from "./other_commits.ts";
import { probeFence } from "./probe.ts";
import { listRecords, readVersions, sweepWriters } from "./rows.ts";
import { makeTables } from "./schema.ts";
import type { Store } from "../store.ts";
import { dumpRecords } from "./dump.ts";

/** Milliseconds. */
const LIMITS: PostgresLimits = { lock: 1000, answer: 10_000, idle: 4000, findOut: 30_000 };
const CONNECTIONS = 10;
const CONNECT_MS = 5000;
/** Limits of one commit. */
const COMMIT_LIMITS = { writes: 1000, bytes: 16_000_000 };
/** Time limit of `close`: a transaction that is still running then has not been acknowledged. */
const CLOSE_MS = 4000;

/** Location of the database, and the store in it. */
export interface PostgresOptions extends Partial<Pacing> {
  /** `postgres://user:password@host:port/database`, as libpq has it. */
  url?: string;
  /** Instead of `url`: a pool of the host application with at least two connections, which the application closes. */
  pool?: Pool;
  /** Name of the store, `countersign` by default; a database may contain several stores. */
  name?: string;
  log?: Pick<Log, "warn">;
  limits?: Partial<PostgresLimits>;
}

/** Opens the store, and creates its tables if absent. Errors: `StoreUnavailable`, with the reason. */
export async function postgresStore(options: PostgresOptions): Promise<Store> {
  const { url, name: store = "countersign" } = options;
  const { clock = systemPacing.clock, random = systemPacing.random } = options;
  const pacing = { clock, random };
  if ((url === undefined) === (options.pool === undefined)) throw new TypeError("give either url or pool");
  const limits = { ...LIMITS, ...options.limits };
  const place = url === undefined ? "Postgres" : databaseAddress(url);
  const pool = options.pool ?? createPool(url!, limits, (error) => options.log?.warn(`${place}: ${error.message}`));
  // Several stores may share the pool of an application.
  if (!pool.listeners("connect").includes(closeOnBadBytes)) pool.on("connect", closeOnBadBytes);
  const closeOwnPool = async (): Promise<void> => {
    if (!options.pool) await pool.end();
  };
  const read = <T>(work: (client: PoolClient) => Promise<T>): Promise<T> =>
    retryContended(() => runOnConnection(pool, place, work), pacing);

  const writer: Writer = { pool, store, place, limits, pacing, id: crypto.randomUUID() };
  try {
    await read((client) => prepare(client, writer));
    await retryContended(
      () => probeFence(pool, place).catch((error: unknown) => Promise.reject(storeError(error, place, "first use"))),
      pacing,
    );
  } catch (error) {
    await closeOwnPool();
    throw error;
  }

  const commits = groupCommit(enforceMoveState(createEngine(writer), clock), pacing);
  // Bulk access needs its own writer id: the last commit number under an id shows the result of a lost commit, and bulk access
  // commits concurrently.
  const bulkEngine = createEngine({ ...writer, id: crypto.randomUUID() });
  let closing: Promise<void> | undefined;
  return {
    ...makeReads({
      versions: (keys) => read((client) => readVersions(client, store, keys)),
      list: (collection, options) => read((client) => listRecords(client, store, collection, options)),
    }),
    transact: commits.transact,
    bulk: sharedBulkAccess(bulkEngine, pacing, { dump: () => dumpRecords(writer), atOneMoment: true }),
    others: () => read((client) => readOtherCommits(client, writer)),
    close: () => (closing ??= closeInTime(() => commits.close().then(closeOwnPool), options.log)),
  };
}

function createEngine(writer: Writer): Engine {
  let number = 0;
  return enforceRevisionFloors({ begin: () => beginBatch(writer, ++number), limits: COMMIT_LIMITS });
}

/** Closes with a time limit, so that a database that does not answer cannot keep the process running. */
const closeInTime = (close: () => Promise<void>, log: PostgresOptions["log"]): Promise<void> =>
  runWithTimeLimit(close, CLOSE_MS).catch((error: unknown) => {
    if (!(error instanceof Unanswered)) throw error;
    log?.warn(`the database did not answer within ${CLOSE_MS} ms of the stop; its connections are left open`);
  });

function createPool(url: string, limits: PostgresLimits, onLost: (error: Error) => void): Pool {
  const pool = new Pool({
    connectionString: url,
    application_name: "countersign",
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: limits.answer,
    keepAlive: true,
    // Sends statements without waiting for earlier answers.
    pipeline: true,
  } as PoolConfig);
  // The pool removes an idle connection that breaks; without a listener its error would end the process.
  pool.on("error", onLost);
  return pool;
}

/** Creates tables and head if absent, and deletes records of inactive writers. */
async function prepare(client: PoolClient, { store, place }: Writer): Promise<void> {
  await makeTables(client, place);
  await client.query("insert into countersign_heads values ($1, 0, '') on conflict do nothing", [store]);
  await sweepWriters(client, store);
}
