import type { CommitSignal } from "../kit/commit_signal.ts";
import type { Store } from "./store.ts";

/** A store that count after every transaction that was committed. */
export function signalling(store: Store, commits: CommitSignal): Store {
  return {
    get: (collection, id) => store.get(collection, id),
    getMany: (collection, ids) => store.getMany(collection, ids),
    list: (collection, options) => store.list(collection, options),
    texts: (collection, which) => store.texts(collection, which),
    close: () => store.close(),
    ...(store.expunge && { expunge: () => store.expunge!() }),
    ...(store.whole && { whole: store.whole }),
    async transact(decide) {
      const result = await store.transact(decide);
      commits.notify();
      return result;
    },
  };
}
