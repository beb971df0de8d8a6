/** A map for entries that are deleted soon: it keeps the order of a `Map`, and removed entries do not reach the old heap space. */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createTransientMap } from "../../../lib/kit/transient_map.ts";

test("a transient map has the entries of a Map in the same order, also after a replacement", () => {
  const map = createTransientMap<number, string>();
  const reference = new Map<number, string>();
  for (let at = 0; at < 5000; at++) {
    map.set(at, `value ${at}`);
    reference.set(at, `value ${at}`);
    map.delete(at - 7);
    reference.delete(at - 7);
    map.delete(-1);
  }
  expect(map.size).toBe(7);
  expect([...map.keys()]).toEqual([...reference.keys()]);
  expect([...map.values()]).toEqual([...reference.values()]);
  expect([map.get(4999), map.has(4999), map.get(0), map.has(0)]).toEqual(["value 4999", true, undefined, false]);
});

test("entries may be deleted while the keys are iterated", () => {
  const map = createTransientMap<number, number>();
  for (let at = 0; at < 3000; at++) map.set(at, at);
  const keys: number[] = [];
  for (const key of map.keys()) {
    keys.push(key);
    map.delete(key);
  }
  expect(keys).toEqual(Array.from({ length: 3000 }, (_, at) => at));
  expect(map.size).toBe(0);
});

test("removed entries are garbage-collected early, unlike those of a Map", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (what?: { type: "minor" }) => void;
  const oldSpaceBytes = (): number =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space")!.space_used_size;
  /** Returns the growth of the old heap space by 20,000 entries of over 800 bytes, at most eight of them at a time. */
  const measureOldSpaceGrowth = (map: { set(key: number, value: number[]): unknown; delete(key: number): unknown }) => {
    collect();
    const before = oldSpaceBytes();
    for (let at = 0; at < 20_000; at++) {
      map.set(
        at,
        Array.from({ length: 100 }, () => at),
      );
      map.delete(at - 8);
      if (at % 200 === 0) collect({ type: "minor" });
    }
    return oldSpaceBytes() - before;
  };
  expect(measureOldSpaceGrowth(new Map())).toBeGreaterThan(4_000_000);
  expect(measureOldSpaceGrowth(createTransientMap())).toBeLessThan(1_500_000);
});
