/** Retries failed requests where that is safe and may help. */

/** Number of attempts, and pauses. */
export interface Retry {
  /** Maximum number of attempts; 1 disables retries. */
  attempts: number;
  /** Longest pause before the second attempt; it doubles before each further attempt. */
  baseMs: number;
  /** Longest pause at all; an answer that asks for a longer one is returned without a retry. */
  capMs: number;
  /** Returns the fraction of the longest pause, from 0 to below 1. */
  random(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as the signal is aborted. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** The default: three attempts within some seconds. */
export const RETRY: Retry = { attempts: 3, baseMs: 500, capMs: 30_000, random: Math.random, pause: pauseFor };

/** Creates a `fetch` that retries. */
export const createRetryingFetch =
  (send: (request: Request) => Promise<Response>, retry: Retry) =>
  async (request: Request): Promise<Response> => {
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt >= retry.attempts || !mayBeRepeated(request);
      const response = await send(isLast ? request : request.clone()).catch((error: unknown) => {
        if (isLast || request.signal.aborted) throw error;
      });
      if (isLast || (response && !(await isTransient(response)))) return response!;
      const maxPause = Math.min(retry.capMs, retry.baseMs * 2 ** (attempt - 1));
      const ms = (response && parseRetryAfter(response)) ?? retry.random() * maxPause;
      if (response && ms > retry.capMs) return response;
      await response?.body?.cancel();
      await retry.pause(ms, request.signal);
    }
  };

/** Returns true for a read, and for a write with an idempotency key. */
const mayBeRepeated = ({ method, headers }: Request): boolean => method === "GET" || headers.has("idempotency-key");

/**
 * Returns whether a repeated request may succeed soon. An error of the service, which has a code, is final unless it has
 * `Retry-After`: a 502, for example, reports that the host product failed. An error without a code is that of a proxy.
 */
async function isTransient(response: Response): Promise<boolean> {
  if (![429, 502, 503, 504].includes(response.status)) return false;
  if (response.headers.has("retry-after")) return true;
  const copy = response.clone();
  const body: unknown = await copy.json().catch(() => undefined);
  const { code } = (body ?? {}) as { code?: unknown };
  return typeof code !== "string";
}

/** Parses `Retry-After`, seconds or a date, to milliseconds. */
function parseRetryAfter(response: Response): number | undefined {
  const header = response.headers.get("retry-after");
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
