/** A drifted target is restored by an ordinary change that supersedes the drifted one; applying it ends the drift episode. */
import { expect, test } from "vitest";
import { checkDrift } from "../../../lib/changes/check_drift.ts";
import { contentDigest } from "../../../lib/changes/rules/content.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { PROPOSAL } from "../../support/client.ts";
import { core } from "../../support/core.ts";
import { fails, makeBarrier, scriptedAdapter } from "../../support/scripted_adapter.ts";

const VALUE = { value: "25" };

/**
 * Opens a service whose target has a value other than the applied change set. `held` of the adapter reads that value; `host` has its
 * answers to `verify`.
 */
async function coreWithDriftedTarget(policy: object = {}) {
  const adapter = scriptedAdapter();
  let current: { value: unknown } | null | undefined;
  adapter.held = async () => current;
  adapter.on("apply", ({ value }) => void (current = { value }));
  const api = await core({ adapter, intent: { policy } });
  const change_id = await api.bring("applied", VALUE);
  adapter.host.set(change_id, "unknown");
  current = { value: 80 };
  await api.cycle();
  const episodes = async () => (await api.get("drift")).body.drifted;
  const setCurrent = (value: typeof current) => void (current = value);
  return { api, adapter, change_id, episodes, setCurrent };
}

test("an episode shows the digest of the target's current value, and writes one entry only", async () => {
  const { api, adapter, change_id, episodes, setCurrent } = await coreWithDriftedTarget();
  expect(await episodes()).toMatchObject([{ change_id, held_digest: portableSha256("80") }]);
  setCurrent({ value: { b: 1, a: 2 } });
  await api.cycle();
  expect(await episodes()).toMatchObject([{ held_digest: portableSha256('{"a":2,"b":1}') }]);
  setCurrent(null);
  await api.cycle();
  expect(await episodes()).toMatchObject([{ held_digest: null }]);
  for (const unreadable of [fails("no"), () => Promise.resolve(undefined), async () => ({ value: undefined })]) {
    adapter.held = unreadable as NonNullable<typeof adapter.held>;
    await api.cycle();
    expect((await episodes())[0]).not.toHaveProperty("held_digest");
  }
  expect((await api.audit()).filter(({ event_type }) => event_type === "change_drifted")).toHaveLength(1);
});

test("a dry run shows the target's current value if the adapter can read it", async () => {
  const { api, adapter, change_id, setCurrent } = await coreWithDriftedTarget();
  const dryRun = async () => (await api.post("rollback", { change_id, dry_run: true })).body.adapter;
  expect(await dryRun()).toMatchObject({ host: "unknown", holds: { value: 80 } });
  setCurrent(null);
  expect(await dryRun()).toMatchObject({ holds: null });
  adapter.held = fails("refused") as NonNullable<typeof adapter.held>;
  expect(await dryRun()).not.toHaveProperty("holds");
  delete adapter.held;
  expect(await dryRun()).not.toHaveProperty("holds");
});

test("an approved superseding change restores the value despite on_conflict and on_stale: block", async () => {
  const { api, adapter, change_id, episodes } = await coreWithDriftedTarget({
    on_conflict: "block",
    on_stale: "block",
  });
  const restoring = await api.propose({ ...VALUE, supersedes: change_id });
  expect(restoring).toMatchObject({ status: "pending_consent", supersedes: change_id });
  expect(await api.act("apply", restoring.change_id)).toMatchObject({
    status: 400,
    body: { code: "illegal_transition" },
  });
  expect(adapter.calls.filter((step) => step === "apply")).toHaveLength(1);
  await api.must("approve", restoring.change_id);
  expect(await episodes()).toHaveLength(1);
  await api.must("apply", restoring.change_id);
  expect(await episodes()).toEqual([]);
  await api.cycle();
  expect((await api.get("drift")).body).toMatchObject({ in_sync: true, drifted: [], missing: [] });
  expect((await api.change(change_id)).status).toBe("applied");
});

test("a check that began before a superseding apply reports no drift", async () => {
  const { api, adapter, change_id, episodes } = await coreWithDriftedTarget();
  // Ends the episode.
  adapter.host.set(change_id, "applied");
  await api.cycle();
  const [verifyBegan, mayAnswer] = [makeBarrier(), makeBarrier()];
  adapter.on("verify", async ({ change_id: id }) =>
    id === change_id ? (verifyBegan.open(), await mayAnswer.opened, "unknown") : undefined,
  );
  // Another process does not share the locks of changes.
  const otherProcess = await core({ store: api.deps.store, adapter, clock: api.deps.clock });
  const checking = checkDrift(otherProcess.deps);
  await verifyBegan.opened;
  await api.bring("applied", { ...VALUE, supersedes: change_id });
  mayAnswer.open();
  await checking;
  expect(await episodes()).toEqual([]);
});

test("supersedes is not part of the digest that consents are bound to", async () => {
  const { api, change_id } = await coreWithDriftedTarget();
  const [independent, superseding] = [await api.propose(VALUE), await api.propose({ ...VALUE, supersedes: change_id })];
  expect(superseding.supersedes).toBe(change_id);
  expect(superseding.digest).toBe(independent.digest);
  expect(superseding.digest).toBe(contentDigest(superseding, portableSha256));
});

test.each([
  ["a change of another tenant", { tenant_id: "t2" }, "another tenant"],
  ["a change that is applied to another target", { target: "ui.footer" }, "applied to ui.footer"],
] as const)("a proposal cannot supersede %s", async (_, overrides, reason) => {
  const { api } = await coreWithDriftedTarget();
  const supersedes = await api.bring("applied", overrides);
  const length = (await api.audit()).length;
  const reply = await api.post("propose", { ...PROPOSAL, supersedes });
  expect(reply).toMatchObject({ status: 400, body: { code: "invalid_field", fields: [{ field: "supersedes" }] } });
  expect(reply.body.error).toContain(reason);
  expect(await api.audit()).toHaveLength(length);
});

test.each(["pending_consent", "approved", "denied", "rolled_back"] as const)(
  "a change that is %s can be superseded by a change for another target or spelling",
  async (status) => {
    const { api } = await coreWithDriftedTarget();
    // A misspelled target, which the new change corrects.
    const supersedes = await api.bring(status, { target: "limits.uplaods" });
    expect(await api.propose({ target: "limits.uploads", supersedes })).toMatchObject({ supersedes });
    expect(await api.propose({ target: "LIMITS.uplaods", supersedes })).toMatchObject({ supersedes });
  },
);

test.each(["", "chg_", "chg_none", "x".repeat(300), "__proto__", "chg_00000000-0000-7000-8000-000000000000\n"])(
  "supersedes with the unknown change id %j is rejected",
  async (supersedes) => {
    const { api } = await coreWithDriftedTarget();
    const length = (await api.audit()).length;
    expect(await api.post("propose", { ...PROPOSAL, supersedes })).toMatchObject({ status: 400 });
    expect(await api.audit()).toHaveLength(length);
  },
);
