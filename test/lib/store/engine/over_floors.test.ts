/** Collections of a store that was loaded: what is not there begins above what was deleted before. */
import { expect, test } from "vitest";
import type { Attempt, Engine } from "../../../../lib/store/engine/attempt.ts";
import { wrapWithFloors } from "../../../../lib/store/engine/over_floors.ts";
import { recordName, type Version } from "../../../../lib/store/engine/view.ts";

const keyOf = (id: string, collection = "things") => ({ collection, id });

/** An engine in which `floor` of things were loaded, as of the commit `head`. */
function loaded() {
  const versions = new Map<string, Version>();
  const state = { head: "1", asked: [] as string[] };
  const setFloor = (revision: number): void =>
    void versions.set(recordName(keyOf("")), { ...keyOf(""), revision, json: undefined });
  const begin = (): Attempt => ({
    head: state.head,
    versions(keys) {
      state.asked = keys.map(({ collection, id }) => `${collection}/${id}`);
      return keys.map((key) => versions.get(recordName(key)));
    },
    list: () => [],
    commit: () => Promise.resolve(state.head),
    abandon: () => Promise.resolve(),
  });
  const engine = wrapWithFloors({ begin, most: { writes: 10, bytes: 1000 } }) as Required<Engine>;
  return { state, setFloor, engine };
}

test("a new record begins above its collection's floor as of the last commit, or is unknown", async () => {
  const { state, setFloor, engine } = loaded();
  setFloor(7);
  expect(engine.untouched(keyOf("a"))).toBeUndefined();

  const first = engine.begin();
  await first.head;
  await first.versions([keyOf("x", "others")]);
  // With whatever is read first, since something is put into it.
  expect(state.asked).toContain("things/");
  expect(engine.untouched(keyOf("a"))).toEqual({ found: { ...keyOf("a"), revision: 7, json: undefined } });
  expect(engine.untouched(keyOf("a", "others"))).toEqual({ found: undefined });

  state.head = "2";
  setFloor(20);
  const second = engine.begin();
  await second.head;
  expect(engine.untouched(keyOf("a"))).toBeUndefined();
  await second.versions([keyOf("y", "others")]);
  expect(engine.untouched(keyOf("a"))?.found?.revision).toBe(20);
});
