/** Lets so many run at a time; the others wait for a place, in order. */
export type Places = <T>(run: () => Promise<T>) => Promise<T>;

/** So many places, all free. */
export function createPlaces(most: number): Places {
  const waiting: (() => void)[] = [];
  let taken = 0;
  return async (run) => {
    if (taken < most) taken++;
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

const places = new WeakMap<object, Places>();

/** What reads more than it shows shares four places with all such reads of the same store. */
export function widely<T>(store: object, run: () => Promise<T>): Promise<T> {
  let shared = places.get(store);
  if (!shared) places.set(store, (shared = createPlaces(4)));
  return shared(run);
}
