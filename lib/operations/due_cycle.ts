/** Runs a cycle only if one is due; otherwise it costs one request to the store. */
import { readConfirmedTime } from "../changes/confirmed_time.ts";
import { type CycleReport, createEmptyReport, runCycle } from "./cycle.ts";
import type { OperationsDeps } from "./deps.ts";
import { findNextDue } from "./next_due.ts";

/** Longest time without a complete cycle: a direct edit of the store makes no commit that would show it. */
export const MAX_IDLE_MS = 5 * 60_000;

/** State after a cycle: the count of commits, and the time until which no cycle is due. */
interface IdleState {
  commit: number;
  until: number;
  tick: number;
}

/** Returns a function that runs a complete cycle if one is due. */
export function createDueCycle(deps: OperationsDeps): () => Promise<CycleReport> {
  let idle: IdleState | undefined;
  return async () => {
    const previous = idle;
    idle = undefined;
    if (previous && (await isIdle(deps, previous))) {
      idle = previous;
      return { ...createEmptyReport(), tick: previous.tick, complete: true };
    }
    const began = deps.clock.now();
    const report = await runCycle(deps);
    idle = report.failed_steps.length === 0 ? await findIdleState(deps, began, report) : undefined;
    return report;
  };
}

/** Returns true if no process has committed anything since the last cycle, and nothing is due. */
async function isIdle(deps: OperationsDeps, { commit, until }: IdleState): Promise<boolean> {
  const { commits, clock } = deps;
  // Adds a clock sample: an outcome becomes final only after two samples later than its horizon. Without a monotonic clock
  // samples are stored, and only a complete cycle adds one.
  if (clock.monotonic) await readConfirmedTime(deps);
  return clock.now() < until && (await commits!.checkOthers()) && commits!.count === commit;
}

/**
 * Returns the state after a cycle; undefined if commits of other processes cannot be read. If the next due time cannot be
 * read, the next call runs a cycle.
 */
async function findIdleState(
  deps: OperationsDeps,
  began: number,
  { tick }: CycleReport,
): Promise<IdleState | undefined> {
  const { commits } = deps;
  if (!(await commits?.checkOthers())) return undefined;
  // Read before the due time, so that a commit in between is noticed at the next call.
  const commit = commits!.count;
  const due = await findNextDue(deps).catch(() => -Infinity);
  return { commit, until: Math.min(due, began + MAX_IDLE_MS), tick };
}
