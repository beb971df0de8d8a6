/** Records that were read or written last, in memory: a change is read again at each of its steps, a cursor at every read. */
import { transientMap } from "../../lib/kit/transient_map.ts";
import { nameOf, type Key, type Version } from "../../lib/store/engine/view.ts";

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

/** Keeps nothing yet, and never more than `most`; what was kept longest ago goes first. */
export function newRecent(most: number): Recent {
  const versions = transientMap<string, Version>();
  let characters = 0;

  const drop = (name: string): void => {
    characters -= versions.get(name)?.json?.text.length ?? 0;
    versions.delete(name);
  };

  return {
    get: (key) => versions.get(nameOf(key)),
    forget: (key) => drop(nameOf(key)),
    keep(version) {
      const name = nameOf(version);
      drop(name);
      const { length } = version.json?.text ?? "";
      if (length > LONGEST) return;
      versions.set(name, version);
      characters += length;
      for (const oldest of versions.keys()) {
        if (versions.size <= most && characters <= MOST_CHARACTERS) break;
        drop(oldest);
      }
    },
  };
}
