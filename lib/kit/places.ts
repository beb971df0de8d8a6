import { AppError } from "./errors.ts";

/** Lets so many run at a time; the others wait for a place, in order. */
export type Places = <T>(run: () => Promise<T>) => Promise<T>;

/** Returns so many places, all free. At most `maxWaiting` wait for one; further ones get 503 `reads_busy`. */
export function createPlaces(most: number, maxWaiting = Infinity): Places {
  const waiting: (() => void)[] = [];
  let taken = 0;
  return async (run) => {
    if (taken < most) taken++;
    else if (waiting.length >= maxWaiting) throw readsBusy();
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else taken--;
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

/** Reads that wait for one of the four places. */
const MAX_WAITING = 32;

const places = new WeakMap<object, Places>();

/** Runs a read that reads more than it returns; all such reads of a store share four places. */
export function runWithScanLimit<T>(store: object, run: () => Promise<T>): Promise<T> {
  let shared = places.get(store);
  if (!shared) places.set(store, (shared = createPlaces(4, MAX_WAITING)));
  return shared(run);
}
