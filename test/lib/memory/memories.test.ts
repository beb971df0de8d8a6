import { expect, test } from "vitest";
import { MEMORIES, type Memory, remember } from "../../../lib/memory/memories.ts";
import { recall } from "../../../lib/memory/recall.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { ListOptions, Store } from "../../../lib/store/store.ts";
import { START, testClock } from "../../support/clock.ts";
import { gate } from "../../support/scripted_adapter.ts";
import { tornStore } from "../../support/torn_store.ts";
import { memoriesIn } from "../chat/fixture.ts";

const clock = testClock();
const add = (store: Store, text: string, over: Partial<Memory> = {}, replaces?: string) =>
  store.transact((tx) => remember(tx, { kind: "decision", text, at: START, ...over }, replaces));
const found = async (store: Store, query: string) => {
  const memories = await recall({ store, clock }, { query, limit: 10 });
  return memories.map(({ text }) => text);
};

/** Another process on the same records: it has an index of its own. */
const otherInstance = (store: Store): Store => ({ ...store });

test("a memory is found with everything it holds", async () => {
  const store = memoryStore();
  await add(store, "approved by ana: the legal team agreed", { ref: "chg_1" });
  expect(await recall({ store, clock }, { query: "legal", limit: 10 })).toEqual([
    {
      id: "mem_0000000000000001",
      kind: "decision",
      text: "approved by ana: the legal team agreed",
      at: START,
      score: expect.any(Number),
      ref: "chg_1",
    },
  ]);
});

test("what was remembered after the first search is found by the next, also by another instance's", async () => {
  const store = memoryStore();
  const other = otherInstance(store);
  await add(store, "first zebra");
  expect(await found(store, "zebra")).toEqual(["first zebra"]);
  expect(await found(other, "zebra")).toEqual(["first zebra"]);
  await add(other, "second zebra");
  expect(await found(store, "zebra")).toEqual(["second zebra", "first zebra"]);
});

test("a search that comes while another one reads finds what was durable when it came", async () => {
  const store = memoryStore();
  await add(store, "old zebra");
  const held = gate();
  let lists = 0;
  const slow: Store = {
    ...store,
    async list<T>(collection: string, options: ListOptions) {
      const page = await store.list(collection, options);
      if (++lists === 1) await held.opened;
      return page;
    },
  };
  const early = found(slow, "zebra");
  await add(store, "new okapi");
  const later = found(slow, "okapi");
  held.open();
  expect(await early).toEqual(["old zebra"]);
  expect(await later).toEqual(["new okapi"]);
});

test.each([0, 1, 2])("a deleted memory is not found, whoever deleted it: number %i of three", async (deleted) => {
  const store = memoryStore();
  const texts = ["zebra one", "zebra two", "zebra three"];
  const keys: string[] = [];
  for (const text of texts) keys.push(await add(store, text));
  expect(await found(store, "zebra")).toHaveLength(3);
  await otherInstance(store).transact((tx) => tx.delete("memories", keys[deleted]!));
  expect(await found(store, "zebra")).toEqual(texts.filter((_, i) => i !== deleted).reverse());
});

test("a page that shows a part of what is just being remembered leaves no memory out for good", async () => {
  const store = memoryStore();
  await add(store, "old zebra");
  const remembering = () =>
    store.transact(async (tx) => {
      for (const text of ["first zebra", "second zebra"]) await remember(tx, { kind: "decision", text, at: START });
    });
  const torn = tornStore(store, "memories", remembering);
  await found(torn, "zebra");
  expect(await found(torn, "zebra")).toEqual(["second zebra", "first zebra", "old zebra"]);
});

test("the newest memory may be gone while others are added to a full page", async () => {
  const store = memoryStore();
  const first = await add(store, "first zebra");
  const adding = async () => {
    await add(store, "replacing zebra", {}, first);
    for (let count = 0; count < 600; count++) await add(store, `zebra ${count}`);
  };
  const racing: Store = { ...store };
  let begun = false;
  racing.list = async (collection, options) => {
    if (!begun) await ((begun = true), adding());
    return store.list(collection, options);
  };
  await found(racing, "replacing");
  expect(await found(racing, "replacing")).toEqual(["replacing zebra"]);
});

test("one that replaces another leaves no gap in the bound", async () => {
  const store = memoryStore();
  const first = await add(store, "csat 4.1");
  await add(store, "csat 4.2", {}, first);
  await add(store, "csat 4.3", {}, "0000000000000099");
  expect((await memoriesIn(store)).map(({ text }) => text)).toEqual(["csat 4.2", "csat 4.3"]);
  expect((await store.get("meta", "memories"))?.value).toEqual({ seq: 3, count: 2 });
});

test("the oldest go first beyond the bound, and are found no more", async () => {
  const store = memoryStore();
  await store.transact(async (tx) => {
    for (let i = 0; i < MEMORIES; i++) await remember(tx, { kind: "chat", text: `note${i}`, at: START });
  });
  expect(await found(store, "note0")).toEqual(["note0"]);
  await add(store, "one more");
  expect(await found(store, "note0")).toEqual([]);
  expect(await found(store, "note1")).toEqual(["note1"]);
  expect(await store.list("memories", { limit: 100_000 })).toHaveLength(MEMORIES);
});

test("two hundred memories in Chinese and Japanese are each found by a word of theirs", async () => {
  const store = memoryStore();
  const places = [..."东西南北上中下前后左右里外新旧大小高低长"];
  const things = ["价格", "会员", "登录", "支付", "データ", "ログイン", "通知", "検索", "課金", "设置"];
  for (const place of places) for (const thing of things) await add(store, `批准了${place}区的${thing}变更`);
  let hits = 0;
  for (const place of places)
    for (const thing of things) {
      const [best] = await found(store, `${place}区的${thing}`);
      if (best === `批准了${place}区的${thing}变更`) hits++;
    }
  expect(hits).toBe(200);
});

test("a long text is kept by its beginning, and stays well-formed where it is cut", async () => {
  const store = memoryStore();
  await add(store, `${"a".repeat(1999)}😀 tail`);
  const [memory] = await memoriesIn(store);
  expect(memory!.text).toHaveLength(2000);
  expect(memory!.text.isWellFormed()).toBe(true);
});
