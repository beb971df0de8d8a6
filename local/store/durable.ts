/** What is durable: hot collections from memory, everything else from the journal's files. */
import { storedOf, type Version, type View } from "../../lib/store/engine/write_set.ts";
import { type SortedMap, sortedMap } from "../../lib/store/engine/sorted_map.ts";
import type { Catalog } from "./catalog.ts";
import type { Reader } from "./reader.ts";

/** Collections that are held in memory, by name. */
export type Hot = ReadonlyMap<string, SortedMap<Version>>;

/** The durable records. */
export interface Durable extends View {
  readonly hot: Hot;
  /** Enters a version that has become durable at a place. */
  enter(version: Version, place: number): void;
}

/** The durable records of a catalog; the named collections are read into memory. */
export function newDurable(catalog: Catalog, reader: Reader, names: readonly string[]): Durable {
  const everything = { limit: Infinity };
  const hot = new Map(
    names.map((collection) => {
      const versions = sortedMap<Version>();
      for (const { id, revision, value } of reader.readAll(collection, catalog.page(collection, everything)))
        versions.set(id, { collection, id, revision, text: JSON.stringify(value) });
      return [collection, versions];
    }),
  );

  return {
    hot,
    get(collection, id) {
      const held = hot.get(collection);
      if (held) {
        const version = held.get(id);
        return version && storedOf(version);
      }
      const place = catalog.place(collection, id);
      return place === undefined ? undefined : reader.read(collection, id, place);
    },
    list(collection, options) {
      const held = hot.get(collection);
      if (options.keysOnly) return (held?.page(options) ?? catalog.page(collection, options)).map(([id]) => ({ id }));
      if (held) return held.page(options).map(([, version]) => storedOf(version)!);
      return reader.readAll(collection, catalog.page(collection, options));
    },
    revision(collection, id) {
      const held = hot.get(collection)?.get(id);
      if (held) return held.revision;
      const place = catalog.place(collection, id);
      return place === undefined ? -catalog.buried(collection, id) : reader.revision(collection, id, place);
    },
    enter(version, place) {
      const { collection, id, revision, text } = version;
      const held = hot.get(collection);
      if (text === undefined) {
        catalog.bury(collection, id, revision);
        held?.delete(id);
      } else {
        catalog.put(collection, id, place);
        held?.set(id, version);
      }
    },
  };
}
