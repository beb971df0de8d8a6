/** The timer of automatic applies, for a process that lasts: it does not depend on cycles. */
import { applyDue, type BusyTargets } from "../changes/automatic_apply.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { keepPassing, POLL_MS } from "./keep_passing.ts";

/** Applies what is due after each commit and when its time comes, until it is stopped. */
export function keepApplying(deps: ChangesDeps): { stop(): Promise<void> } {
  const busy: BusyTargets = new Map();
  const pass = async (): Promise<number> => (deps.integrity.breach ? POLL_MS : (await applyDue(deps, busy)).wait);
  return keepPassing(deps, pass, (error) => deps.log.warn("automatic applies failed", { error: String(error) }));
}
