/** Break-glass: emergency consents skip quorum, windows and freeze, never a forbidden target, and are reviewed afterwards. */
import { expect, test } from "vitest";
import { HOUR } from "../../support/clock.ts";
import { core, makeCore, type Core } from "../../support/core.ts";
import { restartDeps } from "../../support/deps.ts";
import { service } from "../../support/service.ts";

const POLICY = {
  approvers: ["ana", "bo"],
  required_approvers: { standard: 2 },
  owners: [{ targets: ["billing.*"], approvers: ["fin"] }],
  break_glass: { approvers: ["oncall", "sre"], review_hours: 24 },
};
/** Windows that forbid applying at any time of these tests. */
const CLOSED_WINDOWS = { deny: [{ from: "2000-01-01T00:00:00Z", to: "2100-01-01T00:00:00Z" }] };
const coreWithPolicy = (policy: object = {}) => core({ intent: { policy: { ...POLICY, ...policy } } });
/** The same service after a restart under a changed policy. */
const restartWithPolicy = async (api: Core, policy: object) =>
  makeCore(await restartDeps(api.deps, { intent: { policy: { ...POLICY, ...policy } } }));
const approveInEmergency = (api: Core, change_id: string, approver = "oncall", note = "the site is down") =>
  api.post("approve", { change_id, approver, note, emergency: true });
const review = (api: Core, change_id: string, approver: string, verdict = "accepted") =>
  api.post("review", { change_id, approver, verdict, note: "seen" });
const dueReviews = async (api: Core) => (await api.deps.store.list("review_due", { limit: 9 })).map(({ id }) => id);

test("an emergency quorum approves, apply ignores freeze and windows, and a review is due", async () => {
  const api = await coreWithPolicy({ windows: CLOSED_WINDOWS });
  await api.post("freeze", { actor: "ops" });
  // A consent of the owner of billing.* is not needed either.
  const { change_id } = await api.propose({ target: "billing.rate", proposer: "pat" });
  const { status, body } = await approveInEmergency(api, change_id);
  expect([status, body.status]).toEqual([200, "approved"]);
  const due_at = new Date(api.deps.clock.now() + 24 * HOUR).toISOString();
  expect(body.change.review).toEqual({ due_at, verdict: null, approver: null, note: null, at: null });
  expect(body.approvals).toMatchObject([{ approver: "oncall", emergency: true }]);
  expect(JSON.parse(body.audit_entry.detail)).toMatchObject({ emergency: true, progress: "1 of 1", review_hours: 24 });
  const { gates, missing } = await api.change(change_id);
  expect(missing).toEqual([]);
  expect(gates.filter(({ state }) => state === "block")).toEqual([]);
  expect(gates.filter(({ state }) => state === "warn").map(({ gate }) => gate)).toEqual(["freeze", "window", "review"]);
  const applied = await api.act("apply", change_id);
  expect(applied.status).toBe(200);
  expect(JSON.parse(applied.body.audit_entry.detail).emergency).toBe(true);
  expect(await dueReviews(api)).toEqual([change_id]);
  expect((await api.get("audit/verify")).body.state.mismatched).toBe(0);
});

test("emergency consents and ordinary consents count towards separate quorums", async () => {
  const api = await coreWithPolicy({ break_glass: { approvers: ["oncall", "ana"], required: 2 } });
  const { change_id } = await api.propose();
  await api.post("approve", { change_id, approver: "ana" });
  expect((await approveInEmergency(api, change_id)).body).toMatchObject({ status: "pending_consent" });
  expect((await api.change(change_id)).missing).toEqual([{ rule: "required_approvers", count: 1, of: ["bo"] }]);
  expect((await api.act("apply", change_id)).body.code).toBe("illegal_transition");
  expect((await approveInEmergency(api, change_id)).body.code).toBe("already_decided");
  expect((await approveInEmergency(api, change_id, "ana")).body.status).toBe("approved");
  const other = (await api.propose()).change_id;
  await approveInEmergency(api, other, "ana");
  expect((await api.change(other)).missing).toEqual([{ rule: "required_approvers", count: 2, of: ["ana", "bo"] }]);
});

test.each([
  ["by a person who is no emergency approver", { approver: "bo" }, 403, "not_an_approver"],
  ["without a note", { note: " " }, 400, "invalid_field"],
])("an emergency consent %s is rejected", async (_, overrides, status, code) => {
  const api = await coreWithPolicy();
  const { change_id } = await api.propose();
  const fields = { change_id, approver: "oncall", note: "down", emergency: true, ...overrides };
  expect(await api.post("approve", fields)).toMatchObject({ status, body: { code } });
});

test("an emergency consent needs break_glass in the intent, and cannot come from the proposer", async () => {
  const api = await coreWithPolicy({ break_glass: undefined });
  const { change_id } = await api.propose();
  expect((await approveInEmergency(api, change_id)).body.code).toBe("not_an_approver");
  const strict = await coreWithPolicy({ self_approval: false });
  const own = (await strict.propose({ proposer: "OnCall" })).change_id;
  expect((await approveInEmergency(strict, own)).body.code).toBe("self_approval_forbidden");
  expect((await approveInEmergency(strict, own, "sre")).body.status).toBe("approved");
});

test("an emergency consent overrides neither a forbidden target nor on_stale: block", async () => {
  const before = await coreWithPolicy();
  const change_id = (await before.propose()).change_id;
  await approveInEmergency(before, change_id);
  const api = await restartWithPolicy(before, { forbidden_targets: ["ui.*"] });
  expect((await api.act("apply", change_id)).body.code).toBe("forbidden_target");
  const blocking = await restartWithPolicy(before, { on_stale: "block" });
  const other = (await blocking.propose()).change_id;
  await approveInEmergency(blocking, other);
  await blocking.must("apply", other);
  expect((await blocking.act("apply", change_id)).body.code).toBe("target_moved");
});

test("an emergency consent lets an approved change be applied during a freeze", async () => {
  const api = await coreWithPolicy({ required_approvers: { standard: 1 } });
  const change_id = await api.bring("approved");
  await api.post("freeze", { actor: "ops" });
  expect((await api.act("apply", change_id)).body.code).toBe("frozen");
  const { body } = await approveInEmergency(api, change_id);
  expect(body).toMatchObject({ status: "approved", change: { review: { verdict: null } } });
  expect((await approveInEmergency(api, change_id, "sre")).body.code).toBe("illegal_transition");
  expect((await api.act("apply", change_id)).status).toBe(200);
  expect((await api.get("audit/verify")).body.state.mismatched).toBe(0);
});

test("an emergency consent stops counting when its approver is removed from the intent", async () => {
  const before = await coreWithPolicy();
  const { change_id } = await before.propose();
  await approveInEmergency(before, change_id);
  const api = await restartWithPolicy(before, { break_glass: { approvers: ["sre"] } });
  expect((await api.act("apply", change_id)).body.code).toBe("consent_incomplete");
  expect((await approveInEmergency(api, change_id, "sre")).body.status).toBe("approved");
  expect((await api.act("apply", change_id)).status).toBe(200);
});

test.each(["accepted", "not_accepted"])(
  "an ordinary approver who did not consent completes the review: %s",
  async (verdict) => {
    const api = await coreWithPolicy({ break_glass: { approvers: ["oncall", "ana"] } });
    const { change_id } = await api.propose();
    await approveInEmergency(api, change_id, "ana");
    await api.must("apply", change_id);
    await api.must("rollback", change_id);
    expect((await review(api, change_id, "oncall", verdict)).body.code).toBe("not_an_approver");
    expect((await review(api, change_id, "ANA", verdict)).body.code).toBe("self_approval_forbidden");
    expect((await review(api, change_id, "bo", "perhaps")).body.code).toBe("invalid_field");
    const { status, body } = await review(api, change_id, "bo", verdict);
    expect([status, body.verdict, body.status]).toEqual([200, verdict, "rolled_back"]);
    expect(body.change.review).toMatchObject({ verdict, approver: "bo", note: "seen", at: api.deps.clock.iso() });
    expect(body.audit_entry.event_type).toBe("emergency_reviewed");
    expect(await dueReviews(api)).toEqual([]);
    expect((await review(api, change_id, "bo", verdict)).body.code).toBe("illegal_transition");
    expect((await api.get("audit/verify")).body.state.mismatched).toBe(0);
  },
);

test("no review is needed for a change that was never applied or had no emergency consent", async () => {
  const api = await coreWithPolicy();
  const { change_id } = await api.propose();
  await approveInEmergency(api, change_id);
  await api.post("revoke", { change_id, approver: "oncall" });
  expect(await dueReviews(api)).toEqual([]);
  expect((await review(api, change_id, "ana")).body.code).toBe("illegal_transition");
  const other = (await api.propose()).change_id;
  for (const approver of ["ana", "bo"]) await api.post("approve", { change_id: other, approver });
  expect(await api.change(other)).not.toHaveProperty("review");
  expect((await review(api, other, "ana")).body.code).toBe("illegal_transition");
});

test("approvals, need, metrics and the growth log show a due review", async () => {
  const api = await service({ intent: { policy: POLICY } });
  const { change_id } = await api.propose();
  await approveInEmergency(api as never, change_id);
  expect((await api.get("approvals")).body.review_due).toMatchObject([{ change_id, review: { verdict: null } }]);
  const { items } = (await api.get("/api/state")).body.dimensions.N;
  // A due review counts as overdue immediately.
  expect(items).toContainEqual({ item: "review_due", open: 1, overdue: 1 });
  expect((await api.get("/api/metrics")).text).toContain('countersign_overdue_items{item="review_due"} 1');
  await review(api as never, change_id, "ana", "not_accepted");
  expect((await api.get("approvals")).body.review_due).toEqual([]);
  const { entries } = (await api.get("/api/log?kind=emergency")).body;
  expect(entries.map(({ title }: { title: string }) => title)).toEqual([
    "“Show the banner” (ui.banner for tenant t1): emergency reviewed by ana, not accepted",
    "“Show the banner” (ui.banner for tenant t1): approved by oncall in an emergency, 1 of 1 consent",
  ]);
});

test("under signed_only, emergency consents and their revocation need signatures too", async () => {
  const api = await coreWithPolicy({ signed_only: false });
  const { change_id } = await api.propose();
  await approveInEmergency(api, change_id);
  // An intent with signed_only and without keys is rejected when it is loaded, so the loaded one is changed.
  const signedOnly = makeCore({
    ...api.deps,
    product: {
      ...api.deps.product!,
      intent: {
        ...api.deps.product!.intent,
        policy: { ...api.deps.product!.intent.policy, signing: { signedOnly: true, keys: {} } },
      },
    },
  });
  expect((await signedOnly.act("apply", change_id)).body.code).toBe("consent_incomplete");
  expect((await approveInEmergency(signedOnly, change_id, "sre")).body.code).toBe("proof_required");
  expect((await signedOnly.post("revoke", { change_id, approver: "oncall" })).body.code).toBe("proof_required");
});

test("emergency consents that are enough only after the quorum was lowered do not skip a freeze", async () => {
  const api = await coreWithPolicy({
    break_glass: { approvers: ["oncall", "sre"], required: 2 },
    required_approvers: { standard: 1 },
  });
  const { change_id } = await api.propose();
  await approveInEmergency(api, change_id);
  await api.post("approve", { change_id, approver: "ana" });
  await api.post("freeze", { actor: "ops" });
  const lowered = await restartWithPolicy(api, {
    break_glass: { approvers: ["oncall", "sre"], required: 1 },
    required_approvers: { standard: 1 },
  });
  expect(await lowered.act("apply", change_id)).toMatchObject({ status: 409, body: { code: "frozen" } });
  expect((await approveInEmergency(lowered, change_id, "sre")).status).toBe(200);
  expect(await dueReviews(lowered)).toEqual([change_id]);
  expect((await lowered.act("apply", change_id)).status).toBe(200);
});
