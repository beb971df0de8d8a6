/** Limits how many tasks run concurrently. */
import { AppError } from "./errors.ts";

/** Runs a task as soon as there is a free slot, in order of arrival. */
export type Semaphore = <T>(run: () => Promise<T>) => Promise<T>;

/** Creates a semaphore with `limit` slots. At most `maxWaiting` tasks wait for a slot; further ones get 503 `reads_busy`. */
export function createSemaphore(limit: number, maxWaiting = Infinity): Semaphore {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (run) => {
    if (running < limit) running++;
    else if (waiting.length >= maxWaiting) throw readsBusy();
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await run();
    } finally {
      // The slot passes to the next task, so `running` does not change.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}

const readsBusy = (): AppError =>
  new AppError(
    "reads_busy",
    "too many reads that look through many records are under way; try again in a few seconds",
    {},
    { "retry-after": "5" },
  );

const MAX_CONCURRENT_SCANS = 4;
const MAX_WAITING_SCANS = 32;

const scanSemaphores = new WeakMap<object, Semaphore>();

/** Runs a read that scans more records than it returns; all such reads of a store share four slots. */
export function runWithScanLimit<T>(store: object, run: () => Promise<T>): Promise<T> {
  let semaphore = scanSemaphores.get(store);
  if (!semaphore) scanSemaphores.set(store, (semaphore = createSemaphore(MAX_CONCURRENT_SCANS, MAX_WAITING_SCANS)));
  return semaphore(run);
}
