/** Waits until a change has another status, for callers that wait for a person's decision. */
import { type CommitSignal, createCommitSignal } from "../kit/commit_signal.ts";
import { AppError } from "../kit/errors.ts";
import type { ChangesDeps } from "./deps.ts";
import { previewExpiry } from "./expire_changes.ts";
import { findVisibleChange } from "./read_scope.ts";
import type { Change } from "./rules/change.ts";
import { isFinal } from "./rules/transitions.ts";

/** The longest wait that a caller may request, in seconds. */
export const MAX_WAIT_SECONDS = 60;

/** Maximum number of waiting requests in one process, and of one caller. */
const MAX_WAITING = 256;
const MAX_WAITING_PER_CALLER = 32;

/**
 * Times in milliseconds. `pause`: minimum time between two reads of the change; `poll`: time until the next read without a commit
 * of this process, since other processes may have written.
 */
const TIMES = { pause: 100, poll: 1_000 };

/** Options of a wait. */
export interface WaitOptions {
  /** The longest wait; 0 does not wait. */
  seconds: number;
  /** Returns true while the caller has seen this state of the change. Default: while it has the status that was read first. */
  isUnchanged?: ((change: Change) => boolean) | undefined;
  /** Name of the waiting caller: a person, an agent, or an address. */
  name?: string | undefined;
  /** Aborted when the caller disconnects. */
  signal?: AbortSignal | undefined;
}

/**
 * Resolves with the change when the caller has not seen its state (`moved`), when the wait times out, when the caller disconnects
 * or when the service closes; immediately if its status is final. Errors: 404 `change_not_found`, 503 `too_many_waiting`.
 */
export async function awaitStatus(
  deps: Pick<ChangesDeps, "commits" | "maxWaitSeconds" | "reader"> & Parameters<typeof previewExpiry>[0],
  changeId: string,
  { seconds, isUnchanged, name, signal }: WaitOptions,
  { pause, poll } = TIMES,
): Promise<{ change: Change; moved: boolean }> {
  const { commits = createCommitSignal(), maxWaitSeconds = MAX_WAIT_SECONDS } = deps;
  const pauseSignal = createCommitSignal();
  const ended = new AbortController();
  const end = (): void => ended.abort();
  let isSameState = isUnchanged;
  let leave: (() => void) | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  if (signal?.aborted || seconds === 0) end();
  signal?.addEventListener("abort", end);
  try {
    for (;;) {
      const { count } = commits;
      const isLast = ended.signal.aborted || commits.closed;
      const [record] = await previewExpiry(deps, [await findVisibleChange(deps, changeId)]);
      const { change } = record!;
      const { status } = change;
      isSameState ??= (current) => current.status === status;
      const moved = !isSameState(change);
      if (moved || isLast || isFinal(status)) return { change, moved };
      leave ??= joinWaiting(commits, name);
      timer ??= setTimeout(end, Math.min(seconds, maxWaitSeconds) * 1000);
      // Nothing notifies `pauseSignal`, so no commit ends this pause.
      await pauseSignal.wait(0, pause, ended.signal);
      // False after `poll` milliseconds in which certainly nothing was committed.
      while (!(await commits.wait(count, poll, ended.signal)));
    }
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
    leave?.();
  }
}

/** Counts a waiting request until the returned function is called. Errors: 503 `too_many_waiting`. */
function joinWaiting(commits: CommitSignal, name: string | undefined): () => void {
  const leave = commits.join(MAX_WAITING, MAX_WAITING_PER_CALLER, name, "waiting");
  if (leave) return leave;
  throw new AppError(
    "too_many_waiting",
    `${MAX_WAITING} requests may wait for a change at a time, ${MAX_WAITING_PER_CALLER} of them from one person, agent or address; ask without wait, or try again later`,
    {},
    { "retry-after": "5" },
  );
}
