/** A store in Postgres (13 or later), which many processes may use at once. */
import { Pool, type PoolClient } from "pg";
import type { Log } from "../../kit/platform.ts";
import { checkList } from "../engine/write_set.ts";
import { type Chance, groupCommit, realChance, tried } from "../engine/group_commit.ts";
import { beginBatch, type PostgresLimits, type Writer, WRITERS, writtenAt } from "./batch.ts";
import { withConnection } from "./connection.ts";
import { placeOf } from "./errors.ts";
import { getRecord, getRecords, listRecords } from "./rows.ts";
import { migrate } from "./schema.ts";
import type { ListOptions, Store, Stored } from "../store.ts";

const LIMITS: PostgresLimits = { lock: 1000, answer: 10_000, idle: 15_000, findOut: 30_000 };
const CONNECTIONS = 10;
const CONNECT_MS = 5000;
const ROOMY = 1000;
const WRITERS_KEPT_MS = 7 * 24 * 3600 * 1000;

/** Where the database is, and which store in it. */
export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, as libpq has it. */
  url?: string;
  /** Instead of `url`: connections of the host application, which closes them itself. Two at least. */
  pool?: Pool;
  /** Several stores fit in one database; this is the name of one, `countersign` by default. */
  name?: string;
  log?: Pick<Log, "warn">;
  limits?: Partial<PostgresLimits>;
  chance?: Chance;
}

/** Opens the store, and makes its tables when there are none. Errors: `StoreUnavailable`, with the reason. */
export async function openPostgresStore(options: PostgresOptions): Promise<Store> {
  const { url, name: store = "countersign", chance = realChance } = options;
  if ((url === undefined) === (options.pool === undefined)) throw new TypeError("give either url or pool");
  const limits = { ...LIMITS, ...options.limits };
  const place = url === undefined ? "Postgres" : placeOf(url);
  const pool = options.pool ?? ownPool(url!, limits, (error) => options.log?.warn(`${place}: ${error.message}`));
  const leave = async (): Promise<void> => {
    if (!options.pool) await pool.end();
  };
  const read = <T>(work: (client: PoolClient) => Promise<T>): Promise<T> =>
    tried(() => withConnection(pool, place, work), chance);

  const writer: Writer = { pool, store, place, limits, chance, id: crypto.randomUUID() };
  await read((client) => prepare(client, writer)).catch(async (error: unknown) => {
    await leave();
    throw error;
  });

  let number = 0;
  const commits = groupCommit({ begin: () => beginBatch(writer, ++number), roomy: ROOMY }, chance);
  let closing: Promise<void> | undefined;
  return {
    get: <T>(collection: string, id: string) =>
      read((client) => getRecord(client, store, { collection, id })) as Promise<Stored<T> | undefined>,
    getMany: <T>(collection: string, ids: readonly string[]) =>
      read((client) => getRecords(client, store, collection, ids)) as Promise<(Stored<T> | undefined)[]>,
    async list<T>(collection: string, options: ListOptions<boolean>) {
      checkList(options);
      return (await read((client) => listRecords(client, store, collection, options))) as Stored<T>[];
    },
    transact: commits.transact,
    close: () => (closing ??= commits.close().then(leave)),
  };
}

function ownPool(url: string, limits: PostgresLimits, onLost: (error: Error) => void): Pool {
  const pool = new Pool({
    connectionString: url,
    application_name: "countersign",
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: limits.answer,
    keepAlive: true,
  });
  // A connection that breaks while nobody uses it is taken out; without a listener it would end the process.
  pool.on("error", onLost);
  return pool;
}

/** The tables, and no more of the writers that are long gone. */
async function prepare(client: PoolClient, { store, place, chance }: Writer): Promise<void> {
  await migrate(client, place);
  await client.query(
    `delete from countersign_records where store = $1 and collection = $2 and value collate "C" < $3`,
    [store, WRITERS, writtenAt(chance.now() - WRITERS_KEPT_MS)],
  );
}
