/** The tree and the checkpoint for reads: brought up to date in memory, since only the cycle stores them. */
import { Json } from "../store/json.ts";
import type { Store, Stored, Tx } from "../store/store.ts";

/** The view of each store, and the revisions of the stored records that it is based on. */
const views = new WeakMap<Store, { continues: string; view: Store }>();

/** Returns a store whose writes stay in memory. It is the same one until the stored tree or checkpoint changes. */
export async function openTreeView(store: Store): Promise<Store> {
  const stored = await store.getMany("meta", ["merkle", "checkpoint"]);
  const revisions = stored.map((one) => one?.revision).join();
  const known = views.get(store);
  if (known?.continues === revisions) return known.view;
  const view = createMemoryView(store);
  views.set(store, { continues: revisions, view });
  return view;
}

function createMemoryView(store: Store): Store {
  const written = new Map<string, Stored | undefined>();
  const get = async (collection: Parameters<Store["get"]>[0], id: string): Promise<Stored | undefined> => {
    const name = `${collection}/${id}`;
    return written.has(name) ? written.get(name) : store.get(collection, id);
  };
  // Negative, so that none equals the revision of a stored record.
  let revision = 0;
  const tx = {
    get,
    put(collection: string, id: string, value: unknown): void {
      const record = { id, revision: --revision, value: value instanceof Json ? value.value : value };
      written.set(`${collection}/${id}`, record);
    },
    delete: (collection: string, id: string): void => void written.set(`${collection}/${id}`, undefined),
  } as Tx;
  return { ...store, get: get as Store["get"], transact: async (decide) => decide(tx) };
}
