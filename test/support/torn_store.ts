import type { ListOptions, Store } from "../../lib/store/store.ts";

/**
 * A store that keeps the contract, and of which a page outside transactions may be read while a commit is under way, as in
 * DynamoDB: at the first list of a collection `commit` runs, and the page shows what it wrote but for the first record.
 */
export function tornStore(store: Store, collection: string, commit: () => Promise<unknown>): Store {
  let torn = false;
  return {
    ...store,
    async list<T>(name: string, options: ListOptions) {
      if (torn || name !== collection) return store.list<T>(name, options);
      torn = true;
      const [newest] = await store.list(collection, { limit: 1, reverse: true });
      await commit();
      const [first] = await store.list(collection, { ...(newest && { after: newest.id }), limit: 1 });
      return (await store.list(collection, options)).filter(({ id }) => id !== first!.id);
    },
  };
}
