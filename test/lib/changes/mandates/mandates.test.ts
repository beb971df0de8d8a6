/**
 * Drafting, signing, narrowing and ending of mandates, and the changes that they approve. Unless a test states otherwise,
 * `propose` sets price.basic from 100 to 104 for 50 users, and a mandate covers price.* for 20 days: steps up to 5% a day,
 * 100 users, 10 changes a day, 5 open ones.
 */
import { expect, test } from "vitest";
import { reconcile } from "../../../../lib/changes/reconcile.ts";
import { rebuildRecords } from "../../../../lib/changes/rebuild.ts";
import { runCycle } from "../../../../lib/operations/cycle.ts";
import { DAY, HOUR, MINUTE } from "../../../support/clock.ts";
import { passkey } from "../../../support/passkeys.ts";
import { person } from "../../../support/signed.ts";
import { AS_OTHER, BOUNDS, MANDATE_INTENT, openWithMandates, SIGNERS } from "../../../support/mandates.ts";

test("a draft approves nothing until the last signature of the quorum makes it active", async () => {
  const { draft, decideOn, propose, mandate } = await openWithMandates();
  const drafted = await draft({ note: "Prices follow the market." });
  expect(drafted).toMatchObject({ status: 201, body: { state: "draft", revision: 1, left: { today: 10, open: 5 } } });
  const { mandate_id } = drafted.body;
  expect((await propose({ target: "price.pro" })).body).toMatchObject({ status: "pending_consent" });
  const first = await decideOn("mandate", mandate_id, "ana");
  expect(first).toMatchObject({ status: 200, body: { state: "draft", missing: [{ count: 1, of: ["bo"] }] } });
  const last = await decideOn("mandate", mandate_id, "bo");
  expect(last).toMatchObject({ status: 200, body: { state: "active", missing: [] } });
  expect(JSON.parse(last.body.audit_entry.detail)).toMatchObject({ status: "active", bounds: { max_per_day: 10 } });
  const change = await propose();
  expect(change).toMatchObject({ status: 201, body: { status: "approved", approver: `mandate:${mandate_id}` } });
  expect(JSON.parse(change.body.audit_entry.detail)).toMatchObject({
    mandate: { mandate_id, number: 1, left: { today: 9, open: 4 } },
  });
  expect(await mandate(mandate_id)).toMatchObject({
    used: { today: 1, open: 1 },
    left: { today: 9, open: 4 },
    changes: [{ change_id: change.body.change_id, status: "approved" }],
  });
});

test("a change that a mandate approved can be applied until the mandate is suspended", async () => {
  const { activate, propose, apply, mandate, decideOn, send } = await openWithMandates(
    {},
    { "price.basic": 100, "price.pro": 100 },
  );
  const id = await activate();
  const first = (await propose()).body.change_id;
  expect(await apply(first)).toMatchObject({ status: 200, body: { status: "applied" } });
  expect((await propose({ value: 106 })).body.outside).toMatchObject([{ bound: "max_step" }]);
  expect((await propose({ value: 105 })).body).toMatchObject({ status: "approved" });
  const second = (await propose({ target: "price.pro" })).body;
  expect(second).toMatchObject({ status: "approved" });
  expect(await send("rollback", { change_id: first, actor: "ana" })).toMatchObject({ status: 200 });
  expect(await mandate(id)).toMatchObject({ state: "suspended", suspension: { reason: "rollback", change_id: first } });
  expect(await apply(second.change_id)).toMatchObject({
    status: 403,
    body: { code: "consent_incomplete", missing: [{ rule: "required_approvers", count: 1, mandate: id }] },
  });
  expect((await propose()).body).toMatchObject({
    status: "pending_consent",
    outside: [{ mandate_id: id, bound: "state" }],
  });
  await decideOn("mandate_resume", id, "ana");
  expect((await decideOn("mandate_resume", id, "bo")).body).toMatchObject({ state: "active", revision: 2 });
  expect(await apply(second.change_id)).toMatchObject({ status: 200 });
});

// Each case: what is outside, the deviating fields of the proposal, and the bound in the reply.
test.each([
  ["a proposal of another agent", { headers: AS_OTHER }, undefined],
  ["another kind", { kind: "feature_flag" }, "kinds"],
  ["another target", { target: "price.pro" }, "targets"],
  ["another tenant", { tenant_id: "t2" }, "tenants"],
  ["a step that is too large", { value: 106 }, "max_step"],
  ["a value that is not a number", { value: "104" }, "max_step"],
  ["no value", { value: undefined }, "limits"],
  ["too many users", { affected_users: 101 }, "max_affected_users"],
  ["unstated users", { affected_users: undefined }, "max_affected_users"],
  ["unstated risk", { risk: undefined }, "risk"],
  ["high risk", { risk: "high" }, "risk"],
  ["a change that is not reversible", { reversible: false }, "reversible"],
  ["unstated reversible", { reversible: undefined }, "reversible"],
  ["a target without a value", { target: "price.new" }, "max_step"],
])(
  "a proposal outside of the mandate needs consent, and the reply names the bound: %s",
  async (_, { headers, ...fields }: Record<string, unknown> & { headers?: HeadersInit }, bound) => {
    const { activate, propose } = await openWithMandates();
    const mandate_id = await activate({ targets: ["price.basic", "price.new"] });
    const reply = await propose(fields, headers);
    expect(reply.status).toBe(201);
    expect(reply.body.status).toBe("pending_consent");
    expect(reply.body.outside).toEqual(bound && [{ mandate_id, bound, message: expect.any(String) }]);
  },
);

test("the limits of a day and of open changes are exact, and a new day counts from zero", async () => {
  const { activate, propose, api } = await openWithMandates();
  await activate({ max_per_day: 3, max_open: 3 });
  const states = [];
  for (let index = 0; index < 4; index++) states.push((await propose({ value: 100 + index })).body.status);
  expect(states).toEqual(["approved", "approved", "approved", "pending_consent"]);
  api.deps.clock.advance(24 * HOUR);
  // On the new day only the limit of open changes is reached.
  expect((await propose()).body.outside).toMatchObject([{ bound: "max_open" }]);
});

test.each([
  ["a target that the policy does not cover", { targets: ["plan.*"] }],
  ["more changes a day than the policy allows", { max_per_day: 51 }],
  ["more open changes than the policy allows", { max_open: 21 }],
  ["a longer time than the policy allows", { days: 31 }],
])("a draft with %s is rejected", async (_, { days, ...fields }: { days?: number } & object) => {
  const { draft, until } = await openWithMandates();
  expect(await draft({ ...fields, until: until(days) })).toMatchObject({
    status: 403,
    body: { code: "mandate_not_allowed" },
  });
});

test("a partly owned pattern is rejected; owners of a completely owned one must sign", async () => {
  const owned = (targets: string[], tenants?: string[]) => ({
    ...MANDATE_INTENT,
    policy: { ...MANDATE_INTENT.policy, owners: [{ targets, ...(tenants && { tenants }), approvers: ["olga"] }] },
  });
  for (const intent of [owned(["price.basic"]), owned(["*"], ["t9", "t1"]), owned(["*.basic"])]) {
    const { draft } = await openWithMandates({ intent });
    const isOwnedCompletely = intent.policy.owners[0]!.targets[0] === "*";
    expect((await draft()).status).toBe(isOwnedCompletely ? 201 : 403);
  }
  const { draft, decideOn } = await openWithMandates({ intent: owned(["price.*"]) });
  const { mandate_id } = (await draft()).body;
  await decideOn("mandate", mandate_id, "ana");
  expect((await decideOn("mandate", mandate_id, "bo")).body).toMatchObject({
    state: "draft",
    missing: [{ rule: "owners price.*", of: ["olga"] }],
  });
  expect((await decideOn("mandate", mandate_id, "olga")).body.state).toBe("active");
});

test("unattended and repeated signatures, and signatures of others, are rejected", async () => {
  const { draft, decideOn, send, statement, activate } = await openWithMandates();
  const { mandate_id } = (await draft()).body;
  expect((await decideOn("mandate", mandate_id, "olga")).body.code).toBe("not_an_approver");
  // The key of Una signs unattended.
  expect((await decideOn("mandate", mandate_id, "una")).body.code).toBe("proof_invalid");
  expect((await send("mandate-sign", { mandate_id, approver: "ana" })).body.code).toBe("proof_required");
  const text = await statement("mandate", "ana", { mandate_id });
  const signed = { mandate_id, approver: "ana", proof: SIGNERS["ana"]!.sign(text), at: JSON.parse(text).at };
  expect((await send("mandate-sign", { ...signed, approver: "bo" })).body.code).toBe("proof_invalid");
  expect((await send("mandate-sign", { ...signed, note: "more" })).body.code).toBe("proof_invalid");
  expect((await send("mandate-sign", signed)).status).toBe(200);
  expect((await send("mandate-sign", signed)).body.code).toBe("already_decided");
  const other = (await draft()).body.mandate_id;
  expect((await send("mandate-sign", { ...signed, mandate_id: other })).body.code).toBe("proof_invalid");
  const id = await activate();
  expect((await send("mandate-sign", { ...signed, mandate_id: id })).body.code).toBe("illegal_transition");
  expect((await send("mandate-sign", { ...signed, mandate_id: "mdt_none" })).body.code).toBe("mandate_not_found");
  const revokeText = await statement("mandate_revoke", "ana", { mandate_id: id });
  const revocation = {
    mandate_id: id,
    approver: "ana",
    proof: SIGNERS["ana"]!.sign(revokeText),
    at: JSON.parse(revokeText).at,
  };
  expect((await send("mandate-resume", revocation)).body.code).toBe("illegal_transition");
  expect((await send("mandate-revoke", revocation)).status).toBe(200);
});

test("a mandate is suspended while a KPI is below its floor, also at its last signature", async () => {
  const { activate, draft, decideOn, send, mandate, propose } = await openWithMandates();
  const id = await activate({ kpi_floor: { csat: 4 } });
  await send("kpi", { csat: 4 });
  expect((await mandate(id)).state).toBe("active");
  await send("kpi", { csat: 3.9 });
  expect(await mandate(id)).toMatchObject({ state: "suspended", suspension: { reason: "kpi_floor", kpi: "csat" } });
  expect((await propose()).body.status).toBe("pending_consent");
  expect((await decideOn("mandate_resume", id, "ana")).body.code).toBe("illegal_transition");
  const { mandate_id } = (await draft({ kpi_floor: { csat: 4 } })).body;
  await decideOn("mandate", mandate_id, "ana");
  expect((await decideOn("mandate", mandate_id, "bo")).body).toMatchObject({ state: "suspended", revision: 2 });
  await send("kpi", { csat: 4.2 });
  await decideOn("mandate_resume", id, "ana");
  expect((await decideOn("mandate_resume", id, "bo")).body.state).toBe("active");
});

test("one person with any key can narrow and revoke a mandate", async () => {
  const { activate, decideOn, propose, apply, mandate } = await openWithMandates();
  const id = await activate();
  expect((await decideOn("mandate_narrow", id, "una", { narrow: { max_per_day: 2 } })).body).toMatchObject({
    revision: 2,
    max_per_day: 2,
    state: "active",
  });
  const { change_id } = (await propose()).body;
  expect((await decideOn("mandate_narrow", id, "ana", { narrow: { max_affected_users: 40 } })).status).toBe(200);
  expect((await apply(change_id)).body).toMatchObject({ code: "consent_incomplete", missing: [{ mandate: id }] });
  expect((await decideOn("mandate_revoke", id, "una")).body).toMatchObject({
    state: "ended",
    ended: { reason: "revoked" },
  });
  expect((await decideOn("mandate_revoke", id, "ana")).body.code).toBe("illegal_transition");
  expect((await apply(change_id)).body.code).toBe("consent_incomplete");
  expect((await mandate(id)).used).toMatchObject({ open: 1 });
});

test("a draft that was revoked after one signature cannot be signed any more", async () => {
  const { draft, decideOn, propose, mandate } = await openWithMandates();
  const { mandate_id } = (await draft()).body;
  await decideOn("mandate", mandate_id, "ana");
  expect((await decideOn("mandate_revoke", mandate_id, "una")).body).toMatchObject({
    state: "ended",
    revision: 2,
    ended: { reason: "revoked", approver: "una" },
  });
  expect((await decideOn("mandate", mandate_id, "bo")).body).toMatchObject({ code: "illegal_transition" });
  expect(await mandate(mandate_id)).toMatchObject({ state: "ended", missing: [] });
  expect((await propose()).body).toMatchObject({ status: "pending_consent" });
});

test("the search lists the changes that a mandate approved", async () => {
  const { activate, propose, api } = await openWithMandates();
  const id = await activate();
  const { change_id } = (await propose()).body;
  await propose({ value: 200 });
  const findChanges = async (q: string) =>
    (await api.get(`../find?q=${encodeURIComponent(q)}`)).body.rows.map((row: { change_id: string }) => row.change_id);
  expect(await findChanges(`mandate:${id}`)).toEqual([change_id]);
  expect(await findChanges("mandate:*")).toEqual([change_id]);
  expect(await findChanges("mandate:mdt_other")).toEqual([]);
});

test("people can approve a change whose mandate was revoked", async () => {
  const { activate, decideOn, propose, apply, statement, send } = await openWithMandates();
  const id = await activate();
  const { change_id } = (await propose()).body;
  await decideOn("mandate_revoke", id, "ana");
  const text = await statement("approve", "ana", { change_id });
  const proof = SIGNERS["ana"]!.sign(text);
  expect(await send("approve", { change_id, approver: "ana", proof, at: JSON.parse(text).at })).toMatchObject({
    status: 200,
  });
  expect(await apply(change_id)).toMatchObject({ status: 200 });
});

test("people can approve a change that a narrowed mandate no longer covers", async () => {
  const { activate, decideOn, propose, apply, statement, send, api } = await openWithMandates();
  const id = await activate();
  const { change_id } = (await propose()).body;
  await decideOn("mandate_narrow", id, "ana", { narrow: { max_affected_users: 40 } });
  const view = (await api.get(`changes/${change_id}`)).body;
  expect(view).toMatchObject({ allowed_actions: expect.arrayContaining(["approve"]), missing: [{ mandate: id }] });
  expect((await apply(change_id)).body).toMatchObject({ code: "consent_incomplete", allowed: ["approve", "revoke"] });
  const text = await statement("approve", "ana", { change_id });
  const approval = { change_id, approver: "ana", proof: SIGNERS["ana"]!.sign(text), at: JSON.parse(text).at };
  expect((await send("approve", approval)).status).toBe(200);
  expect((await apply(change_id)).status).toBe(200);
});

test("a change that a mandate approved is not applied after a rollback of its target", async () => {
  const { activate, decideOn, propose, apply, send } = await openWithMandates();
  const first = await activate();
  const rolledBack = (await propose()).body.change_id;
  await decideOn("mandate_narrow", first, "ana", { narrow: { max_open: 1 } });
  await activate();
  const other = (await propose({ value: 103 })).body;
  expect(other.status).toBe("approved");
  await apply(rolledBack);
  expect((await send("rollback", { change_id: rolledBack, actor: "ana" })).status).toBe(200);
  const rejected = (await apply(other.change_id)).body;
  expect(rejected).toMatchObject({ code: "consent_incomplete", error: expect.stringContaining("was rolled back at") });
});

test("a new intent without the rule or a signer's key ends approvals; smaller bounds apply", async () => {
  const { activate, restart } = await openWithMandates();
  const id = await activate();
  const { mandates: _, ...withoutMandates } = MANDATE_INTENT.policy;
  const { ana: __, ...others } = MANDATE_INTENT.principals as Record<string, unknown>;
  // No rule; a signer who is no principal; a third signature required; other targets; a new key of a signer.
  for (const intent of [
    { ...MANDATE_INTENT, policy: withoutMandates },
    { ...MANDATE_INTENT, principals: others, policy: { ...MANDATE_INTENT.policy, approvers: ["bo", "una"] } },
    { ...MANDATE_INTENT, policy: { ...MANDATE_INTENT.policy, required_approvers: { standard: 1, major: 3 } } },
    { ...MANDATE_INTENT, policy: { ...MANDATE_INTENT.policy, mandates: { targets: ["plan.*"] } } },
    { ...MANDATE_INTENT, principals: { ...MANDATE_INTENT.principals, ana: person(passkey()) } },
  ]) {
    const next = await restart({ intent });
    expect((await next.propose()).body.status).toBe("pending_consent");
  }
  const smaller = {
    ...MANDATE_INTENT,
    policy: { ...MANDATE_INTENT.policy, mandates: { targets: ["price.*"], max_per_day: 1 } },
  };
  const { propose, mandate } = await restart({ intent: smaller });
  expect((await propose()).body.status).toBe("approved");
  expect((await propose({ value: 103 })).body.outside).toMatchObject([{ mandate_id: id, bound: "max_per_day" }]);
  expect(await mandate(id)).toMatchObject({ state: "active", max_per_day: 1 });
});

test("a mandate ends when its time is over, and old drafts are deleted", async () => {
  const { activate, api, propose, apply, mandate, draft } = await openWithMandates();
  const id = await activate();
  const { change_id } = (await propose()).body;
  const { mandate_id } = (await draft()).body;
  api.deps.clock.advance(8 * DAY);
  expect((await api.get(`mandates/${mandate_id}`)).status).toBe(404);
  api.deps.clock.advance(12 * DAY + MINUTE);
  expect(await mandate(id)).toMatchObject({ state: "ended" });
  expect((await apply(change_id)).body.code).toBe("consent_incomplete");
  // Drafts are deleted after 7 days, and the mandate ends after 20.
  // Only two clock samples ten minutes apart confirm that the time is over.
  await runCycle(api.deps);
  api.deps.clock.advance(11 * MINUTE);
  await runCycle(api.deps);
  expect(await mandate(id)).toMatchObject({ ended: { reason: "expired" } });
  expect((await api.deps.store.list("mandates_by_agent", { limit: 1 })).length).toBe(0);
  expect((await mandate(id)).audit_entries.at(-1).event_type).toBe("mandate_ended");
});

test("no mandate approves a change of a target for 24 hours after its rollback", async () => {
  const { activate, api, propose, apply, send } = await openWithMandates();
  await activate();
  const { change_id } = (await propose()).body;
  await apply(change_id);
  const other = await activate();
  // The rollback also suspends the mandate that approved the change.
  await send("rollback", { change_id, actor: "bo" });
  expect((await propose()).body.outside).toMatchObject([{ bound: "state" }, { mandate_id: other, bound: "rollback" }]);
  api.deps.clock.advance(DAY + HOUR);
  expect((await propose()).body).toMatchObject({ status: "approved", approver: `mandate:${other}` });
});

test("a mandate does not cover a target system whose configuration changed since it was signed", async () => {
  const { activate, adapter, propose, restart } = await openWithMandates();
  await activate();
  const movedAdapter = {
    ...adapter,
    configuration: { hash: "2", systems: [{ name: "prices", type: "memory", address: "elsewhere" }] },
  };
  const next = await restart({ intent: MANDATE_INTENT, adapter: movedAdapter });
  expect((await next.propose()).body.outside).toMatchObject([{ bound: "systems" }]);
  expect((await propose()).status).toBe(201);
});

test("a change under a mandate is applied automatically if the policy allows it", async () => {
  const { activate, propose, api } = await openWithMandates();
  await activate();
  const { change_id, status } = (await propose({ apply_when: "approved" })).body;
  expect(status).toBe("approved");
  await runCycle(api.deps);
  expect((await api.get(`changes/${change_id}`)).body.status).toBe("applied");
  const time = new Date(api.deps.clock.now() + HOUR).toISOString();
  expect(await propose({ apply_when: time, value: 105 })).toMatchObject({ status: 400 });
});

test("the oldest mandate that covers a change approves it", async () => {
  const { activate, propose } = await openWithMandates();
  const [first, second] = [await activate({ max_per_day: 1 }), await activate()];
  const approvers = [];
  for (const value of [101, 102]) approvers.push((await propose({ value })).body.approver);
  expect(approvers).toEqual([`mandate:${first}`, `mandate:${second}`]);
  // The second mandate allows more than both changes.
  expect(BOUNDS.max_per_day).toBe(10);
});

test("an edited record of a mandate has no effect, is reported, and is rebuilt from the log", async () => {
  const { activate, api, propose, decideOn, mandate } = await openWithMandates();
  const id = await activate();
  const stored = (await api.deps.store.get("mandates", id))!.value;
  await api.deps.store.transact(async (tx) =>
    tx.put("mandates", id, { ...stored, bounds: { ...stored.bounds, targets: ["*"], max_per_day: 1000 } }),
  );
  expect((await propose({ value: 106 })).body.status).toBe("pending_consent");
  expect((await mandate(id)).max_per_day).toBe(10);
  expect(await reconcile(api.deps)).toMatchObject({ mismatches: [{ change_id: "", fields: ["mandates"] }] });
  await decideOn("mandate_narrow", id, "ana", { narrow: { max_per_day: 5 } });
  await api.deps.store.transact(async (tx) => void tx.delete("mandates", id));
  api.deps.clock.advance(MINUTE);
  await rebuildRecords(api.deps);
  expect(await mandate(id)).toMatchObject({ state: "active", max_per_day: 5, revision: 2 });
  expect((await propose()).body.status).toBe("approved");
});
