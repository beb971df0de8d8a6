/** A store in memory, for any platform. It fulfils the contract of stores, except that its records are lost with the process. */
import { type DumpSource, dumpVersions } from "./engine/dump.ts";
import { readVersionsWithFloors } from "./engine/floors.ts";
import { serial } from "./engine/serial.ts";
import { soleWriterBulkAccess } from "./engine/sole_writer_bulk_access.ts";
import { type SortedMap, sortedMap } from "./engine/sorted_map.ts";
import { makeReads, type Version, type View } from "./engine/view.ts";
import type { Store } from "./store.ts";

interface Collection {
  live: SortedMap<Version>;
  /** The last version of each deleted record. */
  dead: Map<string, Version>;
}

/** Creates an empty store. */
export function memoryStore(): Store {
  const collections = new Map<string, Collection>();

  const view: View = {
    versions: (keys) =>
      keys.map(({ collection, id }) => {
        const { live, dead } = collections.get(collection) ?? {};
        return live?.get(id) ?? dead?.get(id);
      }),
    list: (collection, options) =>
      (collections.get(collection)?.live.page(options) ?? []).map(([, version]) => version),
  };

  const storeVersion = (version: Version): void => {
    const { collection: name, id, json } = version;
    let collection = collections.get(name);
    if (!collection) collections.set(name, (collection = { live: sortedMap(), dead: new Map() }));
    const { live, dead } = collection;
    if (json) {
      live.set(id, version);
      dead.delete(id);
    } else {
      live.delete(id);
      dead.set(id, version);
    }
  };

  const storeVersions = (writes: readonly Version[]): void => writes.forEach(storeVersion);
  const bulkAccess = soleWriterBulkAccess({
    // A new store is not being moved.
    storedMoveState: undefined,
    persist: storeVersions,
    // A dump begins with a copy of all records.
    atOneMoment: true,
    dump: () => dumpVersions(copyCollections(collections)),
  });
  // A loaded copy has only the highest deleted revision of each collection; transactions number new records above it.
  const transactionView: View = { ...view, versions: (keys) => readVersionsWithFloors(view, keys) };
  const transactions = serial(transactionView, { persist: storeVersions, findWriteError: bulkAccess.findWriteError });
  return { ...makeReads(view), ...transactions, bulk: bulkAccess.createBulkAccess(transactions.transact) };
}

/** Copies the records for a dump, so that later writes do not change it. */
function copyCollections(collections: ReadonlyMap<string, Collection>): DumpSource {
  const liveByName = new Map([...collections].map(([name, { live }]) => [name, live.page({ limit: Infinity })]));
  const computeFloor = ({ dead }: Collection): number =>
    Math.max(0, ...[...dead.values()].map(({ revision }) => revision));
  const floors = [...collections].map(([name, collection]) => ({ name, floor: computeFloor(collection) }));
  return {
    collections: () => floors,
    list(name, { after, limit }) {
      const versions = liveByName.get(name)!;
      const start = after === undefined ? 0 : versions.findIndex(([id]) => id === after) + 1;
      return versions.slice(start, start + limit).map(([, version]) => version);
    },
  };
}
