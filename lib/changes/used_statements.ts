/**
 * Statements that are good for one use: what they say would happen again each time that somebody sends them. A consent needs
 * none of that, since a change takes it once.
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

/** A change takes each of these once by itself. */
const REPEATABLE: ReadonlySet<Decision | ServiceAction | MandateDecision> = new Set([
  "approve",
  "approve_emergency",
  "deny",
  "revoke",
  "review",
]);
const DIGITS = 15;
/** More than come in with each, so that they grow fewer. */
const MAX_FORGOTTEN = 2;

/** Returns whether a statement of this may be used once only. */
export const isForOneUse = (decision: Decision | ServiceAction | MandateDecision): boolean => !REPEATABLE.has(decision);

/**
 * Notes the use of a statement; false where it was used before. `at`: when it says it was made; none that says so before `over`
 * is taken any more, and those are forgotten, two with each that is noted.
 */
export async function noteUse(tx: Tx, hash: string, { at, over }: { at: number; over: number }): Promise<boolean> {
  const id = `${String(at).padStart(DIGITS, "0")}:${hash}`;
  if (await tx.get("used_statements", id)) return false;
  for (const old of await tx.list("used_statements", { limit: MAX_FORGOTTEN, keysOnly: true }))
    if (Number(old.id.slice(0, DIGITS)) < over) tx.delete("used_statements", old.id);
  tx.put("used_statements", id, true);
  return true;
}
