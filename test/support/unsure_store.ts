import { OutcomeUnknown, type Store } from "../../lib/store/store.ts";

/** A real store that loses the answer to a commit. */
export interface UnsureStore extends Store {
  /** The next transaction is kept, or not, and nobody learns which. */
  loseAnswer(kept: boolean): void;
}

/** Wraps a store; every other transaction is as it was. */
export function unsureStore(store: Store): UnsureStore {
  let losing: { kept: boolean } | undefined;
  const unknown = () => new OutcomeUnknown("no answer to a commit, which may have been kept");
  return {
    ...store,
    async transact(decide) {
      const lost = losing;
      losing = undefined;
      const result = await store.transact(async (tx) => {
        const decided = await decide(tx);
        if (lost?.kept === false) throw unknown();
        return decided;
      });
      if (lost) throw unknown();
      return result;
    },
    loseAnswer: (kept) => void (losing = { kept }),
  };
}
