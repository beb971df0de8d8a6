/** Pages of the log: a filtered page reads at most 5,000 entries, however long the log is. */
import { beforeAll, expect, test } from "vitest";
import { readAuditPage } from "../../../lib/audit/page.ts";
import { writeJsonLines } from "../../../lib/audit/rows.ts";
import { joinChunks } from "../../support/join_chunks.ts";
import { createChain, entryKey, nextEntry } from "../../../lib/audit/chain.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { chainFault } from "../../support/independent_chain.ts";
import { writeRecords } from "../../support/write_records.ts";
import { countedIds } from "../../support/ids.ts";

const LENGTH = 10_020;
const store = memoryStore();

/** The first ten entries belong to tenant `first`, the last ten to `last`, all others to `other`. */
beforeAll(async () => {
  let head = await store.transact((tx) => createChain(tx, "p", { ids: countedIds(), sha256: portableSha256 }, 0));
  const entries = Array.from({ length: LENGTH }, (_, index) => {
    const tenant = index < 10 ? "first" : index >= LENGTH - 10 ? "last" : "other";
    const event = { event_type: "change_proposed" as const, tenant, detail: "" };
    const next = nextEntry(head, event, "2026-01-02T03:04:05.678Z", portableSha256);
    head = next.head;
    return next.entry;
  });
  await writeRecords(store, entries, (tx, entry) => tx.put("audit", entryKey(entry.id), entry));
  await store.transact((tx) => tx.put("meta", "chain", head));
});

async function readPages(query: { tenant?: string; after?: number; limit: number }): Promise<number[][]> {
  const pages: number[][] = [];
  let position: { after?: number; before?: number } = query.after === undefined ? {} : { after: query.after };
  for (;;) {
    const page = await readAuditPage({ store }, { ...query, ...position });
    pages.push(page.entries.value.map(({ id }) => id));
    if (page.next === null || pages.length > 30) return pages;
    position = query.after === undefined ? { before: page.next } : { after: page.next };
  }
}

test("a filter returns `next` after 5,000 entries without a match", async () => {
  const first = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
  expect(await readPages({ tenant: "first", limit: 100 })).toEqual([[], [], first]);
  expect(await readPages({ tenant: "first", limit: 100, after: 0 })).toEqual([first, [], []]);
  const last = first.map((id) => LENGTH - 10 + id);
  expect(await readPages({ tenant: "last", limit: 100 })).toEqual([last, [], []]);
  expect(await readPages({ tenant: "last", limit: 100, after: 0 })).toEqual([[], [], last]);
});

test("a filter with more than a page of matches continues where the page ended", async () => {
  const pages = await readPages({ tenant: "other", limit: 1000 });
  expect(pages.reverse().flat()).toEqual(Array.from({ length: LENGTH - 20 }, (_, index) => index + 11));
});

test("after and before together select a range in chain order", async () => {
  const readIds = async (query: object) => {
    const { entries, next } = await readAuditPage({ store }, { limit: 3, ...query });
    return [entries.value.map(({ id }) => id), next];
  };
  expect(await readIds({ after: 5, before: 11 })).toEqual([[6, 7, 8], 8]);
  expect(await readIds({ after: 8, before: 11 })).toEqual([[9, 10], null]);
  expect(await readIds({ after: 7, before: 11 })).toEqual([[8, 9, 10], null]);
  expect(await readIds({ after: 8, before: 8 })).toEqual([[], null]);
  expect(await readIds({ after: 8, before: 12, tenant: "first" })).toEqual([[9, 10], null]);
});

test("the export streams the complete chain page by page", async () => {
  const text = await joinChunks(writeJsonLines(store));
  const entries = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(entries).toHaveLength(LENGTH);
  expect(chainFault(entries)).toBeNull();
});

test("the export stops reading the store when its consumer stops", async () => {
  let reads = 0;
  const counting: typeof store = { ...store, texts: (...args) => (reads++, store.texts(...args)) };
  for await (const chunk of writeJsonLines(counting)) if (chunk !== "") break;
  expect(reads).toBeLessThan(5);
});
