/** The timer of automatic applies, for a process that lasts: it does not depend on cycles. */
import { applyDue, type BusyTargets } from "../changes/automatic_apply.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { createCommitSignal } from "../kit/commit_signal.ts";
import { newTrace, runInTrace } from "../kit/trace.ts";

/** At the latest after this time what other processes committed is looked at; milliseconds. */
const POLL_MS = 60_000;
/** The pause after a pass, so that a burst of commits is one pass; milliseconds. */
const PAUSE_MS = 50;
/** The pause after a pass that failed, so that a broken store is not asked without end; milliseconds. */
const FAILED_MS = 10_000;

/** Applies what is due after each commit and when its time comes, until it is stopped. */
export function keepApplying(deps: ChangesDeps): { stop(): Promise<void> } {
  const commits = deps.commits ?? createCommitSignal();
  const never = createCommitSignal();
  const ended = new AbortController();
  const busy: BusyTargets = new Map();
  const isRunning = (): boolean => !ended.signal.aborted && !commits.closed;
  const run = async (): Promise<void> => {
    while (isRunning()) {
      const { count } = commits;
      try {
        const { wait } = deps.integrity.breach
          ? { wait: POLL_MS }
          : await runInTrace(newTrace(), () => applyDue(deps, busy));
        await never.wait(0, PAUSE_MS, ended.signal);
        await commits.wait(count, Math.min(wait, POLL_MS), ended.signal);
      } catch (error) {
        deps.log.warn("automatic applies failed", { error: String(error) });
        await never.wait(0, FAILED_MS, ended.signal);
      }
    }
  };
  const running = run();
  return {
    async stop() {
      ended.abort();
      await running;
    },
  };
}
