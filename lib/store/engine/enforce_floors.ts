/**
 * Enforces revision floors in a store that several processes write to. The floor of a collection is the revision of its tombstone
 * with the id `""`; `floors.ts` explains why there are floors.
 */
import type { Attempt, Engine } from "./attempt.ts";
import { applyFloor } from "./floors.ts";

/** Wraps an engine so that each new record gets a revision above the floor of its collection. */
export function enforceRevisionFloors(engine: Engine): Engine {
  /** Floors by collection, as they are at the commit `head`. */
  let floors = new Map<string, number>();
  let head: string | undefined;
  /** Collections in which a record was put as new; the next read of any record reads their floors too. */
  const collectionsWithNewRecords = new Set<string>();

  const begin = (lastCommit?: string): Attempt => {
    const attempt = engine.begin(lastCommit);
    const readHead = async (): Promise<string> => {
      const currentHead = await attempt.head;
      if (currentHead !== head) floors = new Map();
      return (head = currentHead);
    };
    return {
      ...attempt,
      head: readHead(),
      async versions(keys) {
        // If the head changes during this read, the floors belong to the former head: `floors` is another map then.
        const floorsAtStart = floors;
        const collections = [...keys.map(({ collection }) => collection), ...collectionsWithNewRecords];
        const unread = [...new Set(collections.filter((name) => !floorsAtStart.has(name)))];
        const floorKeys = unread.map((collection) => ({ collection, id: "" }));
        const found = await attempt.versions([...keys, ...floorKeys]);
        unread.forEach((name, index) => floorsAtStart.set(name, found[keys.length + index]?.revision ?? 0));
        return keys.map((key, index) => applyFloor(key, found[index], floorsAtStart.get(key.collection)!));
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
    assumeAbsent(key) {
      collectionsWithNewRecords.add(key.collection);
      const floor = floors.get(key.collection);
      return floor === undefined ? undefined : { found: applyFloor(key, undefined, floor) };
    },
  };
}
