import type { Listed, ListOptions } from "../../lib/store/store.ts";
import type { AnyStore } from "../contract/any_store.ts";

/**
 * Wraps a store so that a page is read while a commit is under way, as DynamoDB allows outside transactions: the first list of
 * the collection runs `commit`, and its page lacks the first record that this commit wrote.
 */
export function tornStore(store: AnyStore, collection: string, commit: () => Promise<unknown>): AnyStore {
  let isTorn = false;
  return {
    ...store,
    async list<K extends boolean>(name: string, options: ListOptions<K>): Promise<Listed<K, unknown>[]> {
      if (isTorn || name !== collection) return store.list(name, options);
      isTorn = true;
      const [last] = await store.list(collection, { limit: 1, reverse: true });
      await commit();
      const [first] = await store.list(collection, { ...(last && { after: last.id }), limit: 1 });
      return (await store.list(collection, options)).filter(({ id }) => id !== first!.id);
    },
  };
}
