/** Revoked consents, and approvals that expire before the apply. */
import { expect, test } from "vitest";
import { HOUR, pass } from "../../support/clock.ts";
import { core, makeCore } from "../../support/core.ts";
import { restartDeps } from "../../support/deps.ts";
import { fails, makeBarrier, scriptedAdapter } from "../../support/scripted_adapter.ts";
import { service } from "../../support/service.ts";

test.each(["approved", "pending_consent"])(
  "an approver who revokes their consent closes a change that is %s",
  async (status) => {
    const required = { standard: status === "approved" ? 1 : 2 };
    const api = await core({ intent: { policy: { required_approvers: required } } });
    const { change_id } = await api.propose();
    expect((await api.post("approve", { change_id, approver: "Ana" })).body.status).toBe(status);
    const { status: code, body } = await api.post("revoke", {
      change_id,
      approver: "ana ",
      note: "the price is wrong",
    });
    expect(code).toBe(200);
    expect(body).toMatchObject({ status: "denied", decision: "revoked", change: { resolution: "revoked" } });
    // Spaces around a name are removed, and names are compared without regard to case.
    expect(body.change.approver).toBe("ana");
    expect(JSON.parse(body.audit_entry.detail)).toMatchObject({ decision: "revoked", note: "the price is wrong" });
    for (const action of ["approve", "apply", "revoke"] as const)
      expect((await api.act(action, change_id)).body.code).toBe("illegal_transition");
    expect((await api.get("audit/verify")).body.state.mismatched).toBe(0);
    expect(await api.deps.store.list("live_by_target", { limit: 1 })).toEqual([]);
  },
);

test("revoke is rejected for another's consent, without a consent, and after the apply", async () => {
  const api = await core();
  const change_id = await api.bring("approved");
  expect((await api.post("revoke", { change_id, approver: "bo" })).body).toMatchObject({ code: "not_an_approver" });
  const { change_id: pending } = await api.propose();
  expect((await api.post("revoke", { change_id: pending, approver: "ana" })).body.code).toBe("illegal_transition");
  await api.must("apply", change_id);
  expect((await api.act("revoke", change_id)).body.code).toBe("illegal_transition");
});

test("an approver removed from the list may still revoke their consent", async () => {
  const before = await core();
  const change_id = await before.bring("approved");
  const api = makeCore(await restartDeps(before.deps, { intent: { policy: { approvers: ["bo"] } } }));
  expect((await api.act("revoke", change_id)).body.status).toBe("denied");
});

test("while an apply runs or is unresolved, consents can neither be revoked nor expire", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter, intent: { policy: { approval_ttl_hours: 1 } } });
  const change_id = await api.bring("approved");
  const mayFail = makeBarrier();
  adapter.on("apply", () => mayFail.opened.then(() => Promise.reject(new Error("no answer"))), 1);
  adapter.on("verify", fails("unreachable"));
  const running = api.act("apply", change_id);
  while (!adapter.calls.includes("apply")) await new Promise((resolve) => setImmediate(resolve));
  expect(await api.act("revoke", change_id)).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
  mayFail.open();
  expect((await running).status).toBe(502);
  expect((await api.act("revoke", change_id)).body.code).toBe("operation_in_progress");
  await pass(api.deps, 2 * HOUR);
  expect((await api.cycle()).expired).toBe(0);
  expect((await api.change(change_id)).status).toBe("approved");
  adapter.removeScripts();
  adapter.host.set(change_id, "absent");
  await api.cycle();
  expect((await api.change(change_id)).resolution).toBe("lapsed");
});

test("an approved change that is not applied within approval_ttl_hours expires", async () => {
  const api = await service({ intent: { policy: { approval_ttl_hours: 24, consent_ttl_hours: 48 } } });
  const { change_id: first } = await api.propose();
  const { change_id: second } = await api.propose({ target: "ui.other" });
  api.deps.clock.advance(20 * HOUR);
  await api.must("approve", second);
  await api.must("approve", first);
  // `pass` confirms a time with a clock sample: first the limit itself, which is not too late, and then a later time.
  await pass(api.deps, 24 * HOUR);
  expect((await api.get("/api/product/approvals")).body.approved).toHaveLength(2);
  await pass(api.deps, 1);
  expect((await api.get("/api/product/approvals")).body.approved).toEqual([]);
  const change = await api.change(first);
  expect(change).toMatchObject({ status: "denied", resolution: "lapsed", approver: "policy:expiry" });
  expect(change.approval_note).toBe("not applied within 24 hours");
  expect((await api.act("apply", second)).body.code).toBe("illegal_transition");
  expect((await api.get("audit/verify")).body.state.mismatched).toBe(0);
});

test("an apply after the approval expired is rejected without calling the adapter", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter, intent: { policy: { approval_ttl_hours: 1 } } });
  const change_id = await api.bring("approved");
  await pass(api.deps, HOUR + 1);
  expect((await api.act("apply", change_id)).body.code).toBe("illegal_transition");
  expect(adapter.calls).toEqual([]);
  expect((await api.change(change_id)).resolution).toBe("lapsed");
});
