/** Two changes of one target: while an operation on one is under way, no operation on the other begins. */
import { expect, test } from "vitest";
import { events } from "../../../support/client.ts";
import { HOUR, SECOND, pass } from "../../../support/clock.ts";
import { core, makeCore, type Core } from "../../../support/core.ts";
import { restartDeps } from "../../../support/deps.ts";
import type { Manifest } from "../../../support/intents.ts";
import { fails, makeBarrier, hangs, type ScriptedAdapter, scriptedAdapter } from "../../../support/scripted_adapter.ts";

const BLOCK = { policy: { on_stale: "block" } };

/** Creates two approved changes of one target. */
async function coreWithTwoApproved(intent: Manifest = BLOCK) {
  const adapter = scriptedAdapter();
  const api = await core({ adapter, intent });
  const [first, second] = [await api.bring("approved"), await api.bring("approved")];
  return { adapter, api, first, second };
}

/** Creates two approved changes of one target, the first of which is being applied. */
async function startFirstApply(intent?: Manifest) {
  const setup = await coreWithTwoApproved(intent);
  const mayEnd = makeBarrier();
  setup.adapter.on("apply", () => mayEnd.opened, 1);
  const running = setup.api.act("apply", setup.first);
  while (!setup.adapter.calls.includes("apply")) await new Promise((resolve) => setImmediate(resolve));
  return { ...setup, running, finish: mayEnd.open };
}

/** Creates two approved changes; the apply of the first failed, and the target system does not report its state. */
async function coreWithUnknownResult(state: "applied" | "absent", intent?: Manifest) {
  const setup = await coreWithTwoApproved(intent);
  const { adapter, api, first } = setup;
  adapter.on("apply", () => {
    adapter.host.set(first, state);
    throw new Error("no answer within 10 s");
  });
  adapter.on("verify", fails("unreachable"));
  adapter.on("rollback", fails("unreachable"));
  expect(await api.act("apply", first)).toMatchObject({ status: 502, body: { host: "unknown" } });
  return setup;
}

const listLeaseKeys = (api: Core) => api.deps.store.list("leases", { limit: 9, keysOnly: true });
const operationInProgress = (change_id: string, other: string) => ({
  status: 409,
  body: { code: "operation_in_progress", change_id, conflicts: [other], error: expect.stringContaining(other) },
});
const countApplies = ({ calls }: ScriptedAdapter) => calls.filter((step) => step === "apply").length;

test.each(["in the same process", "in another process"])(
  "a second apply on a target is 409 while one is under way %s",
  async (process) => {
    const { adapter, api, first, second, running, finish } = await startFirstApply();
    const caller = process === "in the same process" ? api : makeCore(await restartDeps(api.deps, { intent: BLOCK }));
    expect(await caller.act("apply", second)).toMatchObject(operationInProgress(second, first));
    const { gates } = await caller.change(second);
    expect(gates).toContainEqual({
      gate: "operation",
      state: "block",
      message: `an operation on ${first}, which is on the same target, is under way`,
    });
    finish();
    expect((await running).status).toBe(200);
    expect(await listLeaseKeys(api)).toEqual([]);
    expect((await caller.act("apply", second)).body.code).toBe("target_moved");
    expect(countApplies(adapter)).toBe(1);
  },
);

test("of two concurrent applies on one target one succeeds, and the other is 409", async () => {
  const { api, first, second } = await coreWithTwoApproved();
  const codes = (await Promise.all([api.act("apply", first), api.act("apply", second)])).map(({ status }) => status);
  expect(codes.sort()).toEqual([200, 409]);
  expect(await listLeaseKeys(api)).toEqual([]);
});

test("an apply is 409 during a rollback on its target, and a rollback is 409 during an apply", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter, intent: BLOCK });
  const [first, second] = [await api.bring("applied"), await api.bring("approved")];
  const mayEnd = makeBarrier();
  adapter.on("rollback", () => mayEnd.opened, 1);
  const running = api.act("rollback", first);
  while (!adapter.calls.includes("rollback")) await new Promise((resolve) => setImmediate(resolve));
  expect(await api.act("apply", second)).toMatchObject(operationInProgress(second, first));
  mayEnd.open();
  expect((await running).status).toBe(200);
  expect((await api.act("apply", second)).body.code).toBe("target_moved");
  const third = await api.bring("applied");
  const fourth = await api.bring("approved");
  const mayEndApply = makeBarrier();
  adapter.on("apply", () => mayEndApply.opened, 1);
  const before = countApplies(adapter);
  const applying = api.act("apply", fourth);
  while (countApplies(adapter) === before) await new Promise((resolve) => setImmediate(resolve));
  expect(await api.act("rollback", third)).toMatchObject(operationInProgress(third, fourth));
  mayEndApply.open();
  expect([(await applying).status, (await api.act("rollback", third)).status]).toEqual([200, 200]);
});

test("an apply does not block other targets or tenants, dry runs or decisions", async () => {
  const { api, second, running, finish } = await startFirstApply();
  for (const fields of [{ target: "ui.other" }, { tenant_id: "t2" }])
    expect(await api.bring("applied", fields)).toMatch(/^chg_/);
  expect((await api.post("apply", { change_id: second, dry_run: 1 })).status).toBe(200);
  expect((await api.act("revoke", second)).status).toBe(200);
  finish();
  expect((await running).status).toBe(200);
});

test.each([
  ["was applied", "applied", [409, "target_moved"]],
  ["was not applied", "absent", [200, undefined]],
] as const)(
  "after a crash the next apply on the target resolves the interrupted one, which %s",
  async (_, hostState, reported) => {
    const { adapter, api, first, second } = await coreWithTwoApproved();
    adapter.on("apply", hangs, 1);
    void api.act("apply", first);
    while (!adapter.calls.includes("apply")) await new Promise((resolve) => setImmediate(resolve));
    const next = makeCore(await restartDeps(api.deps, { intent: BLOCK }));
    expect(await next.act("apply", second)).toMatchObject(operationInProgress(second, first));
    adapter.host.set(first, hostState);
    // The lease of the interrupted apply ends after 60 s.
    next.deps.clock.advance(60 * SECOND);
    const { status, body } = await next.act("apply", second);
    expect([status, body.code]).toEqual(reported);
    const expectedEvents = hostState === "applied" ? ["change_applied"] : ["change_apply_failed", "change_applied"];
    // Two proposals and two consents come first.
    expect(events(await next.steps()).slice(4)).toEqual(expectedEvents);
    expect(await listLeaseKeys(next)).toEqual([]);
  },
);

test("no change is applied over an unreported apply, until the target system answers", async () => {
  const { adapter, api, first, second } = await coreWithUnknownResult("applied");
  for (let count = 0; count < 2; count++)
    expect(await api.act("apply", second)).toMatchObject(operationInProgress(second, first));
  expect((await api.change(second)).gates).toContainEqual(
    expect.objectContaining({ gate: "operation", state: "block", message: expect.stringContaining("has not said") }),
  );
  adapter.removeScripts();
  expect((await api.act("apply", second)).body.code).toBe("target_moved");
  expect((await api.change(first)).status).toBe("applied");
  expect(await listLeaseKeys(api)).toEqual([]);
});

test.each([
  ["block", "approved", "rolled_back", { stage: "consent", late: true }],
  ["report", "applied", "applied", { late: true, target_moved: { now: null } }],
] as const)(
  "a late apply is checked again if the target was rolled back meanwhile: on_stale %s",
  async (on_stale, status, host, detail) => {
    const adapter = scriptedAdapter();
    const api = await core({ adapter, intent: { policy: { on_stale } } });
    const [first, second] = [await api.bring("applied"), await api.bring("approved")];
    adapter.on("apply", () => {
      adapter.host.set(second, "applied");
      throw new Error("no answer within 10 s");
    });
    adapter.on("verify", ({ change_id }) => {
      if (change_id === second) throw new Error("unreachable");
    });
    adapter.on("rollback", ({ change_id }) => {
      if (change_id === second) throw new Error("unreachable");
    });
    expect((await api.act("apply", second)).body.host).toBe("unknown");
    expect((await api.act("rollback", first)).status).toBe(200);
    adapter.removeScripts();
    await api.cycle();
    expect((await api.change(second)).status).toBe(status);
    expect(adapter.host.get(second)).toBe(host);
    expect(JSON.parse((await api.audit()).at(-1).detail)).toMatchObject(detail);
    expect(await listLeaseKeys(api)).toEqual([]);
  },
);

test("a consent that expired while the target system was silent does not count when it answers", async () => {
  const { adapter, api, first } = await coreWithUnknownResult("applied", { policy: { approval_ttl_hours: 1 } });
  await pass(api.deps, HOUR + 1);
  adapter.removeScripts();
  await api.cycle();
  expect(adapter.host.get(first)).toBe("rolled_back");
  expect((await api.change(first)).resolution).toBe("lapsed");
  await api.cycle();
  // The proposal and the consent come first.
  const reported = (await api.steps(`?change_id=${first}`)).slice(2);
  expect(events(reported)).toEqual(["change_apply_failed", "change_apply_failed", "consent_decision"]);
});

test("without an adapter an operation left by an earlier adapter is resolved first", async () => {
  const { api, first, second } = await coreWithUnknownResult("applied");
  const withoutAdapter = makeCore(await restartDeps(api.deps, { adapter: undefined }));
  expect((await withoutAdapter.act("apply", second)).status).toBe(200);
  expect((await withoutAdapter.change(first)).status).toBe("approved");
  expect(await listLeaseKeys(withoutAdapter)).toEqual([]);
});

test("revoke first resolves an operation that a crash interrupted", async () => {
  const { adapter, api, first, second } = await coreWithTwoApproved();
  for (const [change_id, hostState, reported] of [
    [first, "absent", 200],
    [second, "applied", 400],
  ] as const) {
    adapter.on("apply", hangs, 1);
    const before = countApplies(adapter);
    void api.act("apply", change_id);
    while (countApplies(adapter) === before) await new Promise((resolve) => setImmediate(resolve));
    const next = makeCore(await restartDeps(api.deps, { intent: BLOCK }));
    expect(await next.act("revoke", change_id)).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
    next.deps.clock.advance(60 * SECOND);
    adapter.host.set(change_id, hostState);
    const { status, body } = await next.act("revoke", change_id);
    expect(status).toBe(reported);
    if (reported === 400) expect(body).toMatchObject({ current_status: "applied", allowed: ["rollback"] });
    expect(await listLeaseKeys(next)).toEqual([]);
  }
});

test("an apply after its approval expired names the silent target system as the reason", async () => {
  const { adapter, api, first } = await coreWithUnknownResult("absent", { policy: { approval_ttl_hours: 1 } });
  adapter.on("verify", () => "unknown");
  api.deps.clock.advance(2 * HOUR);
  expect(await api.act("apply", first)).toMatchObject({
    status: 409,
    body: { code: "operation_in_progress", error: expect.stringContaining("the host product has not said") },
  });
});
