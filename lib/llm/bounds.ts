/**
 * How much a model is asked: a few calls at a time, each within a time limit, and so many an hour, since the bill is the owner's.
 * Counted in this process: nothing waits for a store before it may ask, and the bound holds for each process that is started.
 */
import type { Clock } from "../kit/platform.ts";
import { runWithTimeLimit } from "../kit/time_limit.ts";
import { type Llm, LlmFailed, type LlmRequest, type LlmUse, abortError } from "./port.ts";

/** Calls an hour where nothing else is said: some fifty replies with their tools. */
export const CALLS_PER_HOUR = 300;

/** Upper bound of that setting: the start of each is remembered for the hour. */
export const MAX_CALLS_PER_HOUR = 100_000;

/** The default time limit of one call, in seconds. */
export const CALL_TIMEOUT_S = 60;

/** The longest time limit of one call that can be configured, in seconds. */
export const MAX_CALL_TIMEOUT_S = 3600;

const HOUR_MS = 3_600_000;
const LIMITS = { atOnce: 4, waiting: 16, waitMs: 5_000 };

/** State of one model in one process. */
interface Bounds {
  clock: Clock;
  /** Started in any hour; none are started beyond it. */
  callsPerHour?: number | undefined;
  /** Time limit of each call. */
  timeoutSeconds?: number | undefined;
  limits?: Partial<typeof LIMITS>;
}

/** The model, asked within bounds. Errors: `LlmFailed` also where a call is not made, which says nothing of the model. */
export function limitLlm(
  llm: Llm,
  { clock, callsPerHour = CALLS_PER_HOUR, timeoutSeconds = CALL_TIMEOUT_S, limits = {} }: Bounds,
): Llm {
  const limitMs = timeoutSeconds * 1000;
  const { atOnce, waiting: maxWaiting, waitMs } = { ...LIMITS, ...limits };
  const rejected = { busy: 0, budget: 0 };
  let [calls, underWay] = [0, 0];
  /** When the calls of the last hour were started, oldest first. */
  let started: number[] = [];
  const waiting = new Set<() => void>();

  /** Why no call may be started now, and from when on one may. */
  const findBudgetProblem = (): string | null => {
    const now = clock.now();
    // One that lies ahead is of a clock that was set back since.
    started = started.filter((at) => at > now - HOUR_MS && at <= now);
    if (started.length < callsPerHour) return null;
    const until = new Date(started[started.length - callsPerHour]! + HOUR_MS).toISOString();
    return `its calls of an hour (${callsPerHour}) are used up; it is asked again from ${until}`;
  };
  const countRejection = (reason: keyof typeof rejected, message: string): LlmFailed => {
    rejected[reason]++;
    return new LlmFailed(message);
  };
  const requireBudget = (): void => {
    const reason = findBudgetProblem();
    if (reason !== null) throw countRejection("budget", reason);
  };

  /** A place among those under way; resolves when there is one. */
  const acquireSlot = (signal: AbortSignal): Promise<void> | void => {
    if (underWay < atOnce) return void underWay++;
    const busy = "too many ask it at once";
    if (waiting.size >= maxWaiting) throw countRejection("busy", busy);
    return new Promise((resolve, reject) => {
      const stopWaiting = (): void => {
        waiting.delete(start);
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
      };
      // The place of the one that ended passes on: `underWay` stays.
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
      requireWanted(signal);
      requireBudget();
      await acquireSlot(signal);
      try {
        // It may have ended just after there was a place for it, when it no longer tells.
        requireWanted(signal);
        requireBudget();
        started.push(clock.now());
        calls++;
        return await completeWithin(llm, request, limitMs);
      } finally {
        releaseSlot();
      }
    },
    use: (): LlmUse => ({ calls, under_way: underWay, refused: { ...rejected }, spent: findBudgetProblem() }),
  };
}

function requireWanted(signal: AbortSignal): void {
  if (signal.aborted) throw abortError(signal);
}

/** Ends with the signal and at the time limit, also when the model does not: an abandoned call must not hold a place. */
async function completeWithin(llm: Llm, request: LlmRequest, limitMs: number): ReturnType<Llm["complete"]> {
  const { signal } = request;
  const ending = new AbortController();
  let end!: () => void;
  const unwanted = new Promise<never>((_, reject) => {
    end = () => {
      reject(abortError(signal));
      ending.abort(signal.reason);
    };
    signal.addEventListener("abort", end);
  });
  const complete = (late: AbortSignal): ReturnType<Llm["complete"]> => {
    late.addEventListener("abort", () => ending.abort());
    return Promise.race([llm.complete({ ...request, signal: ending.signal }), unwanted]);
  };
  try {
    return await runWithTimeLimit(complete, limitMs, () => new LlmFailed("no answer in time"));
  } finally {
    signal.removeEventListener("abort", end);
  }
}
