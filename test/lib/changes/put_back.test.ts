/** A host that drifted is put back by a change like any other, and the episode ends with its apply. */
import { expect, test } from "vitest";
import { checkDrift } from "../../../lib/changes/check_drift.ts";
import { contentDigest } from "../../../lib/changes/rules/content.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { PROPOSAL } from "../../support/client.ts";
import { core } from "../../support/core.ts";
import { fails, gate, scriptedAdapter } from "../../support/scripted_adapter.ts";

const VALUE = { value: "25" };

/** A service whose host holds something else than the change that was applied there. */
async function drifted(policy: object = {}) {
  const host = scriptedAdapter();
  let holds: { value: unknown } | null | undefined;
  host.held = async () => holds;
  host.on("apply", ({ value }) => void (holds = { value }));
  const api = await core({ adapter: host, intent: { policy } });
  const change_id = await api.bring("applied", VALUE);
  host.host.set(change_id, "unknown");
  holds = { value: 80 };
  await api.cycle();
  const episodes = async () => (await api.get("drift")).body.drifted;
  return { api, host, change_id, episodes, holdsNow: (now: typeof holds) => void (holds = now) };
}

test("an episode names the target's value by its digest, renewed on change; its entry stays one", async () => {
  const { api, host, change_id, episodes, holdsNow } = await drifted();
  expect(await episodes()).toMatchObject([{ change_id, held_digest: portableSha256("80") }]);
  holdsNow({ value: { b: 1, a: 2 } });
  await api.cycle();
  expect(await episodes()).toMatchObject([{ held_digest: portableSha256('{"a":2,"b":1}') }]);
  holdsNow(null);
  await api.cycle();
  expect(await episodes()).toMatchObject([{ held_digest: null }]);
  for (const silent of [fails("no"), () => Promise.resolve(undefined), async () => ({ value: undefined })]) {
    host.held = silent as NonNullable<typeof host.held>;
    await api.cycle();
    expect((await episodes())[0]).not.toHaveProperty("held_digest");
  }
  expect((await api.audit()).filter(({ event_type }) => event_type === "change_drifted")).toHaveLength(1);
});

test("a dry run shows what the target holds, as far as the adapter says it", async () => {
  const { api, host, change_id, holdsNow } = await drifted();
  const look = async () => (await api.post("rollback", { change_id, dry_run: true })).body.adapter;
  expect(await look()).toMatchObject({ host: "unknown", holds: { value: 80 } });
  holdsNow(null);
  expect(await look()).toMatchObject({ holds: null });
  host.held = fails("refused") as NonNullable<typeof host.held>;
  expect(await look()).not.toHaveProperty("holds");
  delete host.held;
  expect(await look()).not.toHaveProperty("holds");
});

test("a change can be put back under any rule of conflicts, with consent; that ends the episode", async () => {
  const { api, host, change_id, episodes } = await drifted({ on_conflict: "block", on_stale: "block" });
  const back = await api.propose({ ...VALUE, supersedes: change_id });
  expect(back).toMatchObject({ status: "pending_consent", supersedes: change_id });
  expect(await api.act("apply", back.change_id)).toMatchObject({ status: 400, body: { code: "illegal_transition" } });
  expect(host.calls.filter((step) => step === "apply")).toHaveLength(1);
  await api.must("approve", back.change_id);
  expect(await episodes()).toHaveLength(1);
  await api.must("apply", back.change_id);
  expect(await episodes()).toEqual([]);
  await api.cycle();
  expect((await api.get("drift")).body).toMatchObject({ in_sync: true, drifted: [], missing: [] });
  expect((await api.change(change_id)).status).toBe("applied");
});

test("what was seen of a change before a later one took its place begins no episode", async () => {
  const { api, host, change_id, episodes } = await drifted();
  host.host.set(change_id, "applied");
  await api.cycle();
  const hold = gate();
  const asked = gate();
  host.on("verify", async ({ change_id: id }) =>
    id === change_id ? (asked.open(), await hold.opened, "unknown") : undefined,
  );
  // Another process: the changes' turns are not shared.
  const other = await core({ store: api.deps.store, adapter: host, clock: api.deps.clock });
  const checking = checkDrift(other.deps);
  await asked.opened;
  await api.bring("applied", { ...VALUE, supersedes: change_id });
  hold.open();
  await checking;
  expect(await episodes()).toEqual([]);
});

test("whose place a proposal takes is no part of what is consented to", async () => {
  const { api, change_id } = await drifted();
  const [alone, instead] = [await api.propose(VALUE), await api.propose({ ...VALUE, supersedes: change_id })];
  expect(instead.supersedes).toBe(change_id);
  expect(instead.digest).toBe(alone.digest);
  expect(instead.digest).toBe(contentDigest(instead, portableSha256));
});

test.each([
  ["one of another tenant", { tenant_id: "t2" }, "another tenant"],
  ["one that is applied to another target", { target: "ui.footer" }, "applied to ui.footer"],
] as const)("a proposal cannot take the place of %s", async (_, over, why) => {
  const { api } = await drifted();
  const supersedes = await api.bring("applied", over);
  const length = (await api.audit()).length;
  const reply = await api.post("propose", { ...PROPOSAL, supersedes });
  expect(reply).toMatchObject({ status: 400, body: { code: "invalid_field", fields: [{ field: "supersedes" }] } });
  expect(reply.body.error).toContain(why);
  expect(await api.audit()).toHaveLength(length);
});

test.each(["pending_consent", "approved", "denied", "rolled_back"] as const)(
  "one that is %s may be proposed again, for another target too; in another case it is the same target",
  async (status) => {
    const { api } = await drifted();
    const supersedes = await api.bring(status, { target: "limits.uplaods" });
    expect(await api.propose({ target: "limits.uploads", supersedes })).toMatchObject({ supersedes });
    expect(await api.propose({ target: "LIMITS.uplaods", supersedes })).toMatchObject({ supersedes });
  },
);

test.each(["", "chg_", "chg_none", "x".repeat(300), "__proto__", "chg_00000000-0000-7000-8000-000000000000\n"])(
  "no change is superseded by the name of %j",
  async (supersedes) => {
    const { api } = await drifted();
    const length = (await api.audit()).length;
    expect(await api.post("propose", { ...PROPOSAL, supersedes })).toMatchObject({ status: 400 });
    expect(await api.audit()).toHaveLength(length);
  },
);
