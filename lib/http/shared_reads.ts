/** Shares equal reads that arrive in the same turn of the event loop: one of them does the work after the last has arrived. */
import { createTransientMap } from "../kit/transient_map.ts";

/** Shares one answer among callers with the same key until the turn ends; later callers get a new one. */
export function createSharedReads<T>(
  waitForCallers: () => Promise<void>,
): (key: string, createAnswer: () => Promise<T>) => Promise<T> {
  const pending = createTransientMap<string, Promise<T>>();
  return (key, createAnswer) => {
    let answer = pending.get(key);
    if (!answer) {
      answer = waitForCallers().then(() => {
        // A later caller must not get an answer that was read before its request.
        pending.delete(key);
        return createAnswer();
      });
      pending.set(key, answer);
    }
    return answer;
  };
}
