/** The cache of a process for records and pages that it read or wrote since the last commit of another process. */
import { expect, test } from "vitest";
import { createReadCache, type Page } from "../../../../lib/store/engine/read_cache.ts";
import type { Version } from "../../../../lib/store/engine/view.ts";
import { json } from "../../../../lib/store/json.ts";
import type { ListOptions } from "../../../../lib/store/store.ts";
import { sortedMap } from "../../../../lib/store/engine/sorted_map.ts";
import { seededIntegers } from "../../../support/seeded_integers.ts";

/** Creates the version of a record; without `json` if the record is deleted. */
const version = (id: string, revision: number, live: boolean): Version => ({
  collection: "things",
  id,
  revision,
  json: live ? json(revision) : undefined,
});

test("a page that stays cached equals the store's page after any writes of this process", () => {
  const nextInteger = seededIntegers(7);
  const random = (): number => nextInteger(1000) / 1000;
  const randomLetter = (): string => "abcdefgh"[Math.floor(random() * 8)]!;
  const randomId = (): string => randomLetter() + randomLetter();
  let cachedPages = 0;
  for (let round = 0; round < 300; round++) {
    const records = sortedMap<Version>();
    const cache = createReadCache();
    cache.reset("0");
    for (let count = 0; count < 12; count++) {
      const newId = randomId();
      records.set(newId, version(newId, 1, true));
    }
    const options: ListOptions<boolean> = {
      limit: Math.floor(random() * 6),
      ...(random() < 0.5 && { reverse: true }),
      ...(random() < 0.5 && { after: randomId() }),
      ...(random() < 0.5 && { prefix: randomLetter() }),
      ...(random() < 0.3 && { keysOnly: true }),
    };
    const page: Page = { collection: "things", options };
    const readRows = () => records.page(options).map(([, record]) => (options.keysOnly ? { id: record.id } : record));
    cache.addPage(page, readRows());
    for (let commit = 1; commit <= 6; commit++) {
      const written = version(randomId(), commit + 1, random() < 0.6);
      if (written.json) records.set(written.id, written);
      else records.delete(written.id);
      cache.advance(String(commit), [written]);
      const rows = cache.rows(page);
      if (rows) expect(rows).toEqual(readRows());
      if (rows) cachedPages++;
    }
  }
  expect(cachedPages).toBeGreaterThan(1000);
});

test("a written record is cached without the version before it", () => {
  const cache = createReadCache();
  cache.reset("0");
  let before: Version | undefined;
  for (let revision = 1; revision <= 3; revision++) {
    const write = { ...version("a", revision, true), before };
    cache.advance(String(revision), [write]);
    before = cache.version(write)!.found;
  }
  expect(before).toEqual(version("a", 3, true));
  expect(before).not.toHaveProperty("before");
});

test("cached pages are removed when their texts are too large in sum", () => {
  const cache = createReadCache();
  const page: Page = { collection: "things", options: { limit: 10 } };
  const rows = [{ ...version("a", 1, true), json: json("x".repeat(1_000_000)) }];
  cache.reset("0");
  cache.addPage(page, rows);
  cache.trim();
  expect(cache.rows(page)).toBe(rows);
  // With these 16 pages the cache has 17 million characters; 16 million are allowed.
  for (let limit = 11; limit < 27; limit++) cache.addPage({ ...page, options: { limit } }, rows);
  cache.trim();
  expect(cache.rows(page)).toBeUndefined();
});

test("a head from another process empties the cache", () => {
  const cache = createReadCache();
  cache.reset("1");
  cache.add({ collection: "things", id: "a" }, version("a", 1, true));
  cache.add({ collection: "things", id: "b" }, undefined);
  expect(cache.version({ collection: "things", id: "b" })).toEqual({ found: undefined });
  cache.reset("2");
  expect(cache.version({ collection: "things", id: "a" })).toBeUndefined();
  expect(cache.head).toBe("2");
});
