/**
 * Statements for one use: without this check, sending one again would repeat its action. A consent needs no such check, since a
 * change accepts it only once.
 */
import type { Tx } from "../store/store.ts";
import type { Decision } from "./rules/statement.ts";
import type { MandateDecision } from "./rules/mandate.ts";
import type { ServiceAction } from "./rules/service_action.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `<milliseconds>:<hash>`: used statements, by the time that they state. */
    used_statements: true;
  }
}

/** Decisions that a change accepts only once. */
const REPEATABLE: ReadonlySet<Decision | ServiceAction | MandateDecision> = new Set([
  "approve",
  "approve_emergency",
  "deny",
  "revoke",
  "review",
]);
const DIGITS = 15;
/** Deletes more than are added with each use, so that the collection shrinks. */
const MAX_FORGOTTEN = 2;

/** Returns true if a statement of this decision may be used only once. */
export const isForOneUse = (decision: Decision | ServiceAction | MandateDecision): boolean => !REPEATABLE.has(decision);

/**
 * Notes the use of a statement; returns false if it was used before. `at`: the time in the statement; `over`: statements before
 * this time are no longer accepted, so two of their notes are deleted each time. Milliseconds.
 */
export async function noteUse(tx: Tx, hash: string, { at, over }: { at: number; over: number }): Promise<boolean> {
  const id = `${String(at).padStart(DIGITS, "0")}:${hash}`;
  if (await tx.get("used_statements", id)) return false;
  for (const old of await tx.list("used_statements", { limit: MAX_FORGOTTEN, keysOnly: true }))
    if (Number(old.id.slice(0, DIGITS)) < over) tx.delete("used_statements", old.id);
  tx.put("used_statements", id, true);
  return true;
}
