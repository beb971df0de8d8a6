/** Serializes work by name. */
import { createTransientMap } from "./transient_map.ts";

/** Runs work one at a time for each name, in order of arrival; work under other names runs concurrently. */
export type KeyedMutex = <T>(name: string, run: () => Promise<T>) => Promise<T>;

/** Creates a mutex; a name without work takes no memory. */
export function createKeyedMutex(): KeyedMutex {
  const last = createTransientMap<string, Promise<unknown>>();
  return (name, run) => {
    const result = (last.get(name) ?? Promise.resolve()).then(run, run);
    const done = result.catch(() => {});
    last.set(name, done);
    void done.then(() => {
      if (last.get(name) === done) last.delete(name);
    });
    return result;
  };
}
