/** Time limits of calls. */

/** Default time limit of a call to another system. */
export const STEP_LIMIT_MS = 10_000;

/** A request without an answer in time: its effect may have happened, or may still happen. */
export class Unanswered extends Error {
  override readonly name = "Unanswered";
}

/** Runs a step; rejects after `limitMs`, also when the step ignores its signal. `createError` creates the error of a timeout. */
export async function runWithTimeLimit<T>(
  run: (signal: AbortSignal) => Promise<T>,
  limitMs = STEP_LIMIT_MS,
  createError = (): Error => new Unanswered(`no answer within ${limitMs / 1000} s`),
): Promise<T> {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeUp = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      // First the error of the timeout: an aborted step may reject immediately with its own.
      reject(createError());
      controller.abort();
    }, limitMs);
  });
  try {
    return await Promise.race([run(controller.signal), timeUp]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns true when work takes longer than `ms`. Later errors of the work are ignored here; the caller handles them. */
export async function isSlowerThan(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeUp = new Promise<true>((resolve) => (timer = setTimeout(() => resolve(true), ms)));
  try {
    return await Promise.race([work.then(() => false), timeUp]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}

/** Runs a step as `runWithTimeLimit` does, and also aborts its signal when `stopping` aborts; the step then ends by itself. */
export function runUntilStopped<T>(
  stopping: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
  limitMs = STEP_LIMIT_MS,
): Promise<T> {
  return runWithTimeLimit((signal) => {
    // Not `AbortSignal.any`: in Node 20 a long-lived signal keeps a reference to each signal made of it, and a signal of
    // `AbortSignal.timeout` without other references may be collected before its time is up.
    const combined = new AbortController();
    const abort = (): void => combined.abort();
    for (const source of [signal, stopping]) source?.addEventListener("abort", abort);
    if (stopping?.aborted) abort();
    return run(combined.signal).finally(() => stopping?.removeEventListener("abort", abort));
  }, limitMs);
}
