/** Serializes work by name. */
import { createTransientMap } from "./transient_map.ts";

/** Runs work one at a time for each name, in order of arrival; work under other names runs concurrently. */
export type KeyedMutex = <T>(name: string, run: () => Promise<T>) => Promise<T>;

/** Creates a mutex; a name without work takes no memory. */
export function createKeyedMutex(): KeyedMutex {
  const tails = createTransientMap<string, Promise<unknown>>();
  return (name, run) => {
    const result = (tails.get(name) ?? Promise.resolve()).then(run);
    const finished = result.catch(() => {});
    tails.set(name, finished);
    void finished.then(() => {
      if (tails.get(name) === finished) tails.delete(name);
    });
    return result;
  };
}
