/** One at a time by name, in order of arrival; other names go on meanwhile. */
export type KeyedMutex = <T>(name: string, run: () => Promise<T>) => Promise<T>;
import { transientMap } from "./transient_map.ts";

/** Makes a set of queues; an idle one costs nothing. */
export function createKeyedMutex(): KeyedMutex {
  const last = transientMap<string, Promise<unknown>>();
  return (name, run) => {
    const turn = (last.get(name) ?? Promise.resolve()).then(run, run);
    const settled = turn.catch(() => {});
    last.set(name, settled);
    void settled.then(() => {
      if (last.get(name) === settled) last.delete(name);
    });
    return turn;
  };
}
