/** Reads that ask for the same in one turn of the event loop: worked out once, when the last of them has asked. */
import { createTransientMap } from "../kit/transient_map.ts";

/** Shares one answer among callers with the same key until the turn is over; later callers get a new one. */
export function sharedReads<T>(nextTurn: () => Promise<void>): (key: string, make: () => Promise<T>) => Promise<T> {
  const asked = createTransientMap<string, Promise<T>>();
  return (key, make) => {
    let answer = asked.get(key);
    if (!answer) {
      answer = nextTurn().then(() => {
        // From here on it may look at what is older than a further question.
        asked.delete(key);
        return make();
      });
      asked.set(key, answer);
    }
    return answer;
  };
}
