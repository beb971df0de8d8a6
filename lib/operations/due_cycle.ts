/** A cycle that is due; where none is, one request says so, and nothing else of what is stored is looked at. */
import { readCertainTime } from "../changes/certain_time.ts";
import { type CycleReport, createEmptyReport, runCycle } from "./cycle.ts";
import type { OperationsDeps } from "./deps.ts";
import { findNextDue } from "./next_due.ts";

/** However idle, everything is looked at so often: what somebody edits in the store itself shows in no commit; milliseconds. */
export const MAX_IDLE_MS = 5 * 60_000;

/** State after a cycle: the commit it is as of, and the time until which it is valid. */
interface IdleState {
  commit: number;
  until: number;
  tick: number;
}

/** Makes the function that runs a whole cycle where one is due. */
export function createDueCycle(deps: OperationsDeps): () => Promise<CycleReport> {
  let idle: IdleState | undefined;
  return async () => {
    const known = idle;
    idle = undefined;
    if (known && (await isIdle(deps, known))) {
      idle = known;
      return { ...createEmptyReport(), tick: known.tick, complete: true };
    }
    const began = deps.clock.now();
    const report = await runCycle(deps);
    idle = report.failed_steps.length === 0 ? await findIdleState(deps, began, report) : undefined;
    return report;
  };
}

/** Returns true where no process has committed anything and nothing is due. */
async function isIdle(deps: OperationsDeps, { commit, until }: IdleState): Promise<boolean> {
  const { commits, clock } = deps;
  // A final close needs two clock samples that show it is over: each time is one sample.
  if (clock.monotonic) await readCertainTime(deps);
  return clock.now() < until && (await commits!.checkOthers()) && commits!.count === commit;
}

/** Undefined where the store does not tell of others, or what time brings cannot be read. */
async function findIdleState(
  deps: OperationsDeps,
  began: number,
  { tick }: CycleReport,
): Promise<IdleState | undefined> {
  const { commits } = deps;
  if (!(await commits?.checkOthers())) return undefined;
  // Before what is due is read: what is committed meanwhile shows the next time.
  const commit = commits!.count;
  const due = await findNextDue(deps).catch(() => -Infinity);
  return { commit, until: Math.min(due, began + MAX_IDLE_MS), tick };
}
