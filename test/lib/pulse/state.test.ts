import { expect, test } from "vitest";
import { stateSchema } from "../../../lib/pulse/state.ts";
import type { Store } from "../../../lib/store/store.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { pulse } from "./pulse_service.ts";

test("a new service has no data: null where something would have to be known, 0 where nothing is open", async () => {
  const { get } = await pulse();
  const { body } = await get("/api/state");
  expect(stateSchema.parse(body)).toEqual(body);
  expect(body).toMatchObject({ tick: 0, E: null, M: null, R: null, N: 0, goals: [], provenance: { chat: null } });
});

test("without an intent the state is answered all the same", async () => {
  const { get, post, cycle } = await pulse({ intent: null });
  await post("/api/tasks", { title: "t" });
  await cycle();
  const { status, body } = await get("/api/state");
  expect(status).toBe(200);
  expect(body).toMatchObject({ tick: 1, E: null, M: null, R: null, tasks: { completed: 1 } });
});

test("the latest reply's provenance is shown as the chat left it", async () => {
  const { deps, get } = await pulse();
  const chat = { injected: true, reply_id: "r1", memory_ids: ["mem_1"], mode: "rules" as const, at: deps.clock.iso() };
  await deps.store.transact((tx) => tx.put("meta", "chat_provenance", chat));
  expect((await get("/api/state")).body.provenance).toEqual({ chat });
});

test("what a read looks at does not grow with the number of changes", async () => {
  const looked: string[] = [];
  const counting = (store: Store): Store => ({
    ...store,
    get: (collection, id) => {
      looked.push(collection);
      return store.get(collection, id);
    },
    getMany: (collection, ids) => {
      looked.push(...ids.map(() => collection));
      return store.getMany(collection, ids);
    },
    list: async (collection, options) => {
      const page = await store.list(collection, options);
      looked.push(...page.map(() => collection));
      return page;
    },
    texts: async (collection, which) => {
      const page = await store.texts(collection, which);
      looked.push(...page.map(() => collection));
      return page;
    },
  });
  const service = await pulse({ store: counting(memoryStore()) });
  const records = async (path: string): Promise<number> => {
    looked.length = 0;
    await service.get(path);
    return looked.length;
  };
  const paths = ["/api/state", "/api/log", "/api/capabilities", "/api/metrics", "/api/l1l5_trend"];
  const few: number[] = [];
  await service.bring("rolled_back");
  await service.cycle();
  for (const path of paths) few.push(await records(path));
  await Promise.all(Array.from({ length: 300 }, () => service.propose()));
  for (let made = 0; made < 30; made++) await service.bring("applied");
  // What is overdue is looked at, a thousand items at most.
  service.hours(23);
  await service.cycle();
  for (const [index, path] of paths.entries()) expect(await records(path), path).toBeLessThanOrEqual(few[index]! + 12);
});
