/** Tests the maps from records to their locations in the journal, at sizes that no other test reaches. */
import { describe, expect, test } from "vitest";
import { sequenceId } from "../../../lib/store/collections.ts";
import { locationFile, locationOffset, packLocation } from "../../../local/store/catalog.ts";
import { listIds, type LocationMap, createSequenceMap, createLocationMap } from "../../../local/store/location_map.ts";
import { seededRandom } from "./model.ts";

describe("a location map of a sequence", () => {
  const fillMap = (count: number) => {
    const locations = createSequenceMap();
    for (let n = 1; n <= count; n++) locations.set(sequenceId(n), n * 10);
    return locations;
  };

  test("returns every location, far beyond its first allocation", () => {
    const locations = fillMap(50_000);
    expect(locations.size).toBe(50_000);
    for (const n of [1, 16_384, 16_385, 32_768, 50_000]) expect(locations.get(sequenceId(n))).toBe(n * 10);
    for (const id of [sequenceId(0), sequenceId(50_001), "1", "", "x", " 000000000000001", "1e3"])
      expect(locations.get(id), id).toBeUndefined();
  });

  test("is copied in batches", () => {
    const locations = fillMap(40_000);
    const copy = createSequenceMap();
    const sizes: number[] = [];
    for (let batch = locations.nextBatch(undefined); batch; batch = locations.nextBatch(batch.text)) {
      copy.append(batch);
      sizes.push(batch.locations.length);
    }
    // A batch is one allocation of the map.
    expect(sizes).toEqual([16_384, 16_384, 40_000 - 2 * 16_384]);
    expect(copy.page({ limit: Infinity })).toEqual(locations.page({ limit: Infinity }));
  });

  test("accepts only the next id or an existing one", () => {
    const locations = fillMap(3);
    locations.set(sequenceId(2), 99);
    expect(locations.get(sequenceId(2))).toBe(99);
    expect(locations.size).toBe(3);
    for (const id of [sequenceId(5), "4", "x"]) expect(() => locations.set(id, 1), id).toThrow(/does not follow/);
    expect(() => locations.delete(sequenceId(3))).toThrow(/nothing is deleted/);
  });

  test("visits all locations, which may be changed, and none beyond the end", () => {
    const locations = fillMap(40_000);
    expect(visitAll(locations)).toEqual(Array.from({ length: 40_000 }, (_, index) => (index + 1) * 10));
    locations.visitSome(sequenceId(16_385), (batch) => void (batch[0] = 7));
    expect(locations.get(sequenceId(16_385))).toBe(7);
    expect(visitAll(fillMap(16_384))).toHaveLength(16_384);
    expect(visitAll(fillMap(0))).toEqual([]);
  });

  test("returns pages after any text, in both directions", () => {
    const locations = fillMap(10);
    const ids = (range: Parameters<typeof locations.page>[0]) => locations.page(range).map(([id]) => Number(id));
    expect(ids({ limit: 3 })).toEqual([1, 2, 3]);
    expect(ids({ limit: 3, reverse: true })).toEqual([10, 9, 8]);
    expect(ids({ after: sequenceId(8), limit: 9 })).toEqual([9, 10]);
    expect(ids({ after: sequenceId(3), limit: 9, reverse: true })).toEqual([2, 1]);
    expect(ids({ after: `${sequenceId(8)}x`, limit: 9 })).toEqual([9, 10]);
    expect(ids({ after: `${sequenceId(8)}x`, limit: 2, reverse: true })).toEqual([8, 7]);
    expect(ids({ after: "", limit: 1 })).toEqual([1]);
    expect(ids({ after: "9", limit: 1 })).toEqual([]);
    expect(ids({ after: "9", limit: 1, reverse: true })).toEqual([10]);
    expect(ids({ after: sequenceId(0), limit: 1, reverse: true })).toEqual([]);
    expect(ids({ limit: Infinity })).toHaveLength(10);
    expect(ids({ limit: 9, prefix: "000000000000001" })).toEqual([10]);
    expect(ids({ limit: 2, prefix: "00000000", after: sequenceId(4), reverse: true })).toEqual([3, 2]);
    expect(ids({ limit: 9, prefix: "1" })).toEqual([]);
  });
});

describe("a location map by id", () => {
  test("equals a plain map after random insertions and deletions", () => {
    const random = seededRandom(11);
    const randomBelow = (count: number): number => Math.floor(random() * count);
    const locations = createLocationMap();
    const expected = new Map<string, number>();
    const randomId = (step: number): string =>
      randomBelow(3) === 0
        ? `rising-${String(step).padStart(7, "0")}`
        : `${"é字😀".slice(0, randomBelow(4))}${randomBelow(3000)}`;
    for (let step = 1; step <= 12_000; step++) {
      const id = randomId(step);
      const before = expected.get(id);
      if (randomBelow(4) === 0) {
        if (locations.delete(id) !== before) expect.fail(id);
        expected.delete(id);
      } else {
        if (locations.set(id, step) !== before) expect.fail(id);
        expected.set(id, step);
      }
    }
    const sorted = [...expected].sort(([a], [b]) => (a < b ? -1 : 1));
    expect(locations.size).toBe(sorted.length);
    expect(locations.page({ limit: Infinity })).toEqual(sorted);
    const copy = createLocationMap();
    for (
      let batch = locations.nextBatch(undefined);
      batch;
      batch = locations.nextBatch(copy.page({ limit: 1, reverse: true })[0]![0])
    )
      copy.append(batch);
    expect([copy.size, copy.page({ limit: Infinity })]).toEqual([sorted.length, sorted]);
    const [fifth] = sorted[4]!;
    expect(listIds(locations.nextBatch(fifth)!)[0]).toBe(sorted[5]![0]);
    expect(locations.page({ limit: Infinity, reverse: true })).toEqual([...sorted].reverse());
    for (const [id, location] of sorted) if (locations.get(id) !== location) expect.fail(id);
    for (let step = 0; step < 500; step++) {
      const prefix = randomBelow(2) ? "" : sorted[randomBelow(sorted.length)]![0].slice(0, randomBelow(4));
      const after = randomBelow(3)
        ? `${sorted[randomBelow(sorted.length)]![0]}${"x".repeat(randomBelow(2))}`
        : undefined;
      const matching = sorted.filter(([id]) => id.startsWith(prefix));
      const range = { limit: 5, ...(prefix !== "" && { prefix }), ...(after !== undefined && { after }) };
      const forward = matching.filter(([id]) => after === undefined || id > after);
      const backward = matching.filter(([id]) => after === undefined || id < after).reverse();
      expect(locations.page(range)).toEqual(forward.slice(0, 5));
      expect(locations.page({ ...range, reverse: true })).toEqual(backward.slice(0, 5));
    }
    for (const [id] of sorted) locations.delete(id);
    expect([locations.size, locations.page({ limit: 9 }), locations.get(sorted[0]![0])]).toEqual([0, [], undefined]);
  });
});

describe("visiting a location map", () => {
  const makeId = (n: number): string => `id-${String(n).padStart(6, "0")}`;
  const fillMap = (count: number, step = 1) => {
    const locations = createLocationMap();
    for (let n = 0; n < count; n += step) locations.set(makeId(n), n);
    return locations;
  };

  test("visits each location once, and may change it", () => {
    expect(visitAll(fillMap(30_000))).toEqual(Array.from({ length: 30_000 }, (_, n) => n));
    const locations = fillMap(30_000);
    let from: string | undefined;
    do
      from = locations.visitSome(from, (batch) =>
        batch.forEach((location, index) => void (batch[index] = location + 0.5)),
      );
    while (from !== undefined);
    for (const n of [0, 8191, 8192, 29_999]) expect(locations.get(makeId(n))).toBe(n + 0.5);
    expect(visitAll(createLocationMap())).toEqual([]);
  });

  test("skips no location that remains, whatever is added or deleted between two visits", () => {
    const random = seededRandom(5);
    const randomBelow = (count: number): number => Math.floor(random() * count);
    const locations = fillMap(60_000, 2);
    const remaining = new Set<number>();
    for (let n = 0; n < 60_000; n += 2) remaining.add(n);
    const visited = new Set<number>();
    let from: string | undefined;
    do {
      from = locations.visitSome(from, (batch) => batch.forEach((location) => visited.add(location)));
      for (let count = randomBelow(4000), first = randomBelow(60_000); count > 0; count--) {
        const n = (first + count) % 60_000;
        if (n % 2) locations.set(makeId(n), n);
        else if (locations.delete(makeId(n)) !== undefined) remaining.delete(n);
      }
    } while (from !== undefined);
    expect([...remaining].filter((location) => !visited.has(location))).toEqual([]);
    expect(remaining.size).toBeGreaterThan(1000);
  });
});

/** Returns all locations in the order of visits. */
function visitAll(locations: Pick<LocationMap, "visitSome">): number[] {
  const visited: number[] = [];
  let from: string | undefined;
  do from = locations.visitSome(from, (batch) => void visited.push(...batch));
  while (from !== undefined);
  return visited;
}

test("a location packs a file and an offset up to four gigabytes", () => {
  for (const [file, offset] of [
    [1, 0],
    [3, 2 ** 32 - 1],
    [2 ** 20, 123],
  ] as const) {
    const location = packLocation(file, offset);
    expect([locationFile(location), locationOffset(location)]).toEqual([file, offset]);
  }
});
