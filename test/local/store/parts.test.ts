/** Tests small parts of the store at limits that a complete store does not reach in a test. */
import { describe, expect, test } from "vitest";
import { sequenceId } from "../../../lib/store/collections.ts";
import type { Version } from "../../../lib/store/engine/view.ts";
import { json } from "../../../lib/store/json.ts";
import { locationFile, newCatalog, locationOffset, packLocation } from "../../../local/store/catalog.ts";
import { listIds, type LocationMap, createSequenceMap, createLocationMap } from "../../../local/store/location_map.ts";
import { newRecentRecords, type RecentRecords } from "../../../local/store/recent_records.ts";
import { newAccepted } from "../../../local/store/records.ts";
import { seeded } from "./model.ts";

describe("a location map of a sequence", () => {
  const filled = (count: number) => {
    const places = createSequenceMap();
    for (let n = 1; n <= count; n++) places.set(sequenceId(n), n * 10);
    return places;
  };

  test("returns every location, far beyond its first allocation", () => {
    const places = filled(50_000);
    expect(places.size).toBe(50_000);
    for (const n of [1, 16_384, 16_385, 32_768, 50_000]) expect(places.get(sequenceId(n))).toBe(n * 10);
    for (const id of [sequenceId(0), sequenceId(50_001), "1", "", "x", " 000000000000001", "1e3"])
      expect(places.get(id), id).toBeUndefined();
  });

  test("is copied in batches", () => {
    const places = filled(40_000);
    const copy = createSequenceMap();
    const sizes: number[] = [];
    for (let batch = places.nextBatch(undefined); batch; batch = places.nextBatch(batch.text))
      sizes.push((copy.append(batch), batch.locations.length));
    expect(sizes).toEqual([16_384, 16_384, 40_000 - 2 * 16_384]);
    expect(copy.page({ limit: Infinity })).toEqual(places.page({ limit: Infinity }));
  });

  test("accepts only the next id or an existing one", () => {
    const places = filled(3);
    places.set(sequenceId(2), 99);
    expect(places.get(sequenceId(2))).toBe(99);
    expect(places.size).toBe(3);
    for (const id of [sequenceId(5), "4", "x"]) expect(() => places.set(id, 1), id).toThrow(/does not follow/);
    expect(() => places.delete(sequenceId(3))).toThrow(/nothing is deleted/);
  });

  test("visits all locations, which may be changed, and none beyond the end", () => {
    const places = filled(40_000);
    expect(visitAll(places)).toEqual(Array.from({ length: 40_000 }, (_, index) => (index + 1) * 10));
    places.visitSome(sequenceId(16_385), (some) => void (some[0] = 7));
    expect(places.get(sequenceId(16_385))).toBe(7);
    expect(visitAll(filled(16_384))).toHaveLength(16_384);
    expect(visitAll(filled(0))).toEqual([]);
  });

  test("returns pages after any text, in both directions", () => {
    const places = filled(10);
    const ids = (range: Parameters<typeof places.page>[0]) => places.page(range).map(([id]) => Number(id));
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
    const random = seeded(11);
    const upTo = (count: number): number => Math.floor(random() * count);
    const places = createLocationMap();
    const plain = new Map<string, number>();
    const someId = (step: number): string =>
      upTo(3) === 0 ? `rising-${String(step).padStart(7, "0")}` : `${"é字😀".slice(0, upTo(4))}${upTo(3000)}`;
    for (let step = 1; step <= 12_000; step++) {
      const id = someId(step);
      const before = plain.get(id);
      if (upTo(4) === 0) {
        if (places.delete(id) !== before) expect.fail(id);
        plain.delete(id);
      } else {
        if (places.set(id, step) !== before) expect.fail(id);
        plain.set(id, step);
      }
    }
    const all = [...plain].sort(([a], [b]) => (a < b ? -1 : 1));
    expect(places.size).toBe(all.length);
    expect(places.page({ limit: Infinity })).toEqual(all);
    const copy = createLocationMap();
    for (
      let batch = places.nextBatch(undefined);
      batch;
      batch = places.nextBatch(copy.page({ limit: 1, reverse: true })[0]![0])
    )
      copy.append(batch);
    expect([copy.size, copy.page({ limit: Infinity })]).toEqual([all.length, all]);
    const [fifth] = all[4]!;
    expect(listIds(places.nextBatch(fifth)!)[0]).toBe(all[5]![0]);
    expect(places.page({ limit: Infinity, reverse: true })).toEqual([...all].reverse());
    for (const [id, place] of all) if (places.get(id) !== place) expect.fail(id);
    for (let step = 0; step < 500; step++) {
      const prefix = upTo(2) ? "" : all[upTo(all.length)]![0].slice(0, upTo(4));
      const after = upTo(3) ? `${all[upTo(all.length)]![0]}${"x".repeat(upTo(2))}` : undefined;
      const matching = all.filter(([id]) => id.startsWith(prefix));
      const range = { limit: 5, ...(prefix !== "" && { prefix }), ...(after !== undefined && { after }) };
      const forward = matching.filter(([id]) => after === undefined || id > after);
      const back = matching.filter(([id]) => after === undefined || id < after).reverse();
      expect(places.page(range)).toEqual(forward.slice(0, 5));
      expect(places.page({ ...range, reverse: true })).toEqual(back.slice(0, 5));
    }
    for (const [id] of all) places.delete(id);
    expect([places.size, places.page({ limit: 9 }), places.get(all[0]![0])]).toEqual([0, [], undefined]);
  });
});

describe("visiting a location map", () => {
  const idOf = (n: number): string => `id-${String(n).padStart(6, "0")}`;
  const filled = (count: number, step = 1) => {
    const places = createLocationMap();
    for (let n = 0; n < count; n += step) places.set(idOf(n), n);
    return places;
  };

  test("visits each location once, and may change it", () => {
    expect(visitAll(filled(30_000))).toEqual(Array.from({ length: 30_000 }, (_, n) => n));
    const places = filled(30_000);
    let from: string | undefined;
    do from = places.visitSome(from, (some) => some.forEach((place, index) => void (some[index] = place + 0.5)));
    while (from !== undefined);
    for (const n of [0, 8191, 8192, 29_999]) expect(places.get(idOf(n))).toBe(n + 0.5);
    expect(visitAll(createLocationMap())).toEqual([]);
  });

  test("skips no location that stays, whatever is added or deleted between two visits", () => {
    const random = seeded(5);
    const upTo = (count: number): number => Math.floor(random() * count);
    const places = filled(60_000, 2);
    const remaining = new Set<number>();
    for (let n = 0; n < 60_000; n += 2) remaining.add(n);
    const shown = new Set<number>();
    let from: string | undefined;
    do {
      from = places.visitSome(from, (some) => some.forEach((place) => shown.add(place)));
      for (let count = upTo(4000), first = upTo(60_000); count > 0; count--) {
        const n = (first + count) % 60_000;
        if (n % 2) places.set(idOf(n), n);
        else if (places.delete(idOf(n)) !== undefined) remaining.delete(n);
      }
    } while (from !== undefined);
    expect([...remaining].filter((place) => !shown.has(place))).toEqual([]);
    expect(remaining.size).toBeGreaterThan(1000);
  });
});

/** Returns all locations in the order of visits. */
function visitAll(places: Pick<LocationMap, "visitSome">): number[] {
  const shown: number[] = [];
  let from: string | undefined;
  do from = places.visitSome(from, (some) => void shown.push(...some));
  while (from !== undefined);
  return shown;
}

test("a new record's revision is above deleted ones, also before a deletion is durable", async () => {
  const catalog = newCatalog([], () => undefined);
  const accepted = newAccepted({ version: () => undefined, list: () => [] }, catalog, []);
  const revision = async (): Promise<number | undefined> =>
    (await accepted.versions([{ collection: "things", id: "new" }]))[0]?.revision;
  expect(await revision()).toBeUndefined();
  catalog.delete("things", "gone", 4);
  expect(await revision()).toBe(4);
  accepted.add([{ collection: "things", id: "other", revision: 7, json: undefined }]);
  expect(await revision()).toBe(7);
  catalog.delete("things", "gone", 2);
  expect(catalog.floor("things")).toBe(4);
});

test("accepted writes have the latest version of a record until it is durable", async () => {
  const version = (revision: number, value: unknown): Version => ({
    collection: "things",
    id: "a",
    revision,
    json: json(value),
  });
  const accepted = newAccepted(
    { version: () => version(1, "durable"), list: () => [] },
    newCatalog([], () => undefined),
    [],
  );
  const value = async (): Promise<unknown> =>
    (await accepted.versions([{ collection: "things", id: "a" }]))[0]?.json?.value;
  const versions = [version(2, 2), version(3, 3)];
  for (const one of versions) accepted.add([one]);
  accepted.markDurable(versions[0]!);
  expect(await value()).toBe(3);
  accepted.markDurable(versions[1]!);
  expect(await value()).toBe("durable");
});

test("a location packs a file and an offset up to four gigabytes", () => {
  for (const [file, offset] of [
    [1, 0],
    [3, 2 ** 32 - 1],
    [2 ** 20, 123],
  ] as const) {
    const place = packLocation(file, offset);
    expect([locationFile(place), locationOffset(place)]).toEqual([file, offset]);
  }
});

describe("the cache of recently read records", () => {
  const version = (id: string, value: unknown = id): Version => ({
    collection: "c",
    id,
    revision: 1,
    json: json(value),
  });
  const listStored = (recent: RecentRecords, ids: readonly string[]) =>
    ids.filter((id) => recent.get({ collection: "c", id })).join("");
  const long = (id: string): Version => version(id, "x".repeat(1000));

  test("evicts the least recently used record first", () => {
    const recent = newRecentRecords(10_000);
    for (const id of "abcde") recent.add(long(id));
    expect(listStored(recent, ["a"])).toBe("a");
    for (const id of "fghi") recent.add(long(id));
    expect(listStored(recent, ["b", "c", "d", "e"])).toBe("");
    expect(listStored(recent, ["a", "f", "g", "h", "i"])).toBe("afghi");
    recent.add(version("a", "again"));
    expect(recent.get({ collection: "c", id: "a" })?.json?.value).toBe("again");
    recent.remove({ collection: "c", id: "a" });
    expect(listStored(recent, ["a"])).toBe("");
    expect(recent.get({ collection: "d", id: "e" })).toBeUndefined();
  });

  test("never returns an older version after a newer one", () => {
    const recent = newRecentRecords(2000);
    for (let round = 0; round < 50; round++) {
      const id = "abcdefg"[(round * 5) % 7]!;
      recent.add(version(id, round));
      expect(recent.get({ collection: "c", id })?.json?.value).toBe(round);
      if (round % 11 === 0) recent.add(version(id, "x".repeat(300)));
      if (round % 7 === 0) recent.remove({ collection: "c", id });
      if (round % 11 === 0 || round % 7 === 0) expect(listStored(recent, [id])).toBe("");
    }
  });

  test("has a limit of characters, also for short records, and stores no long text", () => {
    const count = (recent: RecentRecords, most: number) =>
      Array.from({ length: most }, (_, n) => recent.get({ collection: "c", id: `${n}` })).filter(Boolean).length;
    const recent = newRecentRecords(8000);
    recent.add(version("a", "x".repeat(1001)));
    expect(listStored(recent, ["a"])).toBe("");
    for (let n = 0; n < 1000; n++) recent.add(version(`${n}`));
    expect(count(recent, 1000)).toBeGreaterThan(20);
    expect(count(recent, 1000)).toBeLessThan(70);
    const none = newRecentRecords(0);
    none.add(version("a"));
    expect(listStored(none, ["a"])).toBe("");
  });
});
