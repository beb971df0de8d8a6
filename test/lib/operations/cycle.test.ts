/** The cycle: its tick, and cycles without due work, without an intent or with a broken chain. */
import { expect, test } from "vitest";
import { runCycle } from "../../../lib/operations/cycle.ts";
import { DAY } from "../../support/clock.ts";
import { openDeps } from "../../support/deps.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { service } from "../../support/service.ts";

test("each cycle raises tick by one, also concurrent ones", async () => {
  const api = await service();
  const reports = await Promise.all([runCycle(api.deps), runCycle(api.deps), runCycle(api.deps)]);
  expect(reports.map(({ tick }) => tick)).toEqual([1, 2, 3]);
  expect((await api.get("/api/state")).body.tick).toBe(3);
});

test("a cycle runs without an intent", async () => {
  const deps = await openDeps({ intent: null });
  expect((await runCycle(deps)).tick).toBe(1);
});

test("a cycle without due work applies nothing and writes no entry", async () => {
  const adapter = scriptedAdapter();
  const api = await service({ adapter });
  await api.bring("approved");
  await api.bring("pending_consent");
  const entries = await api.audit();
  await runCycle(api.deps);
  expect(adapter.calls).toEqual([]);
  expect(await api.audit()).toEqual(entries);
});

test("with a broken chain, a cycle only raises the tick", async () => {
  const api = await service({ intent: { policy: { consent_ttl_hours: 1 } } });
  await api.bring("pending_consent");
  api.deps.integrity.breach = { first_invalid: 1, reason: "test" };
  api.deps.clock.advance(DAY);
  expect(await runCycle(api.deps)).toMatchObject({ tick: 1, expired: 0 });
});

test("a cycle removes expired idempotent responses", async () => {
  const api = await service();
  await api.post("kpi", { csat: 1 }, { "idempotency-key": "k" });
  api.deps.clock.advance(3 * DAY);
  await runCycle(api.deps);
  expect(await api.deps.store.list("idempotency", { limit: 10 })).toEqual([]);
});

test("a feed requests a cycle without waiting for it; a rejected feed does not", async () => {
  let wakeCount = 0;
  const api = await service({ wake: () => void wakeCount++ });
  await api.post("kpi", { csat: "x" });
  expect(wakeCount).toBe(0);
  await api.post("kpi", { csat: 4 });
  expect(wakeCount).toBe(1);
  expect((await api.get("/api/state")).body.tick).toBe(0);
});
