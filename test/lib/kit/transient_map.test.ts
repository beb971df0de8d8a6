import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createTransientMap } from "../../../lib/kit/transient_map.ts";

test("it has the same entries in the same order as a Map, also after a rebuild", () => {
  const map = createTransientMap<number, string>();
  const like = new Map<number, string>();
  for (let at = 0; at < 5000; at++) {
    map.set(at, `value ${at}`);
    like.set(at, `value ${at}`);
    map.delete(at - 7);
    like.delete(at - 7);
    map.delete(-1);
  }
  expect(map.size).toBe(7);
  expect([...map.keys()]).toEqual([...like.keys()]);
  expect([...map.values()]).toEqual([...like.values()]);
  expect([map.get(4999), map.has(4999), map.get(0), map.has(0)]).toEqual(["value 4999", true, undefined, false]);
});

test("entries may be deleted while its keys are iterated", () => {
  const map = createTransientMap<number, number>();
  for (let at = 0; at < 3000; at++) map.set(at, at);
  const seen: number[] = [];
  for (const key of map.keys()) {
    seen.push(key);
    map.delete(key);
  }
  expect(seen).toEqual(Array.from({ length: 3000 }, (_, at) => at));
  expect(map.size).toBe(0);
});

test("removed entries are garbage-collected early, unlike those of a Map", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (what?: { type: "minor" }) => void;
  const grownOld = (): number =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space")!.space_used_size;
  /** How much has grown old of 20,000 entries of over 800 bytes, of which eight at a time are there. */
  const keptBy = (map: { set(key: number, value: number[]): unknown; delete(key: number): unknown }) => {
    collect();
    const before = grownOld();
    for (let at = 0; at < 20_000; at++) {
      map.set(
        at,
        Array.from({ length: 100 }, () => at),
      );
      map.delete(at - 8);
      if (at % 200 === 0) collect({ type: "minor" });
    }
    return grownOld() - before;
  };
  expect(keptBy(new Map())).toBeGreaterThan(4_000_000);
  expect(keptBy(createTransientMap())).toBeLessThan(1_500_000);
});
