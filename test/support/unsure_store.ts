/** A store for tests that loses the answer to a commit on request, as a connection may. */
import { OutcomeUnknown, type Store } from "../../lib/store/store.ts";

/** A store that can lose the answer to a commit. */
export interface UnsureStore extends Store {
  /** Makes the next transaction fail with an unknown outcome; `isCommitted`: its writes are in the store. */
  loseAnswer(isCommitted: boolean): void;
}

/** Wraps a store; its other methods work unchanged. */
export function unsureStore(store: Store): UnsureStore {
  let next: { isCommitted: boolean } | undefined;
  const makeError = () => new OutcomeUnknown("no answer to a commit, which may have been kept");
  return {
    ...store,
    async transact(decide) {
      const loss = next;
      next = undefined;
      const result = await store.transact(async (tx) => {
        const decided = await decide(tx);
        if (loss?.isCommitted === false) throw makeError();
        return decided;
      });
      if (loss) throw makeError();
      return result;
    },
    loseAnswer: (isCommitted) => void (next = { isCommitted }),
  };
}
