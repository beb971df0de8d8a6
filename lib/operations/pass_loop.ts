/** Runs passes over what is due, for as long as a process lives: after each commit, and when the time of the next one comes. */
import { type CommitSignal, createCommitSignal } from "../kit/commit_signal.ts";
import { newTrace, runInTrace } from "../kit/trace.ts";

/** At the latest after this time what other processes committed is looked at; milliseconds. */
export const POLL_MS = 60_000;
/** The pause after a pass, so that a burst of commits is one pass; milliseconds. */
const PAUSE_MS = 50;
/** The pause after a pass that failed, so that a broken store is not asked without end; milliseconds. */
const FAILED_MS = 10_000;

/** Begins with a pass; each resolves with the milliseconds until something is due. `failed` learns of a pass that throws. */
export function startPasses(
  { commits = createCommitSignal() }: { commits?: CommitSignal | undefined },
  pass: (ended: AbortSignal) => Promise<number>,
  failed: (error: unknown) => void,
): { stop(): Promise<void> } {
  const never = createCommitSignal();
  const ended = new AbortController();
  const run = async (): Promise<void> => {
    while (!ended.signal.aborted && !commits.closed) {
      const { count } = commits;
      try {
        const wait = await runInTrace(newTrace(), () => pass(ended.signal));
        await never.wait(0, PAUSE_MS, ended.signal);
        await commits.wait(count, Math.min(wait, POLL_MS), ended.signal);
      } catch (error) {
        failed(error);
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
