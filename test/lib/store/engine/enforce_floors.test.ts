/** Floors of loaded collections: a new record gets a revision above those of deleted records. */
import { expect, test } from "vitest";
import type { Attempt, Engine } from "../../../../lib/store/engine/attempt.ts";
import { enforceRevisionFloors } from "../../../../lib/store/engine/enforce_floors.ts";
import { recordName, type Version } from "../../../../lib/store/engine/view.ts";

const recordKey = (id: string, collection = "things") => ({ collection, id });

/** Creates an engine with a settable head, and with a settable floor for the collection `things`. */
function loadedEngine() {
  const versions = new Map<string, Version>();
  const state = { head: "1", readKeys: [] as string[] };
  // The floor of a collection is the revision of a deleted record without an id.
  const setFloor = (revision: number): void =>
    void versions.set(recordName(recordKey("")), { ...recordKey(""), revision, json: undefined });
  const begin = (): Attempt => ({
    head: state.head,
    versions(keys) {
      state.readKeys = keys.map(({ collection, id }) => `${collection}/${id}`);
      return keys.map((key) => versions.get(recordName(key)));
    },
    list: () => [],
    commit: () => Promise.resolve(state.head),
    abandon: () => Promise.resolve(),
  });
  const engine = enforceRevisionFloors({ begin, limits: { writes: 10, bytes: 1000 } }) as Required<Engine>;
  return { state, setFloor, engine };
}

test("a new record's revision starts above the collection's floor, once that floor is read", async () => {
  const { state, setFloor, engine } = loadedEngine();
  setFloor(7);
  // Undefined: the engine does not know the floor yet, so a put must read the record.
  expect(engine.assumeAbsent(recordKey("a"))).toBeUndefined();

  const first = engine.begin();
  await first.head;
  await first.versions([recordKey("x", "others")]);
  // The floor of `things` is read together with the first record, since `assumeAbsent` needed it.
  expect(state.readKeys).toContain("things/");
  expect(engine.assumeAbsent(recordKey("a"))).toEqual({ found: { ...recordKey("a"), revision: 7, json: undefined } });
  expect(engine.assumeAbsent(recordKey("a", "others"))).toEqual({ found: undefined });

  state.head = "2";
  setFloor(20);
  const second = engine.begin();
  await second.head;
  expect(engine.assumeAbsent(recordKey("a"))).toBeUndefined();
  await second.versions([recordKey("y", "others")]);
  expect(engine.assumeAbsent(recordKey("a"))?.found?.revision).toBe(20);
});
