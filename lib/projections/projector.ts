/** Brings projections up to the head of the log. One that fails is reported as a capability and stops nothing else. */
import { readCurrentHead } from "../audit/chain.ts";
import { readConfirmedTime } from "../changes/confirmed_time.ts";
import { type CommitSignal, createCommitSignal } from "../kit/commit_signal.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import { activity } from "./activity.ts";
import { findProblem, projectNext, readEnd } from "./catch_up.ts";
import { counts } from "./counts.ts";
import { memories } from "./memory.ts";
import { outcomes } from "./outcomes.ts";
import type { LogEnd } from "./project.ts";
import { isCaughtUp, type Projection, type ProjectionDeps, startCursor } from "./projection.ts";
import { values } from "./values.ts";
import { waiting } from "./waiting.ts";

/** All projections. */
export const PROJECTIONS: readonly Projection[] = [waiting, counts, activity, memories, outcomes, values];

/** Returns true if every projection contains the complete log and none failed. */
export async function areAllCaughtUp(deps: ProjectionDeps): Promise<boolean> {
  const names = PROJECTIONS.map(({ name }) => name);
  const [head, cursors] = await Promise.all([readCurrentHead(deps), deps.store.getMany("cursors", names)]);
  const length = head?.length ?? 0;
  return PROJECTIONS.every(
    (projection, index) =>
      findProblem(deps, projection) === null && (length === 0 || isCaughtUp(projection, cursors[index]?.value, length)),
  );
}

/** Reads the end of the log, and the time that has certainly passed there. */
async function readEndNow(deps: ProjectionDeps): Promise<LogEnd> {
  // The end of an outcome is final and must not depend on one clock sample. The time is read before the head, so that no later
  // entry precedes it.
  const certain = await readConfirmedTime(deps);
  return readEnd(deps, certain === -Infinity ? "" : new Date(certain).toISOString());
}

/**
 * Brings all projections up to the head while `proceed` returns true, in rounds of one slice each, so that none delays the
 * others. Never rejects. False if another process was faster at a projection, which is then left to that process.
 */
export async function projectAll(deps: ProjectionDeps, proceed: () => boolean = () => true): Promise<boolean> {
  let remaining = PROJECTIONS;
  let isAlone = true;
  for (let isMore = true; isMore && proceed();) {
    // Not awaited here: each projection reports it as its own failure if the end cannot be read.
    const end = readEndNow(deps);
    const results = await Promise.all(remaining.map((projection) => projectNext(deps, projection, end, proceed)));
    isMore = results.includes("more");
    if (results.includes("conflict")) isAlone = false;
    remaining = remaining.filter((_, index) => results[index] === "done" || results[index] === "more");
    await yieldToEventLoop();
  }
  return isAlone;
}

/** Builds all projections again from the first entry, and resolves with the entry that each has reached. */
export async function rebuild(deps: ProjectionDeps): Promise<Record<string, number>> {
  await deps.store.transact((tx) => {
    for (const projection of PROJECTIONS) tx.put("cursors", projection.name, startCursor(projection));
  });
  await projectAll(deps);
  const names = PROJECTIONS.map(({ name }) => name);
  const cursors = await deps.store.getMany("cursors", names);
  return Object.fromEntries(names.map((name, index) => [name, cursors[index]?.value.entry ?? 0]));
}

/**
 * Projects the log as this process commits to it, until it is stopped. Times in milliseconds: `pause` after a round, so that a
 * burst is projected together; `yielding`, the longer pause after another process was faster; `poll`, the interval of checks
 * for commits of other processes.
 */
export function startProjecting(
  deps: ProjectionDeps & { commits?: CommitSignal | undefined },
  { pause, yielding, poll } = { pause: 100, yielding: 2000, poll: 60_000 },
): { stop(): Promise<void> } {
  const commits = deps.commits ?? createCommitSignal();
  // Nothing commits to this signal: a wait for it is a pause that `stopped` can end.
  const timer = createCommitSignal();
  const stopped = new AbortController();
  const isRunning = (): boolean => !stopped.signal.aborted && !commits.closed;
  // A forged entry must not be projected; rows stay as they were until the log is valid again.
  const mayProject = (): boolean => isRunning() && !deps.integrity.breach;
  const run = async (): Promise<void> => {
    while (isRunning()) {
      const { count } = commits;
      const wasValid = mayProject();
      const isAlone = await projectAll(deps, mayProject);
      await timer.wait(0, isAlone ? pause : yielding, stopped.signal);
      // Only if a projection failed or is unfinished, a round follows after `poll` even without a commit.
      const isDone = wasValid && isAlone && PROJECTIONS.every((projection) => findProblem(deps, projection) === null);
      while (!(await commits.wait(count, poll, stopped.signal)) && isDone);
    }
  };
  const running = run();
  return {
    async stop() {
      stopped.abort();
      await running;
    },
  };
}
