/** Idempotency keys: stored responses, their replay, and their removal after 24 hours. */
import { expect, test } from "vitest";
import { forgetOldAnswers } from "../../../lib/changes/idempotency.ts";
import { runCycle } from "../../../lib/operations/cycle.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { PROPOSAL } from "../../support/client.ts";
import { DAY, HOUR, testClock } from "../../support/clock.ts";
import { restartDeps } from "../../support/deps.ts";
import { failingStore } from "../../support/failing_store.ts";
import { service, makeService } from "../../support/service.ts";

const KEY = { "idempotency-key": "k-1" };
const propose = (api: Awaited<ReturnType<typeof service>>, headers: HeadersInit = KEY) =>
  api.post("propose", PROPOSAL, headers);

test("a response is replayed after a restart, and by another instance", async () => {
  const api = await service();
  const first = await propose(api);
  const other = makeService(await restartDeps(api.deps));
  expect((await propose(other)).text).toBe(first.text);
  expect(await other.steps()).toHaveLength(1);
});

test("concurrent requests with one key to two instances write once", async () => {
  const api = await service();
  const other = makeService(await restartDeps(api.deps));
  const replies = await Promise.all(Array.from({ length: 20 }, (_, index) => propose(index % 2 ? api : other)));
  expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
  expect(await api.steps()).toHaveLength(1);
});

test("the same key with another token is another key", async () => {
  const api = await service({ adminToken: "old-token" });
  const first = await propose(api, { ...KEY, "x-svc-admin-token": "old-token" });
  const rotated = makeService(await restartDeps(api.deps, { adminToken: "new-token" }));
  const second = await propose(rotated, { ...KEY, "x-svc-admin-token": "new-token" });
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(second.body.change_id).not.toBe(first.body.change_id);
});

test("neither token nor key is stored in plain text", async () => {
  const api = await service({ adminToken: "old-token" });
  await propose(api, { "idempotency-key": "key-in-the-clear", "x-svc-admin-token": "old-token" });
  const stored = JSON.stringify(await api.deps.store.list("idempotency", { limit: 10 }));
  expect(stored).toContain("pending_consent");
  expect(stored).not.toMatch(/old-token|key-in-the-clear/);
});

test("a response is stored atomically with its write", async () => {
  const store = failingStore(memoryStore());
  const api = await service({ store });
  store.fail();
  expect((await propose(api)).status).toBe(503);
  store.recover();
  expect((await propose(api)).status).toBe(201);
  expect((await propose(api)).status).toBe(201);
  expect(await api.steps()).toHaveLength(1);
});

test("only expired responses are removed", async () => {
  const { deps, ...api } = await service();
  await api.post("propose", PROPOSAL, { "idempotency-key": "old" });
  deps.clock.advance(2 * DAY);
  await api.post("propose", PROPOSAL, { "idempotency-key": "new" });
  const forget = () => forgetOldAnswers(deps.store, deps.clock.now());
  expect(await forget()).toBe(1);
  expect(await forget()).toBe(0);
  expect((await api.post("propose", PROPOSAL, { "idempotency-key": "new" })).headers.get("idempotency-replayed")).toBe(
    "true",
  );
});

test("a cycle after midnight removes no response of the last 24 hours", async () => {
  const api = await service();
  const first = await propose(api);
  api.deps.clock.advance(DAY - HOUR);
  await runCycle(api.deps);
  expect((await propose(api)).text).toBe(first.text);
  api.deps.clock.advance(HOUR);
  await runCycle(api.deps);
  expect((await propose(api)).text).toBe(first.text);
  expect(await api.steps()).toHaveLength(1);
});

test("around midnight an instance with a late clock finds a response stored under the next day", async () => {
  const ahead = await service({ clock: testClock("2026-01-03T00:00:01.000Z") });
  const behind = makeService(await restartDeps(ahead.deps, { clock: testClock("2026-01-02T23:59:58.000Z") }));
  const first = await propose(ahead);
  expect((await propose(behind)).text).toBe(first.text);
  expect(await behind.steps()).toHaveLength(1);
});
