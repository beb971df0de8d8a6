/** Owners of a target must consent in addition to the quorum; responses name the missing and the consenting people. */
import { expect, test } from "vitest";
import { core, makeCore, type Core } from "../../support/core.ts";
import { restartDeps } from "../../support/deps.ts";

/** Bo owns what `billing.*` matches, and is also an approver; names are compared without case and spaces. */
const OWNED = {
  approvers: ["ana", "bo"],
  owners: [{ targets: ["billing.*"], approvers: ["fin", "Bo "], required: 1 }],
};
const BILLING = { target: "billing.rate", proposer: "pat" };

const coreWithPolicy = (policy: object) => core({ intent: { policy } });
const restartWithPolicy = async (api: Core, policy: object) =>
  makeCore(await restartDeps(api.deps, { intent: { policy } }));
const approve = (api: Core, change_id: string, approver: string) => api.post("approve", { change_id, approver });

test("a change of an owned target needs an owner's consent, and lists the missing people", async () => {
  const api = await coreWithPolicy(OWNED);
  const { change_id } = await api.propose(BILLING);
  expect((await api.change(change_id)).missing).toEqual([
    { rule: "required_approvers", count: 1, of: ["ana", "bo"] },
    { rule: "owners billing.*", count: 1, of: ["fin", "bo"] },
  ]);
  const first = await approve(api, change_id, "ana");
  expect(first.body).toMatchObject({ status: "pending_consent" });
  expect(JSON.parse(first.body.audit_entry.detail).progress).toBe("1 of 1");
  const view = await api.change(change_id);
  expect(view.missing).toEqual([{ rule: "owners billing.*", count: 1, of: ["fin", "bo"] }]);
  expect(view.gates).toContainEqual({
    gate: "owners",
    state: "block",
    message: "1 more of fin, bo must consent: owners billing.*",
  });
  expect((await approve(api, change_id, "FIN")).body.status).toBe("approved");
  expect((await api.act("apply", change_id)).status).toBe(200);
  expect((await api.change(change_id)).signers).toEqual([
    { approver: "ana", authenticated: "claimed", key: null },
    { approver: "FIN", authenticated: "claimed", key: null },
  ]);
});

test("the response to a proposal lists the needed consents by rule", async () => {
  const api = await coreWithPolicy(OWNED);
  expect((await api.propose(BILLING)).missing).toEqual([
    { rule: "required_approvers", count: 1, of: ["ana", "bo"] },
    { rule: "owners billing.*", count: 1, of: ["fin", "bo"] },
  ]);
  expect((await api.propose({ ...BILLING, target: "ui.banner" })).missing).toEqual([
    { rule: "required_approvers", count: 1, of: ["ana", "bo"] },
  ]);
});

test("the response to an approval lists the consents still missing", async () => {
  const api = await coreWithPolicy(OWNED);
  const { change_id } = await api.propose(BILLING);
  const missing = [{ rule: "owners billing.*", count: 1, of: ["fin", "bo"] }];
  expect((await approve(api, change_id, "ana")).body).toMatchObject({ status: "pending_consent", missing });
  const last = await approve(api, change_id, "fin");
  expect(last.body.status).toBe("approved");
  expect(last.body).not.toHaveProperty("missing");
  const stricter = await restartWithPolicy(api, {
    ...OWNED,
    approvers: ["ana", "bo", "cy"],
    required_approvers: { standard: 3 },
  });
  const further = await approve(stricter, change_id, "bo");
  expect(further.body).toMatchObject({ status: "approved", missing: [{ rule: "required_approvers", count: 1 }] });
});

test("an owner's consent counts for the quorum only if they are an approver too", async () => {
  const api = await coreWithPolicy(OWNED);
  const first = (await api.propose(BILLING)).change_id;
  const second = (await api.propose(BILLING)).change_id;
  expect((await approve(api, first, "fin")).body.status).toBe("pending_consent");
  expect((await api.change(first)).missing).toEqual([{ rule: "required_approvers", count: 1, of: ["ana", "bo"] }]);
  expect((await approve(api, second, "bo")).body.status).toBe("approved");
});

test("an owner can decide on their own targets only", async () => {
  const api = await coreWithPolicy(OWNED);
  const owned = (await api.propose(BILLING)).change_id;
  const other = (await api.propose({ target: "ui.banner" })).change_id;
  expect((await approve(api, other, "fin")).body.code).toBe("not_an_approver");
  expect((await approve(api, other, "ana")).body.status).toBe("approved");
  expect((await api.post("deny", { change_id: owned, approver: "fin" })).body.status).toBe("denied");
});

test("owners cannot approve their own proposals without self-approval", async () => {
  const api = await coreWithPolicy({ ...OWNED, self_approval: false });
  const { change_id } = await api.propose({ ...BILLING, proposer: "fin" });
  expect((await approve(api, change_id, "fin")).body.code).toBe("self_approval_forbidden");
  expect((await api.change(change_id)).missing.at(-1)).toEqual({ rule: "owners billing.*", count: 1, of: ["bo"] });
});

test("a change of an owned target is never minor", async () => {
  const minor = { kinds: ["config"], targets: ["*"] };
  const api = await coreWithPolicy({ ...OWNED, minor });
  const minorFields = { tier: "minor", affected_users: 1, risk: "low", reversible: true };
  expect(await api.propose({ ...BILLING, ...minorFields })).toMatchObject({
    tier: "standard",
    status: "pending_consent",
  });
  expect(await api.propose({ ...minorFields, target: "ui.x" })).toMatchObject({ tier: "minor", status: "approved" });
});

test("an approved change whose target got owners later needs their consent to be applied", async () => {
  const before = await coreWithPolicy({});
  const change_id = await before.bring("approved", BILLING);
  const api = await restartWithPolicy(before, { ...OWNED, approvers: ["ana", "bo"] });
  const rejected = await api.act("apply", change_id);
  expect(rejected).toMatchObject({ status: 403, body: { code: "consent_incomplete" } });
  expect(rejected.body.missing).toEqual([{ rule: "owners billing.*", count: 1, of: ["fin", "bo"] }]);
  expect((await api.change(change_id)).allowed_actions).toContain("approve");
  const { body } = await approve(api, change_id, "fin");
  expect(body).toMatchObject({ status: "approved", change: { approvals: [{ approver: "ana" }, { approver: "fin" }] } });
  expect((await approve(api, change_id, "bo")).body.code).toBe("illegal_transition");
  expect((await api.get("audit/verify")).body.state.mismatched).toBe(0);
  expect((await api.act("apply", change_id)).status).toBe(200);
});

test("an approved change whose quorum was raised is applied once all consents are given", async () => {
  const before = await coreWithPolicy({});
  const change_id = await before.bring("approved", BILLING);
  const api = await restartWithPolicy(before, { required_approvers: { standard: 3 } });
  expect((await approve(api, change_id, "bo")).body).toMatchObject({ status: "approved" });
  expect((await api.act("apply", change_id)).body.code).toBe("consent_incomplete");
  expect((await approve(api, change_id, "cy")).body).toMatchObject({ status: "approved" });
  expect((await api.act("apply", change_id)).status).toBe(200);
  expect((await api.get("audit/verify")).body.state.mismatched).toBe(0);
});

test("consents of removed approvers do not count, and no approver counts twice", async () => {
  const twoConsents = { required_approvers: { standard: 2 } };
  const before = await coreWithPolicy({ approvers: ["ana", "bo"], ...twoConsents });
  const { change_id } = await before.propose();
  await approve(before, change_id, "ana");
  const withoutAna = await restartWithPolicy(before, { approvers: ["bo", "cy"], ...twoConsents });
  expect((await approve(withoutAna, change_id, "bo")).body.status).toBe("pending_consent");
  expect((await approve(withoutAna, change_id, "bo")).body.code).toBe("already_decided");
  expect((await approve(withoutAna, change_id, "cy")).body).toMatchObject({ status: "approved" });
  expect((await before.audit()).at(-1).detail).toContain('"progress":"2 of 2"');
});

test("without owners in the intent no further consent is accepted or needed", async () => {
  const api = await core();
  const change_id = await api.bring("approved");
  expect(await api.change(change_id)).toMatchObject({ missing: [], allowed_actions: ["apply", "revoke"] });
  expect((await approve(api, change_id, "bo")).body.code).toBe("illegal_transition");
});

test("a consent that no rule requires is rejected", async () => {
  const api = await core({ intent: { policy: { owners: [{ targets: ["ui.*"], approvers: ["fin"] }] } } });
  const { change_id } = await api.propose();
  expect((await api.post("approve", { change_id, approver: "ana" })).status).toBe(200);
  const further = await api.post("approve", { change_id, approver: "bo" });
  expect(further).toMatchObject({ status: 403, body: { code: "not_an_approver" } });
  expect((await api.post("approve", { change_id, approver: "fin" })).body.status).toBe("approved");
});
