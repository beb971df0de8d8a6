/** The floors of the collections of a store that was loaded (see `floors.ts`), where many processes write to it. */
import type { Key, Version } from "../version.ts";
import type { Attempt, Engine } from "./attempt.ts";
import { applyFloor } from "./floors.ts";

/** An engine for which what is not there begins above what was deleted before the store was loaded. */
export function wrapWithFloors(engine: Engine): Engine {
  /** As of a commit. */
  let floors = new Map<string, number>();
  let head: string | undefined;
  /** The collections in which something was put as new: their floors are asked for with the first that is read. */
  const collectionsWithNewRecords = new Set<string>();

  const over = (key: Key, version: Version | undefined, known = floors): Version | undefined =>
    applyFloor(key, version, known.get(key.collection) ?? 0);
  const begin = (last?: string): Attempt => {
    const attempt = engine.begin(last);
    const readNumber = async (): Promise<string> => {
      const now = await attempt.head;
      if (now !== head) floors = new Map();
      return (head = now);
    };
    return {
      ...attempt,
      head: readNumber(),
      async versions(keys) {
        // An answer that comes when the head is another by then is none of that one.
        const known = floors;
        const collections = [...keys.map(({ collection }) => collection), ...collectionsWithNewRecords];
        const unknown = new Set(collections.filter((name) => !known.has(name)));
        const names = [...unknown];
        const found = await attempt.versions([...keys, ...names.map((collection) => ({ collection, id: "" }))]);
        names.forEach((name, index) => known.set(name, found[keys.length + index]?.revision ?? 0));
        return keys.map((key, index) => over(key, found[index], known));
      },
      async commit(writes) {
        head = await attempt.commit(writes);
        for (const { collection, id, revision } of writes) if (id === "") floors.set(collection, revision);
        return head;
      },
    };
  };
  return {
    ...engine,
    begin,
    untouched(key) {
      collectionsWithNewRecords.add(key.collection);
      return floors.has(key.collection) ? { found: over(key, undefined) } : undefined;
    },
  };
}
