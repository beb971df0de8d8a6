/** Assertions of the cases; like `agree`, it runs wherever a store does, under any test runner. */
import { agree } from "./agree.ts";

/**
 * Requires that two values are the same, to the last member: -0 is not 0, and a member that is `undefined` is not one left out.
 */
export function equal(actual: unknown, expected: unknown, what = "the value"): void {
  agree(same(actual, expected), `${what} is ${shown(actual)}, not ${shown(expected)}`);
}

type Refusal = Error | (abstract new (...given: never[]) => Error);

/** Requires that work is rejected: with this very error, or one of a class. */
export async function rejects(work: Promise<unknown>, expected: Refusal, what = "the work"): Promise<void> {
  const refused = await work.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  agree(refused !== undefined, `${what} was not refused`);
  const { error } = refused;
  const fits = typeof expected === "function" ? error instanceof expected : error === expected;
  agree(fits, `${what} was refused with ${shown(error)}, not ${shown(expected)}`);
}

/** Requires that a call throws. */
export function throws(call: () => unknown, what = "the call"): void {
  try {
    call();
  } catch {
    return;
  }
  agree(false, `${what} did not throw`);
}

function same(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return Object.is(a, b);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && same(a[key as keyof typeof a], b[key as keyof typeof b]))
  );
}

function shown(value: unknown): string {
  if (typeof value === "function") return value.name;
  if (value instanceof Error) return String(value);
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
