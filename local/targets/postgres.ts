/** Creates a target system of a JSON column in Postgres: a target is the value in the row with its key. */
import type { Pool, PoolClient } from "pg";
import { once } from "../../lib/kit/once.ts";
import { Unanswered } from "../../lib/kit/time_limit.ts";
import { isServerRejection } from "../../lib/store/postgres/errors.ts";
import { isEqual } from "../../lib/targets/entry.ts";
import {
  type Entry,
  type SetManyResult,
  TargetRejected,
  type TargetSystem,
  type TargetValue,
  type Write,
} from "../../lib/targets/port.ts";
import { makeCompareAndSet } from "../../lib/targets/compare_and_set.ts";
import { sha256 } from "../node_ports.ts";
import { explainMissingDriver } from "../open_store.ts";
import { findUnparsedProblem, parseForeignText } from "./foreign_text.ts";

/** The column, and how an entry becomes the key of a row. */
export interface PostgresTargetOptions {
  name: string;
  /** `postgres://user:password@host:port/database`, a secret. */
  url: string;
  /** `settings` in the schema `public`, or `app.settings`. */
  table: string;
  /** Has a unique index of its own. */
  keyColumn: string;
  /** A column of type `jsonb` or `json`. */
  valueColumn: string;
  key: (entry: Entry) => string;
  /** Limit of a statement, and of waiting for another transaction. */
  statementMs?: number;
}

const ABSENT: TargetValue = { version: "absent" };
/** The `raw` of a row whose value is SQL null; no JSON text is empty. */
const SQL_NULL = "";

/** Below the 10 s that an operation may take, so that the server itself ends a statement that waits too long. */
const STATEMENT_MS = 5000;
const CONNECT_MS = 5000;
const MAX_CONNECTIONS = 4;

/** Ids of the types `json` and `jsonb` in every Postgres database. */
const JSON_TYPES = [114, 3802];
const UNKNOWN_OUTCOME = "the connection broke while the transaction was committed";
const READ_ONLY = "the database is read-only; name its primary server";
const NOTHING_SET = "the database accepted the statement and set nothing: row security or a trigger prevents it";

/** Builds the first statement of a transaction, which names the change and the attempt, and sets the limits. */
const buildBegin = (
  ms: number,
): string => `select set_config('countersign.change_id', $1, true), set_config('application_name', $2, true),
  set_config('lock_timeout', '${ms}', true), set_config('statement_timeout', '${ms}', true),
  set_config('idle_in_transaction_session_timeout', '${ms}', true)`;

/** Builds the statements on one column. */
function buildStatements({ table, keyColumn, valueColumn }: PostgresTargetOptions) {
  const [tableName, key, value] = [parseTable(table).map(quote).join("."), quote(keyColumn), quote(valueColumn)];
  // Postgres sets `xmin` of a row to the transaction that wrote it.
  const expectedRow = `${key} = $1 and xmin = $2::text::xid and ${value}::text is not distinct from $3`;
  const insert = `insert into ${tableName} (${key}, ${value}) values`;
  return {
    read: `select ${value}::text as text, xmin::text from ${tableName} where ${key} = $1`,
    insert: `${insert} ($1, $2) on conflict (${key}) do nothing`,
    update: `update ${tableName} set ${value} = $4 where ${expectedRow}`,
    remove: `delete from ${tableName} where ${expectedRow}`,
    columns: `select ${key}, ${value} from ${tableName} limit 0`,
    // Planning and opening a statement checks rights and the unique index; nothing of it is carried out.
    plans: [
      `${insert} (null, null) on conflict (${key}) do nothing`,
      `update ${tableName} set ${value} = null where ${key} = null`,
      `delete from ${tableName} where ${key} = null`,
    ].map((statement) => `explain ${statement}`),
  };
}

/** Creates the target system without connecting. Errors: malformed options. */
export function postgresTarget(options: PostgresTargetOptions): TargetSystem {
  const { name, url, keyColumn, valueColumn, key: toKey, statementMs = STATEMENT_MS } = options;
  const sql = buildStatements(options);
  const column = `${describeAddress(url)} ${parseTable(options.table).join(".")}(${keyColumn},${valueColumn})`;

  const openPool = once(async (): Promise<Pool> => {
    const { Pool } = await import("pg").catch((error) => explainMissingDriver(error, `the target system ${name}`));
    const pool = new Pool({
      connectionString: url,
      application_name: "countersign",
      connectionTimeoutMillis: CONNECT_MS,
      max: MAX_CONNECTIONS,
      allowExitOnIdle: true,
    });
    // A connection that breaks shows as a query without an answer.
    pool.on("error", () => undefined);
    pool.on("connect", (client) => client.on("error", () => undefined));
    return pool;
  });

  /** Lends a connection; it is closed when `use` fails or the signal aborts. */
  const withClient = async <T>(signal: AbortSignal, use: (client: PoolClient) => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    const pool = await openPool();
    const lending = pool.connect();
    try {
      const client = await rejectOnAbort(lending, signal);
      const result = await rejectOnAbort(use(client), signal);
      client.release();
      return result;
    } catch (error) {
      void lending.then((lent) => lent.release(true)).catch(() => undefined);
      throw describeError(error);
    }
  };

  const readRow = async (client: PoolClient, entry: Entry): Promise<TargetValue> => {
    const { rows } = await client.query<{ text: string | null; xmin: string }>(sql.read, [toKey(entry)]);
    if (rows.length > 1) throw new TargetRejected(`${rows.length} rows have the key; it needs a unique index`);
    const [row] = rows;
    if (!row) return ABSENT;
    const raw = row.text ?? SQL_NULL;
    const value = row.text === null ? null : parseForeignText(row.text);
    return { value, version: `${row.xmin} ${sha256(raw).slice(0, 16)}`, raw };
  };

  const write = async (client: PoolClient, { entry, next, expected }: Write) => {
    const text = next && (next.raw ?? JSON.stringify(next.value));
    const value = text === SQL_NULL ? null : text;
    // A version begins with the `xmin` of its row; without `raw` no row is expected.
    const condition = [toKey(entry), expected.version.split(" ")[0], expected.raw === SQL_NULL ? null : expected.raw];
    if (expected.raw !== undefined)
      return next ? client.query(sql.update, [...condition, value]) : client.query(sql.remove, condition);
    return next ? client.query(sql.insert, [toKey(entry), value]) : { rowCount: 0 };
  };

  /** Carries out the writes; returns their versions, or why the transaction is to be rolled back. */
  const writeAll = async (client: PoolClient, writes: readonly Write[]): Promise<SetManyResult> => {
    const versions: string[] = [];
    // In the order of keys, so that two transactions on the same rows cannot deadlock.
    for (const index of sortByKey(writes.map(({ entry }) => toKey(entry)))) {
      const { entry, next, expected } = writes[index]!;
      const { rowCount } = await write(client, writes[index]!);
      const current = await readRow(client, entry);
      const isUnchanged = current.version === expected.version;
      if (rowCount === 0 && !isUnchanged) return { done: false, index, conflict: current };
      // If no row was written, the row must have the value already, or was absent and is to be removed.
      if (!isEqual(current, next) || rowCount! > 1) return { done: false, rejected: NOTHING_SET };
      versions[index] = current.version;
    }
    return { done: true, versions };
  };

  const setMany = async (writes: readonly Write[], signal: AbortSignal): Promise<SetManyResult> => {
    const { change_id, attempt } = writes[0]!.attempt;
    let isCommitting = false;
    try {
      return await withClient(signal, async (client) => {
        await client.query("begin");
        await client.query(buildBegin(statementMs), [change_id, attempt]);
        const set = await writeAll(client, writes);
        if (!set.done) {
          await client.query("rollback");
          return set;
        }
        signal.throwIfAborted();
        isCommitting = true;
        const { command } = await client.query("commit");
        return command === "COMMIT" ? set : { done: false, rejected: "the database rolled the transaction back" };
      });
    } catch (error) {
      // `describeError` has set the cause to the error of the driver.
      const { message, cause } = error as Error;
      if (isServerRejection(cause)) return { done: false, rejected: message };
      throw isCommitting ? new Unanswered(UNKNOWN_OUTCOME, { cause }) : error;
    }
  };

  return {
    name,
    guard: "atomic",
    place: (entry) => `${column} ${JSON.stringify(toKey(entry))}`,

    check: ({ value }) =>
      hasUnstorableText(value)
        ? "Postgres cannot store the character U+0000, or half of a surrogate pair"
        : findUnparsedProblem(value),

    read: (entry, signal) => withClient(signal, (client) => readRow(client, entry)),

    setMany,
    compareAndSet: makeCompareAndSet(setMany),

    // While the transaction is open, its connection is named after the attempt. The transaction's number would prove nothing, since
    // it may be used again after a crash of the server.
    resolve: (_, { attempt }, signal) =>
      withClient(signal, async (client) => {
        const open = await client.query("select from pg_stat_activity where application_name = $1", [attempt]);
        return open.rowCount === 0 ? undefined : "open";
      }),

    // Loads the driver and connects to nothing.
    probe: async () => void (await openPool()),

    ping: (signal) =>
      withClient(signal, async (client) => {
        const { rows } = await client.query<{ transaction_read_only: string }>("show transaction_read_only");
        if (rows[0]!.transaction_read_only === "on") throw new TargetRejected(READ_ONLY);
        const { fields } = await client.query(sql.columns);
        if (!JSON_TYPES.includes(fields[1]!.dataTypeID))
          throw new TargetRejected(`the column ${valueColumn} is neither jsonb nor json; name one that is`);
        for (const plan of sql.plans) await client.query(plan);
      }),
  };
}

/** Returns the indices of keys in their order. */
const sortByKey = (keys: readonly string[]): number[] =>
  [...keys.keys()].sort((a, b) => (keys[a]! < keys[b]! ? -1 : 1));

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;

function parseTable(table: string): string[] {
  const parts = table.split(".");
  if (parts.length > 2 || parts.includes("")) throw new TypeError(`the table ${table} must read schema.table`);
  return parts.length === 1 ? ["public", table] : parts;
}

/** Decodes the path of a URL; undefined if it is malformed. */
function decodePath({ pathname }: URL): string | undefined {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return undefined;
  }
}

/** Describes the address without its credentials. Errors: `TypeError` that does not quote it. */
export function describeAddress(url: string): string {
  const database = URL.canParse(url) ? decodePath(new URL(url)) : undefined;
  if (database === undefined || !/^postgres(ql)?:$/.test(new URL(url).protocol))
    throw new TypeError("the address of the database must read postgres://user@host:port/database");
  const { hostname, port, searchParams } = new URL(url);
  if (database.length < 2) throw new TypeError("the address of the database must name the database");
  const host = searchParams.get("host") ?? hostname;
  const hostPort = searchParams.get("port") ?? port;
  return `postgres ${host.toLowerCase()}:${hostPort || 5432}${database}`;
}

function hasUnstorableText(value: unknown): boolean {
  if (typeof value === "string") return /[\0\p{Surrogate}]/u.test(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, member]) => hasUnstorableText(name) || hasUnstorableText(member));
}

/** Describes an error; for an `AggregateError`, as of a refused connection, the first of its errors. */
function describeError(error: unknown): Error {
  if (error instanceof TargetRejected) return error;
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  if (!(first instanceof Error)) return new Error("Postgres failed", { cause: error });
  const code = isServerRejection(first) ? ` (${first.code})` : "";
  return new Error(`Postgres: ${first.message || first.name}${code}`, { cause: error });
}

/** Resolves or rejects like `work`, or rejects with the signal's reason when it aborts. */
function rejectOnAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener("abort", abort);
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
