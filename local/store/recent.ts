/** Records that were read from the files last, in memory: a page is read again, and so is a change at its next step. */
import { inner, type Key, type Version } from "../../lib/store/engine/view.ts";

/** The records read last. */
export interface Recent {
  get(key: Key): Version | undefined;
  add(version: Version): void;
  remove(key: Key): void;
}

/** Counted for each record, however short it is. */
const RECORD_CHARACTERS = 128;
/** The part of the memory that a single record may take. */
const LARGEST_SHARE = 1 / 8;

/** Records by collection and id, so that no name of both is made for each look-up. */
interface Generation {
  versions: Map<string, Map<string, Version>>;
  characters: number;
}

const generation = (): Generation => ({ versions: new Map(), characters: 0 });

/**
 * Creates it empty. Records lie in two generations: what is used is in the young one, and when that is half of what may stay,
 * it replaces the old one. More characters than some hundred thousand grow old in V8's heap and cost more to collect than a
 * record costs to read again.
 */
export function newRecent(maxCharacters: number): Recent {
  let young = generation();
  let old = generation();

  const find = ({ versions }: Generation, { collection, id }: Key): Version | undefined =>
    versions.get(collection)?.get(id);

  const remove: Recent["remove"] = ({ collection, id }) => {
    for (const { versions } of [young, old]) versions.get(collection)?.delete(id);
  };

  const add: Recent["add"] = (version) => {
    const { length } = version.json?.text ?? "";
    if (length > maxCharacters * LARGEST_SHARE) return remove(version);
    inner(young.versions, version.collection).set(version.id, version);
    young.characters += length + RECORD_CHARACTERS;
    if (young.characters < maxCharacters / 2) return;
    old = young;
    young = generation();
  };

  return {
    get(key) {
      const used = find(young, key);
      if (used) return used;
      const earlier = find(old, key);
      if (earlier) add(earlier);
      return earlier;
    },
    add,
    remove,
  };
}
