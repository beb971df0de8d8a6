/** One at a time by name, in order of arrival; other names go on meanwhile. */
export type KeyedMutex = <T>(name: string, run: () => Promise<T>) => Promise<T>;
import { createTransientMap } from "./transient_map.ts";

/** Makes a set of queues; an idle one costs nothing. */
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
