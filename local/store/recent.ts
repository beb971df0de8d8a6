/** Records that were read or written last, in memory: a change is read again at each of its steps, a cursor at every read. */
import { inner, type Key, type Version } from "../../lib/store/engine/view.ts";

/** The records used last. */
export interface Recent {
  get(key: Key): Version | undefined;
  keep(version: Version): void;
  forget(key: Key): void;
}

// More of them grow old here, and are dearer to collect than a record is to read again.
const MOST_CHARACTERS = 512 * 1024;
/** What is longer is read again: a few of them would drive out all others. */
const LONGEST = 64 * 1024;

/** Records by collection and id, so that no name of both is made for each look. */
interface Generation {
  versions: Map<string, Map<string, Version>>;
  count: number;
  characters: number;
}

const generation = (): Generation => ({ versions: new Map(), count: 0, characters: 0 });

/**
 * Keeps nothing yet, and never more than `most`, in two generations: what is used is in the young one, and when that is half
 * of all that may be kept, it takes the place of the old one, which goes as a whole.
 */
export function newRecent(most: number): Recent {
  let young = generation();
  let old = generation();

  const find = ({ versions }: Generation, { collection, id }: Key): Version | undefined =>
    versions.get(collection)?.get(id);

  const forget: Recent["forget"] = ({ collection, id }) => {
    for (const { versions } of [young, old]) versions.get(collection)?.delete(id);
  };

  const keep: Recent["keep"] = (version) => {
    const { length } = version.json?.text ?? "";
    if (length > LONGEST) return forget(version);
    inner(young.versions, version.collection).set(version.id, version);
    young.count++;
    young.characters += length;
    if (young.count < most / 2 && young.characters < MOST_CHARACTERS / 2 - LONGEST) return;
    old = young;
    young = generation();
  };

  return {
    get(key) {
      const used = find(young, key);
      if (used) return used;
      const earlier = find(old, key);
      if (earlier) keep(earlier);
      return earlier;
    },
    forget,
    keep,
  };
}
