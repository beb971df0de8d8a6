/** Assertions of the contract cases; like `agree`, they run under any test runner and on any host. */
import { agree } from "./agree.ts";

/**
 * Requires that two values are deeply equal: -0 differs from 0, and an `undefined` member differs from an absent one. Only for
 * plain objects, arrays and typed arrays: of other objects, such as a Map, the content is not compared.
 */
export function equal(actual: unknown, expected: unknown, description = "the value"): void {
  agree(deepEqual(actual, expected), `${description} is ${format(actual)}, not ${format(expected)}`);
}

type ExpectedError = Error | (abstract new (...args: never[]) => Error);

/** Requires that a promise rejects, with exactly the `expected` error or an instance of the `expected` class. */
export async function rejects(
  work: Promise<unknown>,
  expected: ExpectedError,
  description = "the work",
): Promise<void> {
  const rejection = await work.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  agree(rejection !== undefined, `${description} was not rejected`);
  const { error } = rejection;
  const matches = typeof expected === "function" ? error instanceof expected : error === expected;
  agree(matches, `${description} was rejected with ${format(error)}, not ${format(expected)}`);
}

/** Requires that a call throws. */
export function throws(call: () => unknown, description = "the call"): void {
  try {
    call();
  } catch {
    return;
  }
  agree(false, `${description} did not throw`);
}

function deepEqual(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return Object.is(a, b);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && deepEqual(a[key as keyof typeof a], b[key as keyof typeof b]))
  );
}

function format(value: unknown): string {
  if (typeof value === "function") return value.name;
  if (value instanceof Error) return String(value);
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
