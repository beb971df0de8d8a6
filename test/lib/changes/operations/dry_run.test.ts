/** Dry runs write nothing, and no apply is repeated after its approval expired while its result is unknown. */
import { expect, test } from "vitest";
import { HOUR } from "../../../support/clock.ts";
import { core } from "../../../support/core.ts";
import { memoryStore } from "../../../../lib/store/memory.ts";
import type { Store, Tx } from "../../../../lib/store/store.ts";
import { fails, scriptedAdapter } from "../../../support/scripted_adapter.ts";

/** Opens a service with an apply whose result the adapter does not report. */
async function coreWithUnreportedApply(policy: object = {}) {
  const adapter = scriptedAdapter();
  const api = await core({ adapter, intent: { policy } });
  const { change_id } = await api.propose();
  await api.must("approve", change_id);
  adapter.on("apply", fails("timeout"), 1);
  adapter.on("verify", () => "unknown");
  expect((await api.act("apply", change_id)).status).toBe(502);
  return { api, adapter, change_id };
}

test("a change with an expired approval is not applied again while its result is unknown", async () => {
  const { api, adapter, change_id } = await coreWithUnreportedApply({ approval_ttl_hours: 1 });
  api.deps.clock.advance(300 * HOUR);
  const called = adapter.calls.length;
  expect(await api.act("apply", change_id)).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
  expect(adapter.calls.slice(called)).not.toContain("apply");
});

test("a dry run resolves no operation and writes nothing", async () => {
  const { api, adapter, change_id } = await coreWithUnreportedApply();
  const length = (await api.audit()).length;
  adapter.on("verify", () => "applied");
  const reply = await api.post("apply", { change_id, dry_run: true });
  expect(reply).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
  expect(await api.audit()).toHaveLength(length);
  expect((await api.act("apply", change_id)).status).toBe(400);
  expect((await api.change(change_id)).status).toBe("applied");
});

test.each(["pending_consent", "approved", "applied"] as const)(
  "a dry run of a change that is %s reads the target system and writes nothing",
  async (status) => {
    const adapter = scriptedAdapter();
    const base = memoryStore();
    const written: string[] = [];
    const recordWrites = (tx: Tx): Tx =>
      new Proxy(tx, {
        get: (target, name: "put" | "delete") =>
          name === "put" || name === "delete"
            ? (collection: string) => void written.push(`${name} ${collection}`)
            : target[name],
      });
    let isRecording = false;
    const transact: Store["transact"] = (decide) => base.transact((tx) => decide(isRecording ? recordWrites(tx) : tx));
    const api = await core({ adapter, store: { ...base, transact } });
    const change_id = await api.bring(status);
    const before = await api.change(change_id);
    adapter.calls.length = 0;
    isRecording = true;
    const reply = await api.post(status === "applied" ? "rollback" : "apply", { change_id, dry_run: true });
    expect(reply).toMatchObject({ status: 200, body: { dry_run: true, status, audit_entry: null } });
    expect(adapter.calls).toEqual(status === "applied" ? ["verify"] : ["validate", "verify"]);
    expect(written).toEqual([]);
    expect(await api.change(change_id)).toEqual(before);
  },
);

test.each([
  ["denied", "apply"],
  ["rolled_back", "apply"],
  ["applied", "apply"],
  ["pending_consent", "rollback"],
  ["approved", "rollback"],
  ["denied", "rollback"],
] as const)("a dry run on a change that is %s rejects %s and names the status", async (status, action) => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring(status);
  adapter.calls.length = 0;
  const reply = await api.post(action, { change_id, dry_run: true });
  expect(reply).toMatchObject({ status: 400, body: { code: "illegal_transition", current_status: status } });
  expect(reply.body.error).toContain(`cannot ${action} ${change_id}: it is ${status}`);
  expect(adapter.calls).toEqual([]);
});

test("a dry run does not record that a change has expired", async () => {
  const api = await core({ intent: { policy: { consent_ttl_hours: 1 } } });
  const { change_id } = await api.propose();
  const length = (await api.audit()).length;
  api.deps.clock.advance(2 * HOUR);
  expect((await api.post("apply", { change_id, dry_run: true })).status).toBe(400);
  expect(await api.audit()).toHaveLength(length);
});
