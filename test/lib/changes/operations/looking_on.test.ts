/** Dry runs write nothing, and an expired approval is not applied again while the host does not report the result. */
import { expect, test } from "vitest";
import { HOUR } from "../../../support/clock.ts";
import { core } from "../../../support/core.ts";
import { memoryStore } from "../../../../lib/store/memory.ts";
import type { Store, Tx } from "../../../../lib/store/store.ts";
import { fails, scriptedAdapter } from "../../../support/scripted_adapter.ts";

async function withUnreportedApply(policy: object = {}) {
  const host = scriptedAdapter();
  const api = await core({ adapter: host, intent: { policy } });
  const { change_id } = await api.propose();
  await api.must("approve", change_id);
  host.on("apply", fails("timeout"), 1);
  host.on("verify", () => "unknown");
  expect((await api.act("apply", change_id)).status).toBe(502);
  return { api, host, change_id };
}

test("a change with an expired approval is not applied again while its host is silent", async () => {
  const { api, host, change_id } = await withUnreportedApply({ approval_ttl_hours: 1 });
  api.deps.clock.advance(300 * HOUR);
  const called = host.calls.length;
  expect(await api.act("apply", change_id)).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
  expect(host.calls.slice(called)).not.toContain("apply");
});

test("a dry run resolves no operation and writes nothing", async () => {
  const { api, host, change_id } = await withUnreportedApply();
  const length = (await api.audit()).length;
  host.on("verify", () => "applied");
  const reply = await api.post("apply", { change_id, dry_run: true });
  expect(reply).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
  expect(await api.audit()).toHaveLength(length);
  expect((await api.act("apply", change_id)).status).toBe(400);
  expect((await api.change(change_id)).status).toBe("applied");
});

test.each(["pending_consent", "approved", "applied"] as const)(
  "a dry run of a change that is %s reads from the host, and writes neither there nor here",
  async (status) => {
    const host = scriptedAdapter();
    const base = memoryStore();
    const written: string[] = [];
    const counting = (tx: Tx): Tx =>
      new Proxy(tx, {
        get: (of, name: "put" | "delete") =>
          name === "put" || name === "delete" ? (where: string) => void written.push(`${name} ${where}`) : of[name],
      });
    let isCounting = false;
    const transact: Store["transact"] = (decide) => base.transact((tx) => decide(isCounting ? counting(tx) : tx));
    const api = await core({ adapter: host, store: { ...base, transact } });
    const change_id = await api.bring(status);
    const before = await api.change(change_id);
    host.calls.length = 0;
    isCounting = true;
    const reply = await api.post(status === "applied" ? "rollback" : "apply", { change_id, dry_run: true });
    expect(reply).toMatchObject({ status: 200, body: { dry_run: true, status, audit_entry: null } });
    expect(host.calls).toEqual(status === "applied" ? ["verify"] : ["validate", "verify"]);
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
  const host = scriptedAdapter();
  const api = await core({ adapter: host });
  const change_id = await api.bring(status);
  host.calls.length = 0;
  const reply = await api.post(action, { change_id, dry_run: true });
  expect(reply).toMatchObject({ status: 400, body: { code: "illegal_transition", current_status: status } });
  expect(reply.body.error).toContain(`cannot ${action} ${change_id}: it is ${status}`);
  expect(host.calls).toEqual([]);
});

test("a dry run does not record that a change has expired", async () => {
  const api = await core({ intent: { policy: { consent_ttl_hours: 1 } } });
  const { change_id } = await api.propose();
  const length = (await api.audit()).length;
  api.deps.clock.advance(2 * HOUR);
  expect((await api.post("apply", { change_id, dry_run: true })).status).toBe(400);
  expect(await api.audit()).toHaveLength(length);
});
