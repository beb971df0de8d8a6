/** Runs automatic applies in a long-running process, independently of cycles. */
import { applyDue, type BusyTargets } from "../changes/automatic_apply.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { startPasses, POLL_MS } from "./pass_loop.ts";

/** Applies changes after each commit and at their times, until it is stopped. */
export function startAutomaticApplies(deps: ChangesDeps): { stop(): Promise<void> } {
  const busyTargets: BusyTargets = new Map();
  const pass = async (): Promise<number> =>
    deps.integrity.breach ? POLL_MS : (await applyDue(deps, busyTargets)).wait;
  return startPasses(deps, pass, (error) => deps.log.warn("automatic applies failed", { error: String(error) }));
}
