/**
 * Statements for one use are stored, since sending one again would otherwise repeat its action. A consent needs no such check: a
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
const ACCEPTED_ONCE: ReadonlySet<Decision | ServiceAction | MandateDecision> = new Set([
  "approve",
  "approve_emergency",
  "deny",
  "revoke",
  "review",
]);
/** Digits of the milliseconds in an id, so that ids sort by time. */
const DIGITS = 15;
/** Old statements that each use deletes: more than it adds, so that the collection shrinks. */
const MAX_DELETED = 2;

/** Returns true if a statement of this decision may be used only once. */
export const isForOneUse = (decision: Decision | ServiceAction | MandateDecision): boolean =>
  !ACCEPTED_ONCE.has(decision);

/**
 * Stores that a statement was used; returns false if it was used before. `at`: the time in the statement; `earliestAccepted`: no
 * earlier statement is accepted any more, so its record can be deleted. Milliseconds since the epoch.
 */
export async function storeUse(
  tx: Tx,
  hash: string,
  { at, earliestAccepted }: { at: number; earliestAccepted: number },
): Promise<boolean> {
  const id = `${String(at).padStart(DIGITS, "0")}:${hash}`;
  if (await tx.get("used_statements", id)) return false;
  for (const old of await tx.list("used_statements", { limit: MAX_DELETED, keysOnly: true }))
    if (Number(old.id.slice(0, DIGITS)) < earliestAccepted) tx.delete("used_statements", old.id);
  tx.put("used_statements", id, true);
  return true;
}
