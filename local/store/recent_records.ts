/** Caches the records that were read from files last. */
import { getInnerMap, type Key, type Version } from "../../lib/store/engine/view.ts";

/** A cache of records. */
export interface RecentRecords {
  get(key: Key): Version | undefined;
  add(version: Version): void;
  remove(key: Key): void;
}

/** Characters that count for each record in addition to its text. */
const RECORD_CHARACTERS = 128;
/** Share of the cache that one record may take. */
const MAX_RECORD_SHARE = 1 / 8;

/** Records by collection, then by id, so that a look-up joins no strings. */
interface Generation {
  versions: Map<string, Map<string, Version>>;
  characters: number;
}

const newGeneration = (): Generation => ({ versions: new Map(), characters: 0 });

/**
 * Creates an empty cache of two generations. A used record moves to the young generation. When the young one has half of
 * `maxCharacters`, it replaces the old one, whose other records are dropped. A larger cache would cost more in garbage collection
 * than it saves in reads.
 */
export function newRecentRecords(maxCharacters: number): RecentRecords {
  let young = newGeneration();
  let old = newGeneration();

  const find = ({ versions }: Generation, { collection, id }: Key): Version | undefined =>
    versions.get(collection)?.get(id);

  const remove: RecentRecords["remove"] = ({ collection, id }) => {
    for (const { versions } of [young, old]) versions.get(collection)?.delete(id);
  };

  const add: RecentRecords["add"] = (version) => {
    const { length } = version.json?.text ?? "";
    if (length > maxCharacters * MAX_RECORD_SHARE) return remove(version);
    getInnerMap(young.versions, version.collection).set(version.id, version);
    young.characters += length + RECORD_CHARACTERS;
    if (young.characters < maxCharacters / 2) return;
    old = young;
    young = newGeneration();
  };

  return {
    get(key) {
      const youngVersion = find(young, key);
      if (youngVersion) return youngVersion;
      const oldVersion = find(old, key);
      if (oldVersion) add(oldVersion);
      return oldVersion;
    },
    add,
    remove,
  };
}
