/** Reads that ask for the same in one turn of the event loop: worked out once, when the last of them has asked. */
import { createTransientMap } from "../kit/transient_map.ts";

/** Shares one answer among callers with the same key until the turn is over; later callers get a new one. */
export function createSharedReads<T>(
  waitForCallers: () => Promise<void>,
): (key: string, make: () => Promise<T>) => Promise<T> {
  const pending = createTransientMap<string, Promise<T>>();
  return (key, make) => {
    let answer = pending.get(key);
    if (!answer) {
      answer = waitForCallers().then(() => {
        // From here on it may look at what is older than a further question.
        pending.delete(key);
        return make();
      });
      pending.set(key, answer);
    }
    return answer;
  };
}
