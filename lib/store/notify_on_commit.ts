/** A wrapper of stores that reports their commits to a `CommitSignal`. */
import type { CommitSignal } from "../kit/commit_signal.ts";
import type { Store } from "./store.ts";

/** Wraps a store so that each commit notifies `commits`, including commits of other processes if the store has `others`. */
export function notifyOnCommit(store: Store, commits: CommitSignal): Store {
  if (store.others) commits.setOthersSource(() => store.others!());
  return {
    get: (collection, id) => store.get(collection, id),
    getMany: (collection, ids) => store.getMany(collection, ids),
    list: (collection, options) => store.list(collection, options),
    texts: (collection, which) => store.texts(collection, which),
    close: () => store.close(),
    ...(store.others && { others: () => store.others!() }),
    ...(store.expunge && { expunge: () => store.expunge!() }),
    ...(store.inspect && { inspect: () => store.inspect!() }),
    ...(store.faults && { faults: () => store.faults!() }),
    ...(store.bulk && { bulk: store.bulk }),
    async transact(decide, prefetch) {
      const result = await store.transact(decide, prefetch);
      commits.notify();
      return result;
    },
  };
}
