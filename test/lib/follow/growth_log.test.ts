import { expect, test } from "vitest";
import { addGrowth, GROWTH_ROWS, growthPage } from "../../../lib/follow/growth_log.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { pulse } from "../pulse/pulse_service.ts";

const row = (number: number, kind = "a") => ({
  at: "2026-01-02T00:00:00.000Z",
  kind,
  title: `row ${number}`,
  detail: "",
});

test.each([
  ["all", undefined, 23],
  ["one kind", "even", 12],
])("pages over %s visit each row once, newest first", async (_, kind, count) => {
  const store = memoryStore();
  for (let number = 0; number < 23; number++)
    await store.transact((tx) => addGrowth(tx, row(number, number % 2 === 0 ? "even" : "odd")));
  const seen: number[] = [];
  for (let before: number | undefined; ;) {
    const page = await growthPage(store, { limit: 5, before, kind });
    seen.push(...page.entries.map(({ seq }) => seq));
    if (page.next === null) break;
    before = page.next;
  }
  expect(seen).toEqual([...seen].sort((a, b) => b - a));
  expect(new Set(seen).size).toBe(count);
});

test("a kind is not taken for another, be it one that begins like it or one that sorts before it", async () => {
  const store = memoryStore();
  for (const kind of ["drift", "task", "task_failed"]) await store.transact((tx) => addGrowth(tx, row(1, kind)));
  expect((await growthPage(store, { limit: 5, kind: "task" })).entries.map(({ kind }) => kind)).toEqual(["task"]);
});

test("10,000 rows are kept, and nothing of those before", async () => {
  const store = memoryStore();
  for (let number = 0; number < GROWTH_ROWS + 50;)
    await store.transact(async (tx) => {
      for (const end = number + 50; number < end; number++) await addGrowth(tx, row(number));
    });
  expect(await store.list("growth", { limit: 20_000 })).toHaveLength(GROWTH_ROWS);
  expect(await store.list("growth_kinds", { limit: 20_000 })).toHaveLength(GROWTH_ROWS);
  const { entries, next } = await growthPage(store, { limit: 1, before: 52 });
  expect(entries).toMatchObject([{ seq: 51 }]);
  expect(next).toBeNull();
});

test("a row names the cycle it was written in and the record it is about", async () => {
  const service = await pulse();
  await service.cycle();
  const id = await service.bring("rolled_back");
  const { entries } = (await service.get("/api/log?kind=rolled_back")).body;
  expect(entries).toMatchObject([{ tick: 1, ref: id, title: `${id} was rolled back` }]);
});
