/** An in-memory view of the stored tree and checkpoint, which reads bring up to date without storing anything. */
import { Json } from "../store/json.ts";
import type { Store, Stored, Tx } from "../store/store.ts";

/** The view of each store, and the revisions of the stored records that it is based on. */
const views = new WeakMap<Store, { baseRevisions: string; view: Store }>();

/** Returns a store whose writes stay in memory; a new one when the stored tree or checkpoint has changed. */
export async function openTreeView(store: Store): Promise<Store> {
  const stored = await store.getMany("meta", ["merkle", "checkpoint"]);
  const baseRevisions = stored.map((record) => record?.revision).join();
  const existing = views.get(store);
  if (existing?.baseRevisions === baseRevisions) return existing.view;
  const view = createMemoryView(store);
  views.set(store, { baseRevisions, view });
  return view;
}

function createMemoryView(store: Store): Store {
  const written = new Map<string, Stored | undefined>();
  const get = async (collection: Parameters<Store["get"]>[0], id: string): Promise<Stored | undefined> => {
    const name = `${collection}/${id}`;
    return written.has(name) ? written.get(name) : store.get(collection, id);
  };
  // Revisions are negative here, so that none equals the revision of a stored record.
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
