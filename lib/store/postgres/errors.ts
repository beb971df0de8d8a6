/** Classifies errors of Postgres and of connections. */
import { Contended } from "../engine/attempt.ts";
import { StoreUnavailable } from "../store.ts";

interface ServerError extends Error {
  /** The SQLSTATE, five characters. */
  code: string;
  severity: string;
}

/**
 * Codes of conflicts with other writers: lock_not_available, query_canceled (a time limit), serialization_failure,
 * deadlock_detected; and division_by_zero, unique_violation if the store has changed since it was read (see `writeVersions`).
 */
const CONFLICT_CODES: unknown[] = ["55P03", "57014", "40001", "40P01", "22012", "23505"];

/** Returns whether the server rejected the statement, so that the transaction is certainly rolled back. */
export function isServerRejection(error: unknown): error is ServerError {
  if (!(error instanceof Error) || !("code" in error) || !("severity" in error)) return false;
  return typeof error.code === "string" && /^[0-9A-Z]{5}$/.test(error.code) && error.severity === "ERROR";
}

/** Returns whether the connection broke, so that another one may succeed. A missing answer does not mean that it broke. */
const isBroken = (error: unknown): boolean =>
  !isServerRejection(error) && !(error instanceof Error && error.message === "Query read timeout");

/**
 * Converts an error to `Contended`, or to `StoreUnavailable` with the database's address. `first use`: nothing was written on
 * the connection yet. If it broke, for example because the server restarted, this is `Contended`: a retry gets another one.
 */
export function storeError(error: unknown, place: string, use?: "first use"): Error {
  if (error instanceof Contended || error instanceof StoreUnavailable) return error;
  const text = describeError(error);
  // Only the code is compared, since the severity is in the server's language.
  const isConflict = error instanceof Error && "code" in error && CONFLICT_CODES.includes(error.code);
  if (isConflict || (use === "first use" && isBroken(error)))
    return new Contended(`${place}: ${text}`, { cause: error });
  return new StoreUnavailable(`${place}: ${text}`, { cause: error });
}

/** Describes an error; that of a refused connection has no message but one error for each address. */
function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describeError(error.errors[0]);
  return error instanceof Error ? error.message || error.name : String(error);
}

/** Formats a database's address without its user and password, for messages. */
export function databaseAddress(url: string): string {
  if (!URL.canParse(url))
    throw new TypeError("the address of the database must read postgres://user@host:port/database");
  const { host, pathname } = new URL(url);
  return `postgres://${host}${pathname}`;
}
