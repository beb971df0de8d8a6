/** Tests the accepted writes that are not durable yet, and the cache of recently read records. */
import { describe, expect, test } from "vitest";
import type { Version } from "../../../lib/store/engine/view.ts";
import { json } from "../../../lib/store/json.ts";
import { newCatalog } from "../../../local/store/catalog.ts";
import { newRecentRecords, type RecentRecords } from "../../../local/store/recent_records.ts";
import { newAccepted } from "../../../local/store/records.ts";

test("an absent record has the highest revision of deleted ones, durable or not", async () => {
  const catalog = newCatalog([], () => undefined);
  const accepted = newAccepted({ version: () => undefined, list: () => [] }, catalog, []);
  const revision = async (): Promise<number | undefined> =>
    (await accepted.versions([{ collection: "things", id: "new" }]))[0]?.revision;
  expect(await revision()).toBeUndefined();
  catalog.delete("things", "gone", 4);
  expect(await revision()).toBe(4);
  accepted.add([{ collection: "things", id: "other", revision: 7, json: undefined }]);
  expect(await revision()).toBe(7);
  // A lower revision does not lower the floor.
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
  for (const added of versions) accepted.add([added]);
  accepted.markDurable(versions[0]!);
  expect(await value()).toBe(3);
  accepted.markDurable(versions[1]!);
  expect(await value()).toBe("durable");
});

describe("the cache of recently read records", () => {
  const version = (id: string, value: unknown = id): Version => ({
    collection: "c",
    id,
    revision: 1,
    json: json(value),
  });
  const joinCachedIds = (recent: RecentRecords, ids: readonly string[]) =>
    ids.filter((id) => recent.get({ collection: "c", id })).join("");
  const longVersion = (id: string): Version => version(id, "x".repeat(1000));

  test("evicts the least recently used record first", () => {
    // The fifth record of 1000 characters fills a generation, which has half of the limit; a second full generation drops the first.
    const recent = newRecentRecords(10_000);
    for (const id of "abcde") recent.add(longVersion(id));
    expect(joinCachedIds(recent, ["a"])).toBe("a");
    for (const id of "fghi") recent.add(longVersion(id));
    expect(joinCachedIds(recent, ["b", "c", "d", "e"])).toBe("");
    expect(joinCachedIds(recent, ["a", "f", "g", "h", "i"])).toBe("afghi");
    recent.add(version("a", "again"));
    expect(recent.get({ collection: "c", id: "a" })?.json?.value).toBe("again");
    recent.remove({ collection: "c", id: "a" });
    expect(joinCachedIds(recent, ["a"])).toBe("");
    expect(recent.get({ collection: "d", id: "e" })).toBeUndefined();
  });

  test("never returns an older version after a newer one", () => {
    const recent = newRecentRecords(2000);
    for (let round = 0; round < 50; round++) {
      const id = "abcdefg"[(round * 5) % 7]!;
      recent.add(version(id, round));
      expect(recent.get({ collection: "c", id })?.json?.value).toBe(round);
      // A text above an eighth of the limit is not cached, and removes the older version.
      if (round % 11 === 0) recent.add(version(id, "x".repeat(300)));
      if (round % 7 === 0) recent.remove({ collection: "c", id });
      if (round % 11 === 0 || round % 7 === 0) expect(joinCachedIds(recent, [id])).toBe("");
    }
  });

  test("has a limit of characters, also for short records, and stores no long text", () => {
    const countCached = (recent: RecentRecords, ids: number) =>
      Array.from({ length: ids }, (_, n) => recent.get({ collection: "c", id: `${n}` })).filter(Boolean).length;
    // One record may take an eighth of the limit, and a short one counts at least 128 characters.
    const recent = newRecentRecords(8000);
    recent.add(version("a", "x".repeat(1001)));
    expect(joinCachedIds(recent, ["a"])).toBe("");
    for (let n = 0; n < 1000; n++) recent.add(version(`${n}`));
    expect(countCached(recent, 1000)).toBeGreaterThan(20);
    expect(countCached(recent, 1000)).toBeLessThan(70);
    const disabled = newRecentRecords(0);
    disabled.add(version("a"));
    expect(joinCachedIds(disabled, ["a"])).toBe("");
  });
});
