/** Runs passes over due work in a long-running process: after each commit, and when the next work is due. */
import { type CommitSignal, createCommitSignal } from "../kit/commit_signal.ts";
import { newTrace, runInTrace } from "../kit/trace.ts";

/** Longest pause between passes, since commits of other processes are not signaled. */
export const POLL_MS = 60_000;
/** Pause after a pass, so that a burst of commits needs one pass only. */
const PAUSE_MS = 50;
/** Pause after a failed pass. */
const FAILURE_PAUSE_MS = 10_000;

/** Starts with a pass. Each pass resolves with the milliseconds until the next is due; `onFailure` is called when one throws. */
export function startPasses(
  { commits = createCommitSignal() }: { commits?: CommitSignal | undefined },
  pass: (stopped: AbortSignal) => Promise<number>,
  onFailure: (error: unknown) => void,
): { stop(): Promise<void> } {
  // Nothing commits to this signal: a wait for it is a pause that `stopped` can end.
  const timer = createCommitSignal();
  const stopped = new AbortController();
  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted && !commits.closed) {
      // Read before the pass, so that a commit during the pass starts another one.
      const { count } = commits;
      try {
        const wait = await runInTrace(newTrace(), () => pass(stopped.signal));
        await timer.wait(0, PAUSE_MS, stopped.signal);
        await commits.wait(count, Math.min(wait, POLL_MS), stopped.signal);
      } catch (error) {
        onFailure(error);
        await timer.wait(0, FAILURE_PAUSE_MS, stopped.signal);
      }
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
