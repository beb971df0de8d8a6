/** Guardrails by KPI: an applied change is marked or rolled back when its KPI gets worse. */
import { expect, test } from "vitest";
import { rollBackTripped } from "../../../lib/changes/guardrail_rollback.ts";
import { events } from "../../support/client.ts";
import { DAY } from "../../support/clock.ts";
import { restartDeps } from "../../support/deps.ts";
import { fails, makeBarrier, scriptedAdapter } from "../../support/scripted_adapter.ts";
import { core, makeCore, type Core } from "../../support/core.ts";

type Action = "alert" | "rollback";

/** Opens a service with two guardrails: incident_rate should fall, csat should rise. */
const coreWithGuardrails = (action: Action, adapter = scriptedAdapter()) =>
  core({
    adapter,
    intent: {
      policy: {
        guardrails: [
          { kpi: "incident_rate", max_regression: 0.02, action },
          { kpi: "csat", max_regression: 0.5, action },
        ],
      },
    },
  });

const INCIDENT = { kpi: "incident_rate", expected_delta_k: 0.01 };

/** Opens a service with guardrails and one change, applied while incident_rate was 0.03. */
async function coreWithAppliedChange(action: Action = "rollback", adapter = scriptedAdapter()) {
  const api = await coreWithGuardrails(action, adapter);
  await api.post("kpi", { incident_rate: 0.03 });
  return { api, adapter, change_id: await api.bring("applied", INCIDENT) };
}

/** Lists the changes whose guardrails were tripped, from the entries of KPI feeds. */
const listTripped = async (api: Core): Promise<string[]> =>
  (await api.audit("?event_type=kpi_refreshed")).flatMap(({ detail }) =>
    (JSON.parse(detail).tripped ?? []).map(({ change_id }: { change_id: string }) => change_id),
  );

test("after a KPI feed beyond the limit the next cycle rolls back, and records the evidence", async () => {
  const { api, adapter, change_id } = await coreWithAppliedChange();
  const fed = await api.post("kpi", { incident_rate: 0.09 });
  expect(fed.status).toBe(200);
  expect((await api.change(change_id)).status).toBe("applied");
  expect((await api.cycle()).rolled_back).toBe(change_id);
  expect((await api.change(change_id)).status).toBe("rolled_back");
  expect(adapter.host.get(change_id)).toBe("rolled_back");
  const entry = (await api.audit()).at(-1);
  expect(entry.event_type).toBe("change_rolled_back");
  expect(JSON.parse(entry.detail)).toMatchObject({
    by: "policy:guardrail",
    evidence: { kpi: "incident_rate", baseline: 0.03, value: 0.09, regression: 0.06, max_regression: 0.02 },
  });
  expect((await api.cycle()).rolled_back).toBeNull();
});

test.each([
  ["incident_rate", 0.03, 0.05, false],
  ["incident_rate", 0.03, 0.0501, true],
  ["incident_rate", 0.03, 0.001, false],
  ["incident_rate", 0, 0.03, true],
  ["csat", 4, 3.5, false],
  ["csat", 4, 3.49, true],
  ["csat", 4, 9, false],
] as const)("%s from %f to %f: rolled back: %s", async (kpi, before, after, rolledBack) => {
  const api = await coreWithGuardrails("rollback");
  await api.post("kpi", { [kpi]: before });
  const change_id = await api.bring("applied", { kpi });
  await api.post("kpi", { [kpi]: after });
  expect((await api.cycle()).rolled_back).toBe(rolledBack ? change_id : null);
});

test("a guardrail with action alert marks the change and does not roll it back", async () => {
  const { api, change_id } = await coreWithAppliedChange("alert");
  await api.post("kpi", { incident_rate: 0.09 });
  expect((await api.cycle()).rolled_back).toBeNull();
  const { status, gates } = await api.change(change_id);
  expect(status).toBe("applied");
  expect(gates).toContainEqual(expect.objectContaining({ gate: "guardrail", state: "warn" }));
  expect(await listTripped(api)).toEqual([change_id]);
});

test("a change is marked once, however many feeds are beyond the limit", async () => {
  const { api, change_id } = await coreWithAppliedChange("alert");
  for (const value of [0.09, 0.1, 0.11]) await api.post("kpi", { incident_rate: value });
  expect(await listTripped(api)).toHaveLength(1);
  expect((await api.change(change_id)).gates.filter(({ gate }: { gate: string }) => gate === "guardrail")).toHaveLength(
    1,
  );
});

test.each([
  ["another KPI is fed", { csat: 1 }],
  ["the KPI has not worsened", { incident_rate: 0.03 }],
])("nothing happens when %s", async (_, fed) => {
  const { api } = await coreWithAppliedChange();
  await api.post("kpi", fed);
  expect((await api.cycle()).rolled_back).toBeNull();
});

test("only the newest applied change that names the KPI is rolled back", async () => {
  const { api, change_id: older } = await coreWithAppliedChange();
  const newer = await api.bring("applied", { ...INCIDENT, target: "ui.newer" });
  const other = await api.bring("applied", { kpi: "csat", target: "ui.other" });
  await api.post("kpi", { incident_rate: 0.09 });
  expect((await api.cycle()).rolled_back).toBe(newer);
  expect((await api.cycle()).rolled_back).toBeNull();
  expect([(await api.change(older)).status, (await api.change(other)).status]).toEqual(["applied", "applied"]);
});

test("after a rollback the guardrail watches the change applied before", async () => {
  const { api, change_id: older } = await coreWithAppliedChange();
  const newer = await api.bring("applied", { ...INCIDENT, target: "ui.newer" });
  await api.must("rollback", newer);
  await api.post("kpi", { incident_rate: 0.09 });
  expect((await api.cycle()).rolled_back).toBe(older);
});

test("a change is compared with the KPI at its own apply", async () => {
  const { api } = await coreWithAppliedChange();
  await api.post("kpi", { incident_rate: 0.045 });
  const newer = await api.bring("applied", { ...INCIDENT, target: "ui.newer" });
  await api.post("kpi", { incident_rate: 0.06 });
  expect((await api.cycle()).rolled_back).toBeNull();
  await api.post("kpi", { incident_rate: 0.07 });
  expect((await api.cycle()).rolled_back).toBe(newer);
});

test("25 rolled back changes are skipped to find the newest applied change", async () => {
  const { api, change_id } = await coreWithAppliedChange();
  for (let index = 0; index < 25; index++)
    await api.must("rollback", await api.bring("applied", { ...INCIDENT, target: `ui.x${index}` }));
  await api.post("kpi", { incident_rate: 0.09 });
  expect((await api.cycle()).rolled_back).toBe(change_id);
});

test.each([
  [DAY, true],
  [DAY + 1, false],
])("a feed %i ms after the apply: rolled back: %s", async (delayMs, rolledBack) => {
  const { api, change_id } = await coreWithAppliedChange();
  api.deps.clock.advance(delayMs);
  await api.post("kpi", { incident_rate: 0.09 });
  expect((await api.cycle()).rolled_back).toBe(rolledBack ? change_id : null);
});

test.each([
  ["cannot be undone", { ...INCIDENT, reversible: false }],
  ["names no KPI", {}],
  ["names another KPI", { kpi: "csat" }],
])("a change that %s is not rolled back", async (_, fields) => {
  const api = await coreWithGuardrails("rollback");
  await api.post("kpi", { incident_rate: 0.03 });
  await api.bring("applied", fields);
  await api.post("kpi", { incident_rate: 0.09 });
  expect((await api.cycle()).rolled_back).toBeNull();
});

test("a cycle rolls back at most one change", async () => {
  const { api, change_id: first } = await coreWithAppliedChange();
  await api.post("kpi", { csat: 4 });
  const second = await api.bring("applied", { kpi: "csat", target: "ui.other" });
  await api.post("kpi", { incident_rate: 0.09, csat: 1 });
  const rolledBack = [(await api.cycle()).rolled_back, (await api.cycle()).rolled_back];
  expect(rolledBack.sort()).toEqual([first, second].sort());
  expect((await api.cycle()).rolled_back).toBeNull();
});

test("a change that a person rolled back before the cycle is not rolled back again", async () => {
  const { api, change_id } = await coreWithAppliedChange();
  await api.post("kpi", { incident_rate: 0.09 });
  await api.must("rollback", change_id);
  expect((await api.cycle()).rolled_back).toBeNull();
  expect(events(await api.audit()).filter((event) => event.startsWith("change_roll"))).toEqual(["change_rolled_back"]);
});

test("a failing rollback is attempted five times in all, and audited once", async () => {
  const adapter = scriptedAdapter();
  const { api, change_id } = await coreWithAppliedChange("rollback", adapter);
  await api.post("kpi", { incident_rate: 0.09 });
  adapter.on("rollback", fails("unreachable"));
  for (let cycle = 0; cycle < 7; cycle++) expect((await api.cycle()).rolled_back).toBeNull();
  const failed = (await api.audit()).filter(({ event_type }) => event_type === "change_rollback_failed");
  expect([failed.length, adapter.calls.filter((step) => step === "rollback").length]).toEqual([1, 5]);
  expect(JSON.parse(failed[0].detail)).toMatchObject({ by: "policy:guardrail", evidence: { value: 0.09 } });
  expect((await api.change(change_id)).status).toBe("applied");
});

test("a rollback that fails once succeeds in the next cycle", async () => {
  const adapter = scriptedAdapter();
  const { api, change_id } = await coreWithAppliedChange("rollback", adapter);
  await api.post("kpi", { incident_rate: 0.09 });
  adapter.on("rollback", fails("unreachable"), 1);
  expect((await api.cycle()).rolled_back).toBeNull();
  expect((await api.cycle()).rolled_back).toBe(change_id);
});

test("a rollback running in another process is not counted as a failed attempt", async () => {
  const { api, adapter, change_id } = await coreWithAppliedChange();
  await api.post("kpi", { incident_rate: 0.09 });
  const other = makeCore(await restartDeps(api.deps));
  const [rollbackBegan, mayEnd] = [makeBarrier(), makeBarrier()];
  adapter.on("rollback", () => (rollbackBegan.open(), mayEnd.opened), 1);
  const running = api.cycle();
  await rollbackBegan.opened;
  // More cycles than the five attempts after which a guardrail gives up.
  for (let cycle = 0; cycle < 6; cycle++) expect((await other.cycle()).rolled_back).toBeNull();
  mayEnd.open();
  expect((await running).rolled_back).toBe(change_id);
  expect((await other.cycle()).rolled_back).toBeNull();
  expect(await listTripped(api)).toEqual([change_id]);
  expect(await api.deps.store.list("guardrail_due", { limit: 1 })).toEqual([]);
});

test("the guardrail does not give up a change that a person is rolling back", async () => {
  const { api, adapter, change_id } = await coreWithAppliedChange();
  await api.post("kpi", { incident_rate: 0.09 });
  const [rollbackBegan, mayEnd] = [makeBarrier(), makeBarrier()];
  adapter.on("rollback", () => (rollbackBegan.open(), mayEnd.opened), 1);
  const personRollback = api.act("rollback", change_id);
  await rollbackBegan.opened;
  const guardrailRollback = rollBackTripped(api.deps);
  // Gives the guardrail time for its first read before the person's rollback ends.
  await api.deps.store.list("guardrail_due", { limit: 1 });
  mayEnd.open();
  expect((await personRollback).status).toBe(200);
  expect(await guardrailRollback).toEqual({ rolled_back: null, given_up: null });
  expect(await listTripped(api)).toEqual([change_id]);
});
