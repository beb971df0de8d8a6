/** Memories are stored, found by other instances too, replaced, deleted, and limited in number. */
import { expect, test } from "vitest";
import { type Memory, MAX_MEMORIES, remember } from "../../../lib/projections/memory.ts";
import { sequenceKey } from "../../../lib/projections/buffer.ts";
import { recall } from "../../../lib/memory/recall.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import { writeInBatches } from "../../support/write_in_batches.ts";
import { DAY, START } from "../../support/clock.ts";
import { makeBarrier } from "../../support/scripted_adapter.ts";
import { tornStore } from "../../support/torn_store.ts";
import { chatService, readMemories } from "../chat/chat_service.ts";
import { projectAll, rebuild } from "../../../lib/projections/projector.ts";
import { projectionDeps } from "../projections/test_log.ts";

const makeMemory = (text: string, fields: Partial<Memory> = {}): Memory => ({
  kind: "insight",
  text,
  author: null,
  at: START,
  ref: null,
  ...fields,
});
const addMemory = (store: Store, text: string, fields: Partial<Memory> = {}) =>
  store.transact((tx) => remember(tx, makeMemory(text, fields)));
const findTexts = async (store: Store, query: string) => {
  const memories = await recall(projectionDeps(store), { query, limit: 10 });
  return memories.map(({ text }) => /unverified: “(.*)”$/.exec(text)?.[1] ?? text);
};

/** Returns the store of another process on the same records; each store object has its own search index. */
const otherInstance = (store: Store): Store => ({ ...store });

test("a memory is found with all its fields", async () => {
  const store = memoryStore();
  await addMemory(store, "approved by ana: the legal team agreed", { ref: "chg_1" });
  expect(await recall(projectionDeps(store), { query: "legal", limit: 10 })).toEqual([
    {
      id: "mem_0000000000000001",
      kind: "insight",
      basis: "said",
      author: null,
      text: "insight of somebody, unverified: “approved by ana: the legal team agreed”",
      at: START,
      score: expect.any(Number),
      ref: "chg_1",
    },
  ]);
});

test("the next search finds memories stored after the first one, also by another instance", async () => {
  const store = memoryStore();
  const other = otherInstance(store);
  await addMemory(store, "first zebra");
  expect(await findTexts(store, "zebra")).toEqual(["first zebra"]);
  expect(await findTexts(other, "zebra")).toEqual(["first zebra"]);
  await addMemory(other, "second zebra");
  expect(await findTexts(store, "zebra")).toEqual(["second zebra", "first zebra"]);
});

test("a search during another one finds everything that was durable at its start", async () => {
  const store = memoryStore();
  await addMemory(store, "old zebra");
  const barrier = makeBarrier();
  let lists = 0;
  const slow: Store = {
    ...store,
    async list(collection, options) {
      const page = await store.list(collection, options);
      if (++lists === 1) await barrier.opened;
      return page;
    },
  };
  const early = findTexts(slow, "zebra");
  await addMemory(store, "new okapi");
  const later = findTexts(slow, "okapi");
  barrier.open();
  expect(await early).toEqual(["old zebra"]);
  expect(await later).toEqual(["new okapi"]);
});

test.each([0, 1, 2])("of three memories the deleted one, at index %i, is not found", async (deleted) => {
  const store = memoryStore();
  const texts = ["zebra one", "zebra two", "zebra three"];
  for (const text of texts) await addMemory(store, text);
  expect(await findTexts(store, "zebra")).toHaveLength(3);
  await otherInstance(store).transact((tx) => tx.delete("memories", sequenceKey(deleted + 1)));
  expect(await findTexts(store, "zebra")).toEqual(texts.filter((_, i) => i !== deleted).reverse());
});

test("a page read during a commit does not permanently omit a memory", async () => {
  const store = memoryStore();
  await addMemory(store, "old zebra");
  const addTwo = () =>
    store.transact(async (tx) => {
      for (const text of ["first zebra", "second zebra"]) await remember(tx, makeMemory(text));
    });
  // The first page that is read lacks the first of the two memories, which are committed meanwhile.
  const torn = tornStore(store, "memories", addTwo);
  await findTexts(torn, "zebra");
  expect(await findTexts(torn, "zebra")).toEqual(["second zebra", "first zebra", "old zebra"]);
});

test("memories of entries are found, replaced ones are not, and a rebuild changes neither", async () => {
  const { deps, propose, post, search } = await chatService();
  await addMemory(deps.store, "a zebra of nobody's");
  const promise = { kpi: "csat", expected_delta_k: 0.1 };
  const { change_id } = await propose({ target: "zoo.zebra", proposer: "pat", ...promise });
  await post("kpi", { csat: 4 });
  await post("approve", { change_id, approver: "ana", note: "let it run" });
  await post("apply", { change_id });
  deps.clock.advance(6 * DAY);
  await post("kpi", { csat: 4.5, incident_rate: 0.1 });
  deps.clock.advance(2 * DAY);
  await post("rollback", { change_id, actor: "ana" });
  const texts = async () => {
    const answers = [await search("zebra"), await search("incident_rate")];
    return answers.flatMap(({ body }) => body.results.map(({ text }: { text: string }) => text));
  };
  const before = await texts();
  // E is the mean of csat, 0.8125 (0.5 at the first value 4, 1 at a target 20 % better), and incident_rate, 0.5 at its first value.
  expect([...before].sort()).toEqual(
    [
      "insight of somebody, unverified: “a zebra of nobody's”",
      "“Show the banner” (zoo.zebra for tenant t1): proposed by pat as a standard change; promised gain: csat +0.1",
      "“Show the banner” (zoo.zebra for tenant t1): approved by ana, 1 of 1 consent: “let it run”",
      "“Show the banner” (zoo.zebra for tenant t1): applied",
      "“Show the banner” (zoo.zebra for tenant t1): rolled back by ana",
      "“Show the banner” (zoo.zebra for tenant t1): met its promise, the final verdict; csat: expected to rise by 0.1, it rose by 0.5 (better), a KPI of the whole product.",
      "KPIs of 2026-01-08: csat 4.5, incident_rate 0.1; E 0.656",
    ].sort(),
  );
  await projectAll(deps);
  expect(await texts()).toEqual(before);
  await rebuild(deps);
  expect(await texts()).toEqual(before);
});

test.each([
  ["summary", "a zebra that the board approved"],
  ["rationale", null],
  ["kpi", {}],
  ["proposer", 5],
  ["created_at", "never"],
])(
  "memories of a change whose %s was edited in the store are not returned; those of other changes are",
  async (field, value) => {
    const { deps, propose, search } = await chatService();
    const ids = [await propose({ target: "zoo.zebra" }), await propose({ target: "zoo.lion" })].map(
      ({ change_id }) => change_id,
    );
    const findRefs = async (api = { search }) =>
      (await api.search("zoo")).body.results.map(({ ref }: { ref: string }) => ref).sort();
    expect(await findRefs()).toEqual([...ids].sort());
    await deps.store.transact(async (tx) => {
      const { value: record } = (await tx.get("changes", ids[0]!))!;
      tx.put("changes", ids[0]!, { ...record, change: { ...record.change, [field]: value } } as never);
    });
    expect(await findRefs()).toEqual([ids[1]]);
    expect(await findRefs(await chatService({ store: otherInstance(deps.store) }))).toEqual([ids[1]]);
  },
);

test("above the limit the oldest memories are removed and no longer found", async () => {
  const store = memoryStore();
  await writeInBatches(store, MAX_MEMORIES, (tx, i) => remember(tx, makeMemory(`note${i}`)));
  expect(await findTexts(store, "note0")).toEqual(["note0"]);
  await addMemory(store, "one more");
  expect(await findTexts(store, "note0")).toEqual([]);
  expect(await findTexts(store, "note1")).toEqual(["note1"]);
  expect(await store.list("memories", { limit: 100_000 })).toHaveLength(MAX_MEMORIES);
});

test("each of two hundred memories in Chinese and Japanese is found by one of its words", async () => {
  const store = memoryStore();
  const places = [..."东西南北上中下前后左右里外新旧大小高低长"];
  const things = ["价格", "会员", "登录", "支付", "データ", "ログイン", "通知", "検索", "課金", "设置"];
  for (const place of places) for (const thing of things) await addMemory(store, `批准了${place}区的${thing}变更`);
  let hits = 0;
  for (const place of places)
    for (const thing of things) {
      const [best] = await findTexts(store, `${place}区的${thing}`);
      if (best === `批准了${place}区的${thing}变更`) hits++;
    }
  expect(hits).toBe(200);
});

test("a long text is truncated to its beginning, and stays well-formed", async () => {
  const store = memoryStore();
  // The limit falls between the two UTF-16 units of the emoji.
  await addMemory(store, `${"a".repeat(1999)}😀 tail`);
  const [memory] = await readMemories(store);
  expect(memory!.text).toHaveLength(2000);
  expect(memory!.text.isWellFormed()).toBe(true);
});
