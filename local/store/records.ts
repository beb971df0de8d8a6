/** The store's records: what is durable, and over it what has been accepted but is not durable yet. */
import { createTransientMap, type TransientMap } from "../../lib/kit/transient_map.ts";
import { sequenceId } from "../../lib/store/collections.ts";
import { allThere, type Awaitable, type Key, onceThere, type Version, type View } from "../../lib/store/engine/view.ts";
import { mergeList } from "../../lib/store/engine/write_set.ts";
import type { Catalog } from "./catalog.ts";
import type { Reader } from "./reader.ts";
import type { Recent } from "./recent.ts";
import type { Hot } from "./state_file.ts";

/** The durable records: those of the state file from memory, everything else from the journal's files. */
export interface Durable extends View {
  version(collection: string, id: string): Awaitable<Version | undefined>;
  /** Enters a version that has become durable at a place. */
  enter(version: Version, place: number): void;
}

/** Returns the durable records of a catalog; `hot` are those of the state file. */
export function newDurable(catalog: Catalog, reader: Reader, hot: Hot, recent: Recent): Durable {
  const version: Durable["version"] = (collection, id) => {
    const held = hot.get(collection);
    if (held) return held.get(id);
    const place = catalog.place(collection, id);
    if (place === undefined) return undefined;
    return reader.readWritten(collection, id, place) ?? recent.get({ collection, id }) ?? cold(collection, id, place);
  };

  const cold = async (collection: string, id: string, place: number): Promise<Version> => {
    const read = await reader.read(collection, id, place);
    // It may have been written again meanwhile.
    if (catalog.place(collection, id) === place) recent.add(read);
    return read;
  };

  return {
    version,
    versions: (keys) => allThere(keys.map(({ collection, id }) => version(collection, id))),
    list(collection, options) {
      const held = hot.get(collection);
      if (held) return held.page(options).map(([, version]) => version);
      const page = catalog.page(collection, options);
      if (options.keysOnly) return page.map(([id]) => ({ id }));
      const written = options.uncached ? undefined : reader.readAllWritten(collection, page);
      return written ?? reader.readAll(collection, page);
    },
    enter(version, place) {
      const { collection, id, revision, json } = version;
      if (json) catalog.put(collection, id, place);
      else catalog.bury(collection, id, revision);
      if (hot.get(collection)) hot.enter(version);
      else recent.remove(version);
    },
  };
}

/** Everything accepted, as decisions see it. */
export interface Accepted extends View {
  /** Takes writes on. Errors: when a sequence would not only grow; then none is taken. */
  add(writes: readonly Version[]): void;
  /** This has become durable. */
  settle(version: Version): void;
  /** Drops all that is not durable: it never will be. */
  reset(): void;
}

/** Nothing accepted yet. `sequences`: collections that are only appended to. */
export function newAccepted(
  durable: Pick<Durable, "version" | "list">,
  catalog: Pick<Catalog, "size" | "floor">,
  sequences: readonly string[],
): Accepted {
  const accepted = new Map<string, TransientMap<string, Version>>();
  const sizes = () => sequences.map((name) => [name, catalog.size(name)] as const);
  const appended = new Map(sizes());
  const floors = new Map<string, number>();

  /** Returns the version of an absent record: its revision is the one above which all in its collection begin. */
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
      allThere(
        keys.map((key) =>
          onceThere(accepted.get(key.collection)?.get(key.id) ?? durable.version(key.collection, key.id), (version) =>
            version?.json ? version : absent(key),
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
        let known = accepted.get(collection);
        if (!known) accepted.set(collection, (known = createTransientMap()));
        known.set(id, version);
        if (!json) floors.set(collection, Math.max(floors.get(collection) ?? 0, revision));
      }
    },
    settle(version) {
      const known = accepted.get(version.collection);
      // A later transaction may have written the record again.
      if (known?.get(version.id) === version) known.delete(version.id);
    },
    reset() {
      accepted.clear();
      floors.clear();
      for (const [name, size] of sizes()) appended.set(name, size);
    },
  };
}
