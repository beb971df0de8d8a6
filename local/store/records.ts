/**
 * Views of the store's records: the durable ones, and those with accepted writes that are not durable yet. A version without `json` is
 * a deletion; the floor of a collection is the highest revision of its deleted records.
 */
import { createTransientMap, type TransientMap } from "../../lib/kit/transient_map.ts";
import { sequenceId } from "../../lib/store/collections.ts";
import {
  awaitAll,
  type Awaitable,
  type Key,
  mapAwaitable,
  type Version,
  type View,
} from "../../lib/store/engine/view.ts";
import { mergeList } from "../../lib/store/engine/write_set.ts";
import type { Catalog } from "./catalog.ts";
import type { Reader } from "./reader.ts";
import type { RecentRecords } from "./recent_records.ts";
import type { HotRecords } from "./state_file.ts";

/** The durable records: those of the state file in memory, all others in the journal's files. */
export interface DurableRecords extends View {
  version(collection: string, id: string): Awaitable<Version | undefined>;
  /** Adds a version that has become durable at a location. */
  add(version: Version, location: number): void;
}

/** Creates the view of durable records; `hot` are those of the state file. */
export function newDurable(catalog: Catalog, reader: Reader, hot: HotRecords, recent: RecentRecords): DurableRecords {
  const version: DurableRecords["version"] = (collection, id) => {
    const hotRecords = hot.get(collection);
    if (hotRecords) return hotRecords.get(id);
    const location = catalog.locate(collection, id);
    if (location === undefined) return undefined;
    return (
      reader.readWritten(collection, id, location) ??
      recent.get({ collection, id }) ??
      readFromFile(collection, id, location)
    );
  };

  const readFromFile = async (collection: string, id: string, location: number): Promise<Version> => {
    const read = await reader.read(collection, id, location);
    // The record may have been written again meanwhile.
    if (catalog.locate(collection, id) === location) recent.add(read);
    return read;
  };

  return {
    version,
    versions: (keys) => awaitAll(keys.map(({ collection, id }) => version(collection, id))),
    list(collection, options) {
      const hotRecords = hot.get(collection);
      if (hotRecords) return hotRecords.page(options).map(([, version]) => version);
      const page = catalog.page(collection, options);
      if (options.keysOnly) return page.map(([id]) => ({ id }));
      const written = options.uncached ? undefined : reader.readAllWritten(collection, page);
      return written ?? reader.readAll(collection, page);
    },
    add(version, location) {
      const { collection, id, revision, json } = version;
      if (json) catalog.put(collection, id, location);
      else catalog.delete(collection, id, revision);
      if (hot.get(collection)) hot.add(version);
      else recent.remove(version);
    },
  };
}

/** The records with all accepted writes, as decisions read them. */
export interface AcceptedRecords extends View {
  /** Accepts writes. Errors: where a write to a sequence is not an append; no write is accepted then. */
  add(writes: readonly Version[]): void;
  /** Removes a version that has become durable. */
  markDurable(version: Version): void;
  /** Drops all accepted writes that are not durable, after a failure. */
  reset(): void;
}

/** Creates the view without accepted writes. `sequences`: collections that are only appended to. */
export function newAccepted(
  durable: Pick<DurableRecords, "version" | "list">,
  catalog: Pick<Catalog, "size" | "floor">,
  sequences: readonly string[],
): AcceptedRecords {
  const accepted = new Map<string, TransientMap<string, Version>>();
  const listSizes = () => sequences.map((name) => [name, catalog.size(name)] as const);
  const appended = new Map(listSizes());
  const floors = new Map<string, number>();

  /** Returns the version of an absent record: its revision is the floor of the collection. */
  const absent = ({ collection, id }: Key): Version | undefined => {
    const revision = Math.max(catalog.floor(collection), floors.get(collection) ?? 0);
    return revision === 0 ? undefined : { collection, id, revision, json: undefined };
  };

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
      awaitAll(
        keys.map((key) =>
          mapAwaitable(
            accepted.get(key.collection)?.get(key.id) ?? durable.version(key.collection, key.id),
            (version) => (version?.json ? version : absent(key)),
          ),
        ),
      ),
    list(collection, options) {
      return mergeList(accepted.get(collection), options, (below) => durable.list(collection, below));
    },
    add(writes) {
      checkSequences(writes);
      for (const version of writes) {
        const { collection, id, revision, json } = version;
        let records = accepted.get(collection);
        if (!records) accepted.set(collection, (records = createTransientMap()));
        records.set(id, version);
        if (!json) floors.set(collection, Math.max(floors.get(collection) ?? 0, revision));
      }
    },
    markDurable(version) {
      const records = accepted.get(version.collection);
      // A later transaction may have written the record again.
      if (records?.get(version.id) === version) records.delete(version.id);
    },
    reset() {
      accepted.clear();
      floors.clear();
      for (const [name, size] of listSizes()) appended.set(name, size);
    },
  };
}
