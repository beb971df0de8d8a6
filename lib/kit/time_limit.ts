/** How long a step outside this process may take; milliseconds. */
export const STEP_LIMIT_MS = 10_000;

/** A request without an answer in time: its effect may have happened, or may still happen. */
export class Unanswered extends Error {
  override readonly name = "Unanswered";
}

/** Runs one step; rejects after 10 s, also when what it runs ignores its signal. `late`: what it rejects with then. */
export async function runWithTimeLimit<T>(
  run: (signal: AbortSignal) => Promise<T>,
  limitMs = STEP_LIMIT_MS,
  createError = (): Error => new Unanswered(`no answer within ${limitMs / 1000} s`),
): Promise<T> {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeUp = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
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

/** Returns true where work takes longer than a time; what it rejects with after that, the caller handles. */
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

/** The same, and its work is aborted when `stopping` aborts too. */
export function runUntilStopped<T>(
  stopping: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
  limitMs = STEP_LIMIT_MS,
): Promise<T> {
  return runWithTimeLimit((signal) => {
    // By hand, not `AbortSignal.any`: under Node 20 a signal that lives long remembers each one made of it, and one of
    // `AbortSignal.timeout` that nothing else holds may be collected before its time is up.
    const either = new AbortController();
    const abort = (): void => either.abort();
    for (const source of [signal, stopping]) source?.addEventListener("abort", abort);
    if (stopping?.aborted) abort();
    return run(either.signal).finally(() => stopping?.removeEventListener("abort", abort));
  }, limitMs);
}
