/** An emergency: consents of its own, past quorum, freeze and windows, never past a forbidden target; reviewed afterwards. */
import { expect, test } from "vitest";
import { HOUR } from "../../support/clock.ts";
import { core, makeCore, type Core } from "../../support/core.ts";
import { restarted } from "../../support/deps.ts";
import { service } from "../../support/service.ts";

const POLICY = {
  approvers: ["ana", "bo"],
  required_approvers: { standard: 2 },
  owners: [{ targets: ["billing.*"], approvers: ["fin"] }],
  break_glass: { approvers: ["oncall", "sre"], review_hours: 24 },
};
const CLOSED = { deny: [{ from: "2000-01-01T00:00:00Z", to: "2100-01-01T00:00:00Z" }] };
const under = (over: object = {}) => core({ intent: { policy: { ...POLICY, ...over } } });
const now = async (api: Core, over: object) =>
  makeCore(await restarted(api.deps, { intent: { policy: { ...POLICY, ...over } } }));
const urgent = (api: Core, change_id: string, approver = "oncall", note = "the site is down") =>
  api.post("approve", { change_id, approver, note, emergency: true });
const review = (api: Core, change_id: string, approver: string, verdict = "accepted") =>
  api.post("review", { change_id, approver, verdict, note: "seen" });
const due = async (api: Core) => (await api.deps.store.list("review_due", { limit: 9 })).map(({ id }) => id);

test("an emergency quorum approves, apply ignores freeze and windows, and a review is due", async () => {
  const api = await under({ windows: CLOSED });
  await api.post("freeze", { actor: "ops" });
  const { change_id } = await api.propose({ target: "billing.rate", proposer: "pat" });
  const { status, body } = await urgent(api, change_id);
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
  expect(await due(api)).toEqual([change_id]);
  expect((await api.get("audit/verify")).body.state.mismatched).toBe(0);
});

test("only emergency consents count for it, and they count for nothing else", async () => {
  const api = await under({ break_glass: { approvers: ["oncall", "ana"], required: 2 } });
  const { change_id } = await api.propose();
  await api.post("approve", { change_id, approver: "ana" });
  expect((await urgent(api, change_id)).body).toMatchObject({ status: "pending_consent" });
  expect((await api.change(change_id)).missing).toEqual([{ rule: "required_approvers", count: 1, of: ["bo"] }]);
  expect((await api.act("apply", change_id)).body.code).toBe("illegal_transition");
  expect((await urgent(api, change_id)).body.code).toBe("already_decided");
  expect((await urgent(api, change_id, "ana")).body.status).toBe("approved");
  const other = (await api.propose()).change_id;
  await urgent(api, other, "ana");
  expect((await api.change(other)).missing).toEqual([{ rule: "required_approvers", count: 2, of: ["ana", "bo"] }]);
});

test.each([
  ["by one who is not named for it", { approver: "bo" }, 403, "not_an_approver"],
  ["without a note", { note: " " }, 400, "invalid_field"],
])("it is refused %s", async (_, over, status, code) => {
  const api = await under();
  const { change_id } = await api.propose();
  const fields = { change_id, approver: "oncall", note: "down", emergency: true, ...over };
  expect(await api.post("approve", fields)).toMatchObject({ status, body: { code } });
});

test("without break-glass in the intent there is no emergency, nor one for the proposer", async () => {
  const api = await under({ break_glass: undefined });
  const { change_id } = await api.propose();
  expect((await urgent(api, change_id)).body.code).toBe("not_an_approver");
  const strict = await under({ self_approval: false });
  const own = (await strict.propose({ proposer: "OnCall" })).change_id;
  expect((await urgent(strict, own)).body.code).toBe("self_approval_forbidden");
  expect((await urgent(strict, own, "sre")).body.status).toBe("approved");
});

test("a forbidden target stays forbidden, and a target that has moved stays visible", async () => {
  const before = await under();
  const change_id = (await before.propose()).change_id;
  await urgent(before, change_id);
  const api = await now(before, { forbidden_targets: ["ui.*"] });
  expect((await api.act("apply", change_id)).body.code).toBe("forbidden_target");
  const blocking = await now(before, { on_stale: "block" });
  const other = (await blocking.propose()).change_id;
  await urgent(blocking, other);
  await blocking.must("apply", other);
  expect((await blocking.act("apply", change_id)).body.code).toBe("target_moved");
});

test("an approved change that a freeze holds back takes the emergency's consents", async () => {
  const api = await under({ required_approvers: { standard: 1 } });
  const change_id = await api.bring("approved");
  await api.post("freeze", { actor: "ops" });
  expect((await api.act("apply", change_id)).body.code).toBe("frozen");
  const { body } = await urgent(api, change_id);
  expect(body).toMatchObject({ status: "approved", change: { review: { verdict: null } } });
  expect((await urgent(api, change_id, "sre")).body.code).toBe("illegal_transition");
  expect((await api.act("apply", change_id)).status).toBe(200);
  expect((await api.get("audit/verify")).body.state.mismatched).toBe(0);
});

test("an emergency consent of one whom the intent no longer names passes nothing", async () => {
  const before = await under();
  const { change_id } = await before.propose();
  await urgent(before, change_id);
  const api = await now(before, { break_glass: { approvers: ["sre"] } });
  expect((await api.act("apply", change_id)).body.code).toBe("consent_incomplete");
  expect((await urgent(api, change_id, "sre")).body.status).toBe("approved");
  expect((await api.act("apply", change_id)).status).toBe(200);
});

test.each(["accepted", "not_accepted"])("a review by the ordinary people ends it: %s", async (verdict) => {
  const api = await under({ break_glass: { approvers: ["oncall", "ana"] } });
  const { change_id } = await api.propose();
  await urgent(api, change_id, "ana");
  await api.must("apply", change_id);
  await api.must("rollback", change_id);
  expect((await review(api, change_id, "oncall", verdict)).body.code).toBe("not_an_approver");
  expect((await review(api, change_id, "ANA", verdict)).body.code).toBe("self_approval_forbidden");
  expect((await review(api, change_id, "bo", "perhaps")).body.code).toBe("invalid_field");
  const { status, body } = await review(api, change_id, "bo", verdict);
  expect([status, body.verdict, body.status]).toEqual([200, verdict, "rolled_back"]);
  expect(body.change.review).toMatchObject({ verdict, approver: "bo", note: "seen", at: api.deps.clock.iso() });
  expect(body.audit_entry.event_type).toBe("emergency_reviewed");
  expect(await due(api)).toEqual([]);
  expect((await review(api, change_id, "bo", verdict)).body.code).toBe("illegal_transition");
  expect((await api.get("audit/verify")).body.state.mismatched).toBe(0);
});

test("what was closed without an apply needs no review, and an ordinary change has none", async () => {
  const api = await under();
  const { change_id } = await api.propose();
  await urgent(api, change_id);
  await api.post("revoke", { change_id, approver: "oncall" });
  expect(await due(api)).toEqual([]);
  expect((await review(api, change_id, "ana")).body.code).toBe("illegal_transition");
  const other = (await api.propose()).change_id;
  for (const approver of ["ana", "bo"]) await api.post("approve", { change_id: other, approver });
  expect(await api.change(other)).not.toHaveProperty("review");
  expect((await review(api, other, "ana")).body.code).toBe("illegal_transition");
});

test("approvals, need, metrics and the growth log tell of a review that is due", async () => {
  const api = await service({ intent: { policy: POLICY } });
  const { change_id } = await api.propose();
  await urgent(api as never, change_id);
  expect((await api.get("approvals")).body.review_due).toMatchObject([{ change_id, review: { verdict: null } }]);
  const { items } = (await api.get("/api/state")).body.dimensions.N;
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
  const api = await under({ signed_only: false });
  const { change_id } = await api.propose();
  await urgent(api, change_id);
  const api2 = makeCore({
    ...api.deps,
    product: {
      ...api.deps.product!,
      intent: {
        ...api.deps.product!.intent,
        policy: { ...api.deps.product!.intent.policy, signing: { only: true, keys: {} } },
      },
    },
  });
  expect((await api2.act("apply", change_id)).body.code).toBe("consent_incomplete");
  expect((await urgent(api2, change_id, "sre")).body.code).toBe("proof_required");
  expect((await api2.post("revoke", { change_id, approver: "oncall" })).body.code).toBe("proof_required");
});

test("consents that suffice only after a change of the intent do not pass a freeze", async () => {
  const api = await under({
    break_glass: { approvers: ["oncall", "sre"], required: 2 },
    required_approvers: { standard: 1 },
  });
  const { change_id } = await api.propose();
  await urgent(api, change_id);
  await api.post("approve", { change_id, approver: "ana" });
  await api.post("freeze", { actor: "ops" });
  const lowered = await now(api, {
    break_glass: { approvers: ["oncall", "sre"], required: 1 },
    required_approvers: { standard: 1 },
  });
  expect(await lowered.act("apply", change_id)).toMatchObject({ status: 409, body: { code: "frozen" } });
  expect((await urgent(lowered, change_id, "sre")).status).toBe(200);
  expect(await due(lowered)).toEqual([change_id]);
  expect((await lowered.act("apply", change_id)).status).toBe(200);
});
