/** Sends a request again where that can do no harm and may help. */

/** Number of attempts, and pauses. */
export interface Retry {
  /** Attempts in all; 1 never tries again. */
  attempts: number;
  /** The longest pause before the second attempt; doubled before each further one. */
  baseMs: number;
  /** No pause is longer; an answer that asks for a longer one is given back as it is. */
  capMs: number;
  /** 0 or more and below 1: which part of the longest pause it is. */
  random(): number;
  /** Resolves after a while; rejects with the signal's reason as soon as it is aborted. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** Three attempts, within some seconds. */
export const RETRY: Retry = { attempts: 3, baseMs: 500, capMs: 30_000, random: Math.random, pause: pauseFor };

/** A `fetch` that tries again. */
export const createRetryingFetch =
  (send: (request: Request) => Promise<Response>, retry: Retry) =>
  async (request: Request): Promise<Response> => {
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt >= retry.attempts || !mayBeRepeated(request);
      const answered = await send(isLast ? request : request.clone()).catch((error: unknown) => {
        if (isLast || request.signal.aborted) throw error;
      });
      if (isLast || (answered && !(await isTransient(answered)))) return answered!;
      const maxPause = Math.min(retry.capMs, retry.baseMs * 2 ** (attempt - 1));
      const ms = (answered && parseRetryAfter(answered)) ?? retry.random() * maxPause;
      if (answered && ms > retry.capMs) return answered;
      await answered?.body?.cancel();
      await retry.pause(ms, request.signal);
    }
  };

/** A read, or a write that is done once however often it arrives. */
const mayBeRepeated = ({ method, headers }: Request): boolean => method === "GET" || headers.has("idempotency-key");

/**
 * Returns whether a repeated request may succeed soon. A proxy answers 502 and 504 for the service; the service's own
 * errors are final, such as the 502 of a host product that failed, unless they say when to try again.
 */
async function isTransient(answered: Response): Promise<boolean> {
  if (![429, 502, 503, 504].includes(answered.status)) return false;
  if (answered.headers.has("retry-after")) return true;
  const { code } = ((await answered
    .clone()
    .json()
    .catch(() => undefined)) ?? {}) as { code?: unknown };
  return typeof code !== "string";
}

/** Parses `Retry-After`, seconds or a date, to milliseconds. */
function parseRetryAfter(answered: Response): number | undefined {
  const header = answered.headers.get("retry-after");
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = () => {
      signal.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    const stop = () => {
      clearTimeout(timer);
      // oxlint-disable-next-line prefer-promise-reject-errors -- the reason is the caller's
      reject(signal.reason);
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
