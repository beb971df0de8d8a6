/** Operations whose result an unreachable target system does not report: the change is blocked until the system answers. */
import { expect, test } from "vitest";
import type { HostState } from "../../../../lib/changes/operations/adapter_port.ts";
import type { Action } from "../../../support/client.ts";
import { makeCore, core, type Core } from "../../../support/core.ts";
import { restartDeps } from "../../../support/deps.ts";
import { makeIntent } from "../../../support/intents.ts";
import { fails, type ScriptedAdapter, scriptedAdapter } from "../../../support/scripted_adapter.ts";

/** Runs an operation that times out on a host, which is left in `state` and cannot be reached from then on. */
async function coreWithUnknownResult(operation: "apply" | "rollback", state: HostState) {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring(operation === "apply" ? "approved" : "applied");
  adapter.on(operation, () => {
    adapter.host.set(change_id, state);
    throw new Error("no answer within 10 s");
  });
  adapter.on("verify", fails("unreachable"));
  const failed = await api.act(operation, change_id);
  expect(failed).toMatchObject({ status: 502, body: { code: "adapter_failed", host: "unknown" } });
  // After a failed apply the service calls the rollback, which changed the state.
  adapter.host.set(change_id, state);
  return { adapter, api, change_id };
}

const makeHostAnswer = (adapter: ScriptedAdapter): void => {
  adapter.removeScripts();
  adapter.calls.length = 0;
};
const readNewestDetail = async (api: Core) => JSON.parse((await api.audit()).at(-1).detail);

test.each(["apply", "rollback"] as const)(
  "while the target system is silent, %s is 409 and nothing is written",
  async (operation) => {
    const { adapter, api, change_id } = await coreWithUnknownResult(operation, "applied");
    const reported = await api.audit();
    for (let cycle = 0; cycle < 3; cycle++) expect((await api.cycle()).recovered).toBe(0);
    expect(await api.act(operation, change_id)).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
    expect(adapter.calls.filter((step) => step === operation)).toHaveLength(1);
    expect(await api.audit()).toEqual(reported);
    expect((await api.change(change_id)).gates).toContainEqual(
      expect.objectContaining({ gate: "operation", state: "block", message: expect.stringContaining("has not said") }),
    );
  },
);

test.each([
  ["apply", "applied", "applied", "change_applied"],
  ["apply", "absent", "approved", "change_apply_failed"],
  ["rollback", "rolled_back", "rolled_back", "change_rolled_back"],
  ["rollback", "applied", "applied", "change_rollback_failed"],
] as const)(
  "if the target system answers after %s that the change is %s there, its status is %s",
  async (operation, host, status, event) => {
    const { adapter, api, change_id } = await coreWithUnknownResult(operation, host);
    makeHostAnswer(adapter);
    expect((await api.cycle()).recovered).toBe(1);
    expect(adapter.calls).toContain("verify");
    expect(adapter.calls).not.toContain(operation);
    expect((await api.change(change_id)).status).toBe(status);
    expect((await api.audit()).at(-1).event_type).toBe(event);
    expect(await readNewestDetail(api)).toMatchObject({ late: true });
    expect(await api.deps.store.list("leases", { limit: 1 })).toEqual([]);
    const next = { applied: "rollback", approved: "apply", rolled_back: undefined }[status];
    if (next) expect((await api.act(next as Action, change_id)).status).toBe(200);
  },
);

test("a request to apply reads the target system first, and does not repeat an apply", async () => {
  const { adapter, api, change_id } = await coreWithUnknownResult("apply", "applied");
  makeHostAnswer(adapter);
  expect((await api.act("apply", change_id)).body.code).toBe("illegal_transition");
  expect((await api.change(change_id)).status).toBe("applied");
  expect(adapter.calls).toEqual(["verify"]);
});

test("an apply may be requested again if the target system answers that the state is unknown", async () => {
  const { adapter, api, change_id } = await coreWithUnknownResult("apply", "unknown");
  makeHostAnswer(adapter);
  expect((await api.cycle()).recovered).toBe(0);
  expect((await api.act("apply", change_id)).status).toBe(200);
  expect((await api.change(change_id)).status).toBe("applied");
});

test("an operation that two processes resolve concurrently is recorded once", async () => {
  const { adapter, api, change_id } = await coreWithUnknownResult("apply", "applied");
  const second = makeCore(await restartDeps(api.deps));
  makeHostAnswer(adapter);
  const cycles = await Promise.all([api.cycle(), second.cycle()]);
  expect(cycles.map(({ recovered }) => recovered).sort()).toEqual([0, 1]);
  expect((await second.change(change_id)).status).toBe("applied");
});

test("a late apply is rolled back on the target system if its consent is no longer valid", async () => {
  const { adapter, api, change_id } = await coreWithUnknownResult("apply", "applied");
  makeHostAnswer(adapter);
  const product = { ...api.deps.product!, ...makeIntent({ update_epoch: 4, policy: { approvers: ["bo"] } }) };
  const later = makeCore({ ...api.deps, product });
  // The rollback of the late apply fails in two cycles, and succeeds in the third.
  adapter.on("rollback", fails("refused"), 2);
  const reported = (await later.audit()).length;
  for (let cycle = 0; cycle < 2; cycle++) expect((await later.cycle()).recovered).toBe(0);
  expect((await later.audit()).length).toBe(reported);
  expect((await later.cycle()).recovered).toBe(1);
  expect(adapter.host.get(change_id)).toBe("rolled_back");
  expect((await later.change(change_id)).status).toBe("approved");
  expect(await readNewestDetail(later)).toMatchObject({ stage: "consent", host: "rolled_back", late: true });
});

test("a change that the adapter rejects leaves no lease although the target system is silent", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("approved");
  adapter.on("validate", () => ({ ok: false, reason: "no" }));
  adapter.on("verify", fails("unreachable"));
  expect((await api.act("apply", change_id)).status).toBe(400);
  expect(await api.deps.store.list("leases", { limit: 1 })).toEqual([]);
});

test("a repeated apply with the same idempotency key is answered before the system answers", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("approved");
  const apply = () => api.post("apply", { change_id }, { "idempotency-key": "k-1" });
  const { text } = await apply();
  adapter.on("rollback", fails("no answer within 10 s"));
  adapter.on("verify", fails("unreachable"));
  expect(await api.act("rollback", change_id)).toMatchObject({ status: 502, body: { host: "unknown" } });
  expect(await apply()).toMatchObject({ status: 200, text });
});

test("a request resolves all operations that were left on other changes of its target", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const unresolved = [await api.bring("approved"), await api.bring("approved")];
  const third = await api.bring("approved");
  adapter.on("apply", fails("no answer within 10 s"));
  adapter.on("verify", fails("unreachable"));
  // The lease of the first change prevents a second apply, so the test stores the second lease itself.
  await api.act("apply", unresolved[0]!);
  const { value } = (await api.deps.store.list("leases", { limit: 1 }))[0]!;
  const leaseKey = value.place.replace(unresolved[0]!, unresolved[1]!);
  await api.deps.store.transact((tx) =>
    tx.put("leases", leaseKey, { ...value, change_id: unresolved[1]!, place: leaseKey }),
  );
  adapter.removeScripts();
  expect((await api.act("apply", third)).status).toBe(200);
  expect(await api.deps.store.list("leases", { limit: 1 })).toEqual([]);
});
