/** Drift checks: comparing the applied changes with their target systems. */
import { expect, test } from "vitest";
import { checkDrift, checkDueDrift, findNextDriftCheck } from "../../../lib/changes/check_drift.ts";
import type { DriftCheck } from "../../../lib/changes/drift.ts";
import { observeTargets } from "../../../lib/changes/target_readings.ts";
import { systemClock } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import { memoryTarget } from "../../support/memory_target.ts";
import { MINUTE, SECOND } from "../../support/clock.ts";
import { fails, makeBarrier, scriptedAdapter } from "../../support/scripted_adapter.ts";
import { core } from "../../support/core.ts";

/** Opens a service with one applied change, and functions to check for drift and to read its entries. */
async function coreWithAppliedChange() {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("applied");
  const runCheck = async () => {
    api.deps.clock.advance(SECOND);
    await api.cycle();
    return (await api.get("drift")).body;
  };
  const driftEntries = async () => (await api.audit()).filter(({ event_type }) => event_type === "change_drifted");
  return { adapter, api, change_id, runCheck, driftEntries };
}

test("before the first check all results are null", async () => {
  const { api } = await coreWithAppliedChange();
  expect((await api.get("drift")).body).toEqual({
    result: null,
    in_sync: null,
    checked_at: null,
    oldest_verified_at: null,
    drifted: [],
    missing: [],
  });
});

test("an applied change that its adapter verifies as applied is in sync", async () => {
  const { api, runCheck, driftEntries } = await coreWithAppliedChange();
  expect(await runCheck()).toMatchObject({ result: "in_sync", in_sync: true, checked_at: api.deps.clock.iso() });
  expect(await driftEntries()).toEqual([]);
});

test.each([
  [{ value: 8 }, "drifted", "unknown"],
  [null, "missing", "absent"],
])("a target whose adapter reports applied while its value is %j is %s", async (found, result, host) => {
  let current: { value: unknown } | null = { value: 9 };
  const adapter = { ...scriptedAdapter(), held: async () => current };
  const api = await core({ adapter });
  const change_id = await api.bring("applied", { value: "9" });
  const runCheck = async () => {
    api.deps.clock.advance(SECOND);
    await api.cycle();
    return (await api.get("drift")).body;
  };
  expect(await runCheck()).toMatchObject({ result: "in_sync" });
  current = found;
  expect(await runCheck()).toMatchObject({ result, [result]: [{ change_id, host }] });
  // An apply fails in the same case: the adapter reports applied, and the target does not hold the value 1.
  const second = await api.bring("approved", { target: "ui.other", value: "1" });
  const { status, body } = await api.post("apply", { change_id: second });
  expect([status, body.code]).toEqual([502, "adapter_failed"]);
});

test.each([
  ["unknown", "drifted"],
  ["rolled_back", "drifted"],
  ["absent", "missing"],
] as const)("a change that its adapter reports as %s is %s, audited once per episode", async (host, result) => {
  const { adapter, api, change_id, runCheck, driftEntries } = await coreWithAppliedChange();
  adapter.host.set(change_id, host);
  const report = await runCheck();
  const since = api.deps.clock.iso();
  expect(report).toMatchObject({ result, in_sync: false });
  expect(report[result]).toEqual([{ change_id, target: "ui.banner", tenant_id: "t1", state: result, host, since }]);
  expect((await runCheck())[result]).toEqual(report[result]);
  const [entry, ...more] = await driftEntries();
  expect(more).toEqual([]);
  expect(entry).toMatchObject({ change_id, tenant: "t1" });
  expect(JSON.parse(entry.detail)).toMatchObject({ state: result, host });
  expect((await api.change(change_id)).status).toBe("applied");
});

test("recovery ends an episode, and the next episode is audited again", async () => {
  const { adapter, change_id, runCheck, driftEntries } = await coreWithAppliedChange();
  for (const [host, result, audited] of [
    ["absent", "missing", 1],
    ["applied", "in_sync", 1],
    ["absent", "missing", 2],
  ] as const) {
    adapter.host.set(change_id, host);
    expect((await runCheck()).result).toBe(result);
    expect(await driftEntries()).toHaveLength(audited);
  }
});

test("a drifted change that then goes missing stays in the same episode", async () => {
  const { adapter, change_id, runCheck, driftEntries } = await coreWithAppliedChange();
  adapter.host.set(change_id, "unknown");
  const { drifted: before } = await runCheck();
  adapter.host.set(change_id, "absent");
  const after = await runCheck();
  expect(after).toMatchObject({ result: "missing", drifted: [], missing: [{ since: before[0].since }] });
  expect(await driftEntries()).toHaveLength(1);
});

test("only the newest applied change of a target is checked", async () => {
  const { adapter, api, change_id: older, runCheck } = await coreWithAppliedChange();
  // Targets are compared without case.
  const newer = await api.bring("applied", { target: "UI.Banner" });
  const otherTenant = await api.bring("applied", { tenant_id: "t2" });
  adapter.host.set(older, "absent");
  expect((await runCheck()).result).toBe("in_sync");
  adapter.host.set(otherTenant, "absent");
  expect((await runCheck()).missing).toMatchObject([{ change_id: otherTenant }]);
  adapter.host.set(otherTenant, "applied");
  await api.must("rollback", newer);
  expect((await runCheck()).missing).toMatchObject([{ change_id: older }]);
});

test("a rolled back change is no longer reported as missing", async () => {
  const { adapter, api, change_id, runCheck } = await coreWithAppliedChange();
  adapter.host.set(change_id, "absent");
  await runCheck();
  await api.must("rollback", change_id);
  expect(await runCheck()).toMatchObject({ result: "in_sync", missing: [] });
});

test("a change that is being rolled back is not reported as drifted", async () => {
  const { adapter, api, change_id, driftEntries } = await coreWithAppliedChange();
  const otherProcess = await core({ store: api.deps.store, adapter, clock: api.deps.clock });
  const mayEnd = makeBarrier();
  adapter.on("rollback", ({ change_id: id }) => (adapter.host.set(id, "unknown"), mayEnd.opened), 1);
  const running = api.act("rollback", change_id);
  while (!adapter.calls.includes("rollback")) await new Promise((resolve) => setImmediate(resolve));
  await checkDrift(otherProcess.deps);
  expect(await driftEntries()).toEqual([]);
  mayEnd.open();
  await running;
});

test("targets are verified in rounds, most recent first, for five seconds per cycle", async () => {
  const target = memoryTarget();
  const adapter = targetAdapter(target.system, { store: memoryStore(), clock: systemClock });
  const api = await core({ adapter });
  const ids: string[] = [];
  for (let index = 0; index < 20; index++) ids.push(await api.bring("applied", { target: `ui.x${index}`, value: "1" }));
  await observeTargets(api.deps, await api.change(ids[3]!), true);
  const verified: string[] = [];
  const { verify } = adapter;
  adapter.verify = async (change, signal) => {
    verified.push(change.change_id);
    api.deps.clock.advance(SECOND);
    return verify(change, signal);
  };
  // Eight targets are verified concurrently, so one batch of eight uses up the five seconds.
  const checks: (DriftCheck | undefined)[] = [];
  const began = api.deps.clock.iso();
  for (let cycle = 0; cycle < 4; cycle++) {
    checks.push(await checkDueDrift(api.deps));
    expect((await api.get("drift")).body.oldest_verified_at).toBe(cycle < 3 ? null : began);
  }
  expect(checks.map((check) => check?.checked)).toEqual([8, 8, 8, 4]);
  const newest = [...ids].reverse();
  // Every apply has read its target, so the first batch is in the order of reads: the target observed last comes first. The batch
  // interrupts the round, which then verifies all 20 in the order of applies.
  expect(verified).toEqual([ids[3], ...newest.slice(0, 7), ...newest]);
  // The round is complete: the next begins ten minutes after its start.
  api.deps.clock.advance(Date.parse(began) + 10 * MINUTE - 1 - api.deps.clock.now());
  await checkDueDrift(api.deps);
  expect(verified).toHaveLength(28);
  expect(await findNextDriftCheck(api.deps)).toBe(Date.parse(began) + 10 * MINUTE);
  api.deps.clock.advance(1);
  await checkDueDrift(api.deps);
  expect(verified).toHaveLength(36);
});

test("a target that cannot be read leaves oldest_verified_at unchanged", async () => {
  const { adapter, api } = await coreWithAppliedChange();
  await api.cycle();
  const first = api.deps.clock.iso();
  const oldest = async () => (await api.get("drift")).body.oldest_verified_at;
  expect(await oldest()).toBe(first);
  api.deps.clock.advance(SECOND);
  adapter.on("verify", fails("connection refused"), 1);
  await api.cycle();
  expect(await oldest()).toBe(first);
  api.deps.clock.advance(SECOND);
  await api.cycle();
  expect(await oldest()).toBe(api.deps.clock.iso());
});

test("a failed verification neither begins nor ends an episode", async () => {
  const { adapter, change_id, runCheck, driftEntries } = await coreWithAppliedChange();
  adapter.on("verify", fails("connection refused"), 1);
  // The target may have any value, so it is not said to be in sync.
  expect(await runCheck()).toMatchObject({ result: null, in_sync: null, drifted: [], missing: [] });
  adapter.host.set(change_id, "absent");
  expect(await runCheck()).toMatchObject({ result: "missing" });
  adapter.on("verify", fails("connection refused"), 1);
  expect(await runCheck()).toMatchObject({ result: "missing" });
  expect(await driftEntries()).toHaveLength(1);
});

test("drift that two processes find concurrently is audited once", async () => {
  const { adapter, api, change_id, driftEntries } = await coreWithAppliedChange();
  const otherProcess = await core({ store: api.deps.store, adapter, clock: api.deps.clock });
  adapter.host.set(change_id, "absent");
  const [bothVerify, mayAnswer] = [makeBarrier(), makeBarrier()];
  let verifications = 0;
  adapter.on("verify", () => {
    if (++verifications === 2) bothVerify.open();
    return mayAnswer.opened;
  });
  const checks = [checkDrift(api.deps), checkDrift(otherProcess.deps)];
  await bothVerify.opened;
  mayAnswer.open();
  await Promise.all(checks);
  expect(await driftEntries()).toHaveLength(1);
});

test("a state read during another process's rollback is not reported as drift", async () => {
  const { adapter, api, change_id, driftEntries } = await coreWithAppliedChange();
  const otherProcess = await core({ store: api.deps.store, adapter, clock: api.deps.clock });
  const [verifyBegan, mayAnswer, rollbackBegan, mayEnd] = [makeBarrier(), makeBarrier(), makeBarrier(), makeBarrier()];
  adapter.on("verify", () => (verifyBegan.open(), mayAnswer.opened.then(() => "unknown")), 1);
  adapter.on("rollback", () => (rollbackBegan.open(), mayEnd.opened), 1);
  const check = checkDrift(otherProcess.deps);
  await verifyBegan.opened;
  const running = api.act("rollback", change_id);
  await rollbackBegan.opened;
  mayAnswer.open();
  await check;
  expect(await driftEntries()).toEqual([]);
  mayEnd.open();
  expect((await running).status).toBe(200);
  expect((await api.get("drift")).body.drifted).toEqual([]);
});
