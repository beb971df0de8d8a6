/** The state of a transaction after an error of Postgres or of the connection. */
import { Contended } from "../engine/attempt.ts";
import { StoreUnavailable } from "../store.ts";

interface ServerError extends Error {
  /** Five characters, the SQLSTATE. */
  code: string;
  severity: string;
}

/**
 * lock_not_available, query_canceled (a time limit), serialization_failure, deadlock_detected: never the end of a connection.
 * And division_by_zero, unique_violation: the store was not as it was read (see `writeVersions`).
 */
const CONTENDED: unknown[] = ["55P03", "57014", "40001", "40P01", "22012", "23505"];

/** Returns whether the server itself rejected the statement and keeps running: then the transaction is undone, beyond doubt. */
export function isServerRejection(error: unknown): error is ServerError {
  if (!(error instanceof Error) || !("code" in error) || !("severity" in error)) return false;
  return typeof error.code === "string" && /^[0-9A-Z]{5}$/.test(error.code) && error.severity === "ERROR";
}

/**
 * Returns whether the connection broke, so that another one may succeed. One whose server does not answer in time is not broken.
 */
const isBroken = (error: unknown): boolean =>
  !isServerRejection(error) && !(error instanceof Error && error.message === "Query read timeout");

/**
 * The error as the port has it: `Contended`, or `StoreUnavailable` with a sentence that names the database. At its first use
 * a connection may turn out to have died unnoticed, for example after a restart of the server: then there are others.
 */
export function storeError(error: unknown, place: string, use?: "first use"): Error {
  if (error instanceof Contended || error instanceof StoreUnavailable) return error;
  const text = describeError(error);
  // By the code alone: the word for the severity is in the server's language.
  const contended = error instanceof Error && "code" in error && CONTENDED.includes(error.code);
  if (contended || (use === "first use" && isBroken(error)))
    return new Contended(`${place}: ${text}`, { cause: error });
  return new StoreUnavailable(`${place}: ${text}`, { cause: error });
}

/** A refused connection is an error without a message that holds one error for each address. */
function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describeError(error.errors[0]);
  return error instanceof Error ? error.message || error.name : String(error);
}

/** A database's address without its user and password, for messages. */
export function databaseAddress(url: string): string {
  if (!URL.canParse(url))
    throw new TypeError("the address of the database must read postgres://user@host:port/database");
  const { host, pathname } = new URL(url);
  return `postgres://${host}${pathname}`;
}
