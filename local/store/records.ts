/** The store's records: what is durable, and over it what has been accepted but is not durable yet. */
import { sequenceId } from "../../lib/store/collections.ts";
import { type SortedMap, sortedMap } from "../../lib/store/engine/sorted_map.ts";
import { inner, type SyncView, type Version } from "../../lib/store/engine/view.ts";
import { overlay } from "../../lib/store/engine/write_set.ts";
import type { Catalog } from "./catalog.ts";
import type { Reader } from "./reader.ts";

/** Collections that are held in memory, by name. */
export type Hot = ReadonlyMap<string, SortedMap<Version>>;

/** The durable records: hot collections from memory, everything else from the journal's files. */
export interface Durable extends SyncView {
  readonly hot: Hot;
  version(collection: string, id: string): Version | undefined;
  /** Enters a version that has become durable at a place. */
  enter(version: Version, place: number): void;
}

/** The durable records of a catalog; the named collections are read into memory. */
export function newDurable(catalog: Catalog, reader: Reader, names: readonly string[]): Durable {
  const hot = new Map(
    names.map((collection) => {
      const versions = sortedMap<Version>();
      for (const version of reader.readAll(collection, catalog.page(collection, { limit: Infinity })))
        versions.set(version.id, version);
      return [collection, versions];
    }),
  );

  const live = (collection: string, id: string): Version | undefined => {
    const held = hot.get(collection);
    if (held) return held.get(id);
    const place = catalog.place(collection, id);
    return place === undefined ? undefined : reader.read(collection, id, place);
  };

  const version: Durable["version"] = (collection, id) => {
    const found = live(collection, id);
    const revision = found ? 0 : catalog.buried(collection, id);
    return revision === 0 ? found : { collection, id, revision, json: undefined };
  };

  return {
    hot,
    version,
    versions: (keys) => keys.map(({ collection, id }) => version(collection, id)),
    list(collection, options) {
      const held = hot.get(collection);
      if (held) return held.page(options).map(([, version]) => version);
      const page = catalog.page(collection, options);
      return options.keysOnly ? page.map(([id]) => ({ id })) : reader.readAll(collection, page);
    },
    enter(version, place) {
      const { collection, id, revision, json } = version;
      const held = hot.get(collection);
      if (json) {
        catalog.put(collection, id, place);
        held?.set(id, version);
      } else {
        catalog.bury(collection, id, revision);
        held?.delete(id);
      }
    },
  };
}

/** Everything accepted, as decisions see it. */
export interface Accepted extends SyncView {
  /** Takes writes on. Errors: when a sequence would not only grow; then none is taken. */
  add(writes: readonly Version[]): void;
  /** These have become durable. */
  settle(versions: readonly Version[]): void;
}

/** Nothing accepted yet. `sizes`: the collections that are only appended to, and how many records each has. */
export function newAccepted(
  durable: Pick<Durable, "version" | "list">,
  sizes: Iterable<readonly [collection: string, size: number]>,
): Accepted {
  const accepted = new Map<string, Map<string, Version>>();
  const appended = new Map(sizes);

  const checkSequences = (writes: readonly Version[]): void => {
    const grown = new Map<string, number>();
    for (const { collection, id, json } of writes) {
      const size = grown.get(collection) ?? appended.get(collection);
      if (size === undefined) continue;
      const next = sequenceId(size + 1);
      if (!json || id !== next)
        throw new Error(
          `${collection}/${id} cannot be written: ${collection} is only appended to, and its next id is ${next}`,
        );
      grown.set(collection, size + 1);
    }
    for (const [collection, size] of grown) appended.set(collection, size);
  };

  return {
    versions: (keys) =>
      keys.map(({ collection, id }) => accepted.get(collection)?.get(id) ?? durable.version(collection, id)),
    list(collection, options) {
      const { below, over } = overlay(accepted.get(collection), options);
      return over(durable.list(collection, below));
    },
    add(writes) {
      checkSequences(writes);
      for (const version of writes) inner(accepted, version.collection).set(version.id, version);
    },
    settle(versions) {
      for (const version of versions) {
        const known = accepted.get(version.collection);
        // A later transaction may have written the record again.
        if (known?.get(version.id) === version) known.delete(version.id);
      }
    },
  };
}
