/** The small parts whose edges no whole store reaches in a test's time. */
import { describe, expect, test } from "vitest";
import { sequenceId } from "../../../lib/store/collections.ts";
import type { Version } from "../../../lib/store/engine/view.ts";
import { json } from "../../../lib/store/json.ts";
import { fileOf, offsetOf, placeOf, sequence } from "../../../local/store/catalog.ts";
import { newAccepted } from "../../../local/store/records.ts";
import { tombstones } from "../../../local/store/tombstones.ts";

describe("a sequence of places", () => {
  const filled = (count: number) => {
    const places = sequence();
    for (let n = 1; n <= count; n++) places.set(sequenceId(n), n * 10);
    return places;
  };

  test("gives every place back, far beyond its first allocation", () => {
    const places = filled(5000);
    expect(places.size).toBe(5000);
    for (const n of [1, 1024, 1025, 1536, 5000]) expect(places.get(sequenceId(n))).toBe(n * 10);
    for (const id of [sequenceId(0), sequenceId(5001), "1", "", "x", " 000000000000001", "1e3"])
      expect(places.get(id), id).toBeUndefined();
  });

  test("takes the next id or one it has, and no other", () => {
    const places = filled(3);
    places.set(sequenceId(2), 99);
    expect(places.get(sequenceId(2))).toBe(99);
    expect(places.size).toBe(3);
    for (const id of [sequenceId(5), "4", "x"]) expect(() => places.set(id, 1), id).toThrow(/does not follow/);
    expect(() => places.delete(sequenceId(3))).toThrow(/nothing is deleted/);
  });

  test("pages from any text, both ways", () => {
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

describe("tombstones", () => {
  test("keep the last revision of each of many, and of no other", () => {
    const dead = tombstones();
    for (let n = 0; n < 20_000; n++) dead.raise(`pending_consent/chg_${n}`, (n % 7) + 1);
    expect(dead.size).toBe(20_000);
    for (let n = 0; n < 20_000; n++) expect(dead.get(`pending_consent/chg_${n}`)).toBe((n % 7) + 1);
    for (let n = 20_000; n < 40_000; n++) expect(dead.get(`pending_consent/chg_${n}`)).toBe(0);
  });

  test("only rise", () => {
    const dead = tombstones();
    dead.raise("a", 5);
    dead.raise("a", 3);
    expect(dead.get("a")).toBe(5);
    dead.raise("a", 6);
    expect(dead.get("a")).toBe(6);
    expect(dead.size).toBe(1);
  });

  test("whose hashes meet count the higher revision for both, never a lower one", () => {
    const dead = tombstones(() => 42);
    dead.raise("a", 5);
    dead.raise("b", 2);
    expect([dead.get("a"), dead.get("b")]).toEqual([5, 5]);
  });

  test("whose slots meet are told apart", () => {
    const dead = tombstones((id) => Number(id) * 2 ** 20 + 1);
    for (let n = 1; n <= 200; n++) dead.raise(String(n), n);
    for (let n = 1; n <= 200; n++) expect(dead.get(String(n))).toBe(n);
    expect(dead.get("201")).toBe(0);
  });
});

test("what is accepted shows the latest version of a record until that one is durable, not an earlier one", () => {
  const version = (revision: number, value: unknown): Version => ({
    collection: "things",
    id: "a",
    revision,
    json: json(value),
  });
  const accepted = newAccepted({ version: () => version(1, "durable"), list: () => [] }, []);
  const value = (): unknown => accepted.versions([{ collection: "things", id: "a" }])[0]?.json?.value;
  const versions = [version(2, 2), version(3, 3)];
  for (const one of versions) accepted.add([one]);
  accepted.settle([versions[0]!]);
  expect(value()).toBe(3);
  accepted.settle([versions[1]!]);
  expect(value()).toBe("durable");
});

test("a place names a file and an offset up to four gigabytes", () => {
  for (const [file, offset] of [
    [1, 0],
    [3, 2 ** 32 - 1],
    [2 ** 20, 123],
  ] as const) {
    const place = placeOf(file, offset);
    expect([fileOf(place), offsetOf(place)]).toEqual([file, offset]);
  }
});
