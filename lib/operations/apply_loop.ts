/** The timer of automatic applies, for a process that lasts: it does not depend on cycles. */
import { applyDue, type BusyTargets } from "../changes/automatic_apply.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { startPasses, POLL_MS } from "./pass_loop.ts";

/** Applies what is due after each commit and when its time comes, until it is stopped. */
export function startAutomaticApplies(deps: ChangesDeps): { stop(): Promise<void> } {
  const busy: BusyTargets = new Map();
  const pass = async (): Promise<number> => (deps.integrity.breach ? POLL_MS : (await applyDue(deps, busy)).wait);
  return startPasses(deps, pass, (error) => deps.log.warn("automatic applies failed", { error: String(error) }));
}
