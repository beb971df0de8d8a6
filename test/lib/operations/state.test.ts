/** `GET /api/state`: its content, and the number of records that it and other views read. */
import { expect, test } from "vitest";
import { projectAll } from "../../../lib/projections/projector.ts";
import { formatBusinessMetrics } from "../../../lib/operations/business_metrics.ts";
import type { OperationsDeps } from "../../../lib/operations/deps.ts";
import { stateSchema, readState } from "../../../lib/operations/state.ts";
import type { Reads, Store } from "../../../lib/store/store.ts";
import { createTestLog } from "../projections/test_log.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { openOperations } from "./operations_service.ts";

/** Wraps a store and records the collection of each record that is read, also in transactions. */
function countReads(store: Store): { store: Store; readCollections: string[] } {
  const readCollections: string[] = [];
  const countIn = <R extends Reads>(reads: R): R => ({
    ...reads,
    get: (collection, id) => {
      readCollections.push(collection);
      return reads.get(collection, id);
    },
    getMany: (collection, ids) => {
      readCollections.push(...ids.map(() => collection));
      return reads.getMany(collection, ids);
    },
    list: async (collection, options) => {
      const page = await reads.list(collection, options);
      readCollections.push(...page.map(() => collection));
      return page;
    },
    texts: async (collection, which) => {
      const page = await reads.texts(collection, which);
      readCollections.push(...page.map(() => collection));
      return page;
    },
  });
  return {
    store: { ...countIn(store), transact: (decide) => store.transact((tx) => decide(countIn(tx))) },
    readCollections,
  };
}

test("a new service has no data: null for unknown values, 0 for open work", async () => {
  const { get } = await openOperations();
  const { body } = await get("/api/state");
  const { product, failing, ...state } = body;
  expect([product, failing]).toEqual([{ product_id: "acme-crm", version: "2026.11" }, []]);
  expect(stateSchema.parse(state)).toEqual(state);
  expect(body).toMatchObject({ tick: 0, E: null, M: null, R: null, N: 0, goals: [], provenance: { chat: null } });
});

test("the state is returned without an intent", async () => {
  const { get, post, cycle } = await openOperations({ intent: null });
  await post("/api/tasks", { title: "t" });
  await cycle();
  const { status, body } = await get("/api/state");
  expect(status).toBe(200);
  expect(body).toMatchObject({ tick: 1, E: null, M: null, R: null, tasks: { completed: 1 } });
});

test("the provenance of the latest chat reply is shown", async () => {
  const { deps, get } = await openOperations();
  const chat = { injected: true, reply_id: "r1", memory_ids: ["mem_1"], mode: "rules" as const, at: deps.clock.iso() };
  await deps.store.transact((tx) => tx.put("meta", "chat_provenance", chat));
  expect((await get("/api/state")).body.provenance).toEqual({ chat });
});

test("the number of records that a read examines does not grow with the number of changes", async () => {
  const { store, readCollections } = countReads(memoryStore());
  const service = await openOperations({ store });
  const records = async (path: string): Promise<number> => {
    readCollections.length = 0;
    await service.get(path);
    return readCollections.length;
  };
  const paths = ["/api/state", "/api/log", "/api/capabilities", "/api/metrics", "/api/l1l5_trend"];
  const readsWithFew: number[] = [];
  await service.bring("rolled_back");
  await service.cycle();
  for (const path of paths) readsWithFew.push(await records(path));
  await Promise.all(Array.from({ length: 300 }, () => service.propose()));
  for (let count = 0; count < 30; count++) await service.bring("applied");
  // One hour less than a change may wait: overdue changes would be counted one by one, up to a thousand.
  service.passHours(23);
  await service.cycle();
  // A few more reads are caused by full buffers.
  for (const [index, path] of paths.entries())
    expect(await records(path), path).toBeLessThanOrEqual(readsWithFew[index]! + 12);
});

test("state, metrics and the projection of a feed read no more with more open outcomes", async () => {
  const { store, readCollections } = countReads(memoryStore());
  const log = await createTestLog(store);
  const deps = log as unknown as OperationsDeps;
  let applied = 0;
  const readsAt = async (count: number) => {
    for (; applied < count; applied++) await log.applied({ target: `ui.t${applied}`, kpi: `kpi${applied % 3}` });
    await projectAll(log);
    await log.feed({ kpi0: 4 });
    const reads: number[] = [];
    // First with a feed that is not stored yet, then with one that is.
    const state = () => readState(deps);
    const metrics = () => formatBusinessMetrics(deps);
    for (const run of [state, metrics, () => projectAll(log), state, metrics]) {
      readCollections.length = 0;
      await run();
      reads.push(readCollections.length);
    }
    expect((await store.list("outcomes_due", { limit: 10_000, keysOnly: true })).length).toBe(count);
    return reads;
  };
  const readsWithFew = await readsAt(100);
  const readsWithMany = await readsAt(2000);
  // Full buffers cause a few more reads.
  for (const [index, count] of readsWithMany.entries())
    expect(count, String(index)).toBeLessThanOrEqual(readsWithFew[index]! + 5);
});
