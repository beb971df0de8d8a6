/** What time alone closes: outcomes after 30 days, consent that nobody gave. */
import { expect, test } from "vitest";
import { runCycle } from "../../../lib/pulse/cycle.ts";
import { DAY, HOUR } from "../../support/clock.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { failingStore } from "../../support/failing_store.ts";
import { events } from "../../support/client.ts";
import { service } from "../../support/service.ts";

/** An applied change that met its expectation. */
async function met() {
  const api = await service();
  await api.post("kpi", { csat: 4 });
  const change_id = await api.bring("applied", { kpi: "csat", expected_delta_k: 0.5 });
  await api.post("kpi", { csat: 5 });
  const outcome = async () => (await api.change(change_id)).outcome;
  return { api, change_id, outcome };
}

test("an outcome is open for 30 days; the cycle after them makes it final", async () => {
  const { api, outcome } = await met();
  api.deps.clock.advance(30 * DAY);
  expect((await runCycle(api.deps)).outcomes_closed).toBe(0);
  expect(await outcome()).toMatchObject({ state: "open" });
  api.deps.clock.advance(1);
  expect((await runCycle(api.deps)).outcomes_closed).toBe(1);
  expect(await outcome()).toMatchObject({ state: "final", closed_by: "time", verdict: "met", current: 5 });
  await api.post("kpi", { csat: 1 });
  expect(await outcome()).toMatchObject({ state: "final", verdict: "met", current: 5 });
  expect((await runCycle(api.deps)).outcomes_closed).toBe(0);
});

test("a rollback after the close does not change what was final", async () => {
  const { api, change_id, outcome } = await met();
  api.deps.clock.advance(31 * DAY);
  await runCycle(api.deps);
  await api.must("rollback", change_id);
  expect(await outcome()).toMatchObject({ state: "final", closed_by: "time" });
});

test("a read after 30 days shows the outcome final, before any cycle", async () => {
  const { api, outcome } = await met();
  api.deps.clock.advance(31 * DAY);
  expect(await outcome()).toMatchObject({ state: "final", closed_by: "time", verdict: "met" });
  expect((await api.get("outcomes")).body.outcomes[0]).toMatchObject({ state: "final" });
});

test("a feed after 30 days does not count, whether a cycle came first or not", async () => {
  const { api, outcome } = await met();
  api.deps.clock.advance(31 * DAY);
  await api.post("kpi", { csat: 1 });
  await runCycle(api.deps);
  expect(await outcome()).toMatchObject({ state: "final", verdict: "met", current: 5 });
});

test("the cycle denies what waited too long, and nothing else", async () => {
  const api = await service({ intent: { policy: { consent_ttl_hours: 72 } } });
  const old = await api.bring("pending_consent");
  const approved = await api.bring("approved", { target: "ui.b" });
  api.deps.clock.advance(40 * HOUR);
  const young = await api.bring("pending_consent", { target: "ui.c" });
  api.deps.clock.advance(33 * HOUR);
  expect((await runCycle(api.deps)).expired).toBe(1);
  const statuses = await Promise.all([old, approved, young].map(async (id) => (await api.change(id)).status));
  expect(statuses).toEqual(["denied", "approved", "pending_consent"]);
  const entry = (await api.audit()).at(-1);
  expect(entry).toMatchObject({ event_type: "consent_decision", change_id: old });
  expect(JSON.parse(entry.detail)).toMatchObject({ decision: "expired", approver: "policy:expiry" });
});

test("two processes that expire the same change audit it once", async () => {
  const api = await service({ intent: { policy: { consent_ttl_hours: 1 } } });
  const change_id = await api.bring("pending_consent");
  api.deps.clock.advance(2 * HOUR);
  await Promise.all([runCycle(api.deps), api.act("approve", change_id), api.change(change_id), api.get("approvals")]);
  expect(events(await api.audit())).toEqual(["change_proposed", "consent_decision"]);
});

test("a read of an overdue change is answered also while the store cannot write", async () => {
  const store = failingStore(memoryStore());
  const api = await service({ store, intent: { policy: { consent_ttl_hours: 1 } } });
  const change_id = await api.bring("pending_consent");
  api.deps.clock.advance(2 * HOUR);
  store.fail();
  for (const path of [`changes/${change_id}`, "approvals", "runtime"])
    expect((await api.get(path)).status, path).toBe(200);
  store.mend();
  expect((await api.change(change_id)).status).toBe("denied");
});
