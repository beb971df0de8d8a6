/**
 * Limits the calls of a model: concurrent calls, the time of each, and calls an hour, which limits the costs. Calls are counted
 * in this process, so that a call does not wait for the store; each process has limits of its own.
 */
import type { Clock } from "../kit/platform.ts";
import { runWithTimeLimit } from "../kit/time_limit.ts";
import { type Llm, LlmFailed, type LlmRequest, type LlmUse, abortError } from "./port.ts";

/** Default number of calls an hour: about fifty replies with their tools. */
export const CALLS_PER_HOUR = 300;

/** Maximum of the calls an hour that can be configured, since the start of each call is kept in memory for an hour. */
export const MAX_CALLS_PER_HOUR = 100_000;

/** The default time limit of one call, in seconds. */
export const CALL_TIMEOUT_S = 60;

/** The longest time limit of one call that can be configured, in seconds. */
export const MAX_CALL_TIMEOUT_S = 3600;

const HOUR_MS = 3_600_000;
const DEFAULT_LIMITS = { maxConcurrent: 4, maxWaiting: 16, waitMs: 5_000 };

/** Options of `limitLlm`. */
interface LlmLimits {
  clock: Clock;
  /** Maximum number of calls that are started within any hour. */
  callsPerHour?: number | undefined;
  /** Time limit of each call. */
  timeoutSeconds?: number | undefined;
  limits?: Partial<typeof DEFAULT_LIMITS>;
}

/** Returns the model with limits. Errors: `LlmFailed`, also for a call that was not made because of a limit. */
export function limitLlm(
  llm: Llm,
  { clock, callsPerHour = CALLS_PER_HOUR, timeoutSeconds = CALL_TIMEOUT_S, limits = {} }: LlmLimits,
): Llm {
  const limitMs = timeoutSeconds * 1000;
  const { maxConcurrent, maxWaiting, waitMs } = { ...DEFAULT_LIMITS, ...limits };
  const rejections = { busy: 0, budget: 0 };
  let calls = 0;
  let underWay = 0;
  /** Start times of the calls of the last hour, oldest first. */
  let starts: number[] = [];
  const waiting = new Set<() => void>();

  /** Explains why the calls of this hour are used up, and from when on the next is allowed; null if a call is allowed. */
  const findBudgetProblem = (): string | null => {
    const now = clock.now();
    // A start in the future was recorded before the clock was set back.
    starts = starts.filter((at) => at > now - HOUR_MS && at <= now);
    if (starts.length < callsPerHour) return null;
    // The next call is allowed when only `callsPerHour - 1` starts are less than an hour old.
    const until = new Date(starts[starts.length - callsPerHour]! + HOUR_MS).toISOString();
    return `its calls of an hour (${callsPerHour}) are used up; it is asked again from ${until}`;
  };
  const countRejection = (reason: keyof typeof rejections, message: string): LlmFailed => {
    rejections[reason]++;
    return new LlmFailed(message);
  };
  const requireBudget = (): void => {
    const reason = findBudgetProblem();
    if (reason !== null) throw countRejection("budget", reason);
  };

  /** Resolves when there is a free slot for a call. */
  const acquireSlot = (signal: AbortSignal): Promise<void> | void => {
    if (underWay < maxConcurrent) return void underWay++;
    const busy = "too many ask it at once";
    if (waiting.size >= maxWaiting) throw countRejection("busy", busy);
    return new Promise((resolve, reject) => {
      const stopWaiting = (): void => {
        waiting.delete(start);
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
      };
      // The slot of the ended call passes to this one, so `underWay` does not change.
      const start = (): void => (stopWaiting(), resolve());
      const end = (): void => (stopWaiting(), reject(abortError(signal)));
      const timer = setTimeout(() => (stopWaiting(), reject(countRejection("busy", busy))), waitMs);
      signal.addEventListener("abort", end);
      waiting.add(start);
    });
  };
  const releaseSlot = (): void => {
    const [next] = waiting;
    if (next) next();
    else underWay--;
  };

  return {
    model: llm.model,
    problem: () => llm.problem?.() ?? null,
    async complete(request) {
      const { signal } = request;
      rejectAborted(signal);
      requireBudget();
      await acquireSlot(signal);
      try {
        // Since the wait began, the signal may have aborted, and other calls may have used up the budget.
        rejectAborted(signal);
        requireBudget();
        starts.push(clock.now());
        calls++;
        return await completeWithin(llm, request, limitMs);
      } finally {
        releaseSlot();
      }
    },
    usage: (): LlmUse => ({ calls, under_way: underWay, refused: { ...rejections }, spent: findBudgetProblem() }),
  };
}

function rejectAborted(signal: AbortSignal): void {
  if (signal.aborted) throw abortError(signal);
}

/** Completes a request; rejects when the signal aborts and at the time limit, even if the model does not, to free the slot. */
async function completeWithin(llm: Llm, request: LlmRequest, limitMs: number): ReturnType<Llm["complete"]> {
  const { signal } = request;
  const controller = new AbortController();
  let onAbort!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      reject(abortError(signal));
      controller.abort(signal.reason);
    };
    signal.addEventListener("abort", onAbort);
  });
  const complete = (timeout: AbortSignal): ReturnType<Llm["complete"]> => {
    timeout.addEventListener("abort", () => controller.abort());
    return Promise.race([llm.complete({ ...request, signal: controller.signal }), aborted]);
  };
  try {
    return await runWithTimeLimit(complete, limitMs, () => new LlmFailed("no answer in time"));
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
