import type { Listed, ListOptions } from "../../lib/store/store.ts";
import type { AnyStore } from "../contract/any_store.ts";

/**
 * A store that keeps the contract, and of which a page outside transactions may be read while a commit is under way, as in
 * DynamoDB: at the first list of a collection `commit` runs, and the page shows what it wrote but for the first record.
 */
export function tornStore(store: AnyStore, collection: string, commit: () => Promise<unknown>): AnyStore {
  let torn = false;
  return {
    ...store,
    async list<K extends boolean>(name: string, options: ListOptions<K>): Promise<Listed<K, unknown>[]> {
      if (torn || name !== collection) return store.list(name, options);
      torn = true;
      const [newest] = await store.list(collection, { limit: 1, reverse: true });
      await commit();
      const [first] = await store.list(collection, { ...(newest && { after: newest.id }), limit: 1 });
      return (await store.list(collection, options)).filter(({ id }) => id !== first!.id);
    },
  };
}
