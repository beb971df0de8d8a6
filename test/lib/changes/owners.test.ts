/** Owners of a target consent in addition to the tier's quorum; who is missing, and who consented, can be read. */
import { expect, test } from "vitest";
import { core, makeCore, type Core } from "../../support/core.ts";
import { restarted } from "../../support/deps.ts";

const OWNED = {
  approvers: ["ana", "bo"],
  owners: [{ targets: ["billing.*"], approvers: ["fin", "Bo "], required: 1 }],
};
const BILLING = { target: "billing.rate", proposer: "pat" };

const under = (policy: object) => core({ intent: { policy } });
const now = async (api: Core, policy: object) => makeCore(await restarted(api.deps, { intent: { policy } }));
const approve = (api: Core, change_id: string, approver: string) => api.post("approve", { change_id, approver });

test("the quorum alone does not approve what has owners, and the page says who is missing", async () => {
  const api = await under(OWNED);
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

test("the answer to a proposal names whose consent it needs, and by which rule", async () => {
  const api = await under(OWNED);
  expect((await api.propose(BILLING)).missing).toEqual([
    { rule: "required_approvers", count: 1, of: ["ana", "bo"] },
    { rule: "owners billing.*", count: 1, of: ["fin", "bo"] },
  ]);
  expect((await api.propose({ ...BILLING, target: "ui.banner" })).missing).toEqual([
    { rule: "required_approvers", count: 1, of: ["ana", "bo"] },
  ]);
});

test("the answer to an approval names whose consents are still missing, and then none", async () => {
  const api = await under(OWNED);
  const { change_id } = await api.propose(BILLING);
  const missing = [{ rule: "owners billing.*", count: 1, of: ["fin", "bo"] }];
  expect((await approve(api, change_id, "ana")).body).toMatchObject({ status: "pending_consent", missing });
  const last = await approve(api, change_id, "fin");
  expect(last.body.status).toBe("approved");
  expect(last.body).not.toHaveProperty("missing");
  const stricter = await now(api, { ...OWNED, approvers: ["ana", "bo", "cy"], required_approvers: { standard: 3 } });
  const further = await approve(stricter, change_id, "bo");
  expect(further.body).toMatchObject({ status: "approved", missing: [{ rule: "required_approvers", count: 1 }] });
});

test("an owner's consent counts for the quorum only where approvers name them", async () => {
  const api = await under(OWNED);
  const one = (await api.propose(BILLING)).change_id;
  const other = (await api.propose(BILLING)).change_id;
  expect((await approve(api, one, "fin")).body.status).toBe("pending_consent");
  expect((await api.change(one)).missing).toEqual([{ rule: "required_approvers", count: 1, of: ["ana", "bo"] }]);
  expect((await approve(api, other, "bo")).body.status).toBe("approved");
});

test("an owner decides on their targets, and on no others", async () => {
  const api = await under(OWNED);
  const owned = (await api.propose(BILLING)).change_id;
  const other = (await api.propose({ target: "ui.banner" })).change_id;
  expect((await approve(api, other, "fin")).body.code).toBe("not_an_approver");
  expect((await approve(api, other, "ana")).body.status).toBe("approved");
  expect((await api.post("deny", { change_id: owned, approver: "fin" })).body.status).toBe("denied");
});

test("owners do not approve their own proposals where nobody may", async () => {
  const api = await under({ ...OWNED, self_approval: false });
  const { change_id } = await api.propose({ ...BILLING, proposer: "fin" });
  expect((await approve(api, change_id, "fin")).body.code).toBe("self_approval_forbidden");
  expect((await api.change(change_id)).missing.at(-1)).toEqual({ rule: "owners billing.*", count: 1, of: ["bo"] });
});

test("what has owners is never minor", async () => {
  const minor = { kinds: ["config"], targets: ["*"] };
  const api = await under({ ...OWNED, minor });
  const asked = { tier: "minor", affected_users: 1, risk: "low", reversible: true };
  expect(await api.propose({ ...BILLING, ...asked })).toMatchObject({ tier: "standard", status: "pending_consent" });
  expect(await api.propose({ ...asked, target: "ui.x" })).toMatchObject({ tier: "minor", status: "approved" });
});

test("an approved change that lacks owners since is not applied, and takes their consent", async () => {
  const before = await under({});
  const change_id = await before.bring("approved", BILLING);
  const api = await now(before, { ...OWNED, approvers: ["ana", "bo"] });
  const refused = await api.act("apply", change_id);
  expect(refused).toMatchObject({ status: 403, body: { code: "consent_incomplete" } });
  expect(refused.body.missing).toEqual([{ rule: "owners billing.*", count: 1, of: ["fin", "bo"] }]);
  expect((await api.change(change_id)).allowed_actions).toContain("approve");
  const { body } = await approve(api, change_id, "fin");
  expect(body).toMatchObject({ status: "approved", change: { approvals: [{ approver: "ana" }, { approver: "fin" }] } });
  expect((await approve(api, change_id, "bo")).body.code).toBe("illegal_transition");
  expect((await api.get("audit/verify")).body.state.mismatched).toBe(0);
  expect((await api.act("apply", change_id)).status).toBe(200);
});

test("one more consent that is not enough leaves the change approved and held back", async () => {
  const before = await under({});
  const change_id = await before.bring("approved", BILLING);
  const api = await now(before, { required_approvers: { standard: 3 } });
  expect((await approve(api, change_id, "bo")).body).toMatchObject({ status: "approved" });
  expect((await api.act("apply", change_id)).body.code).toBe("consent_incomplete");
  expect((await approve(api, change_id, "cy")).body).toMatchObject({ status: "approved" });
  expect((await api.act("apply", change_id)).status).toBe(200);
  expect((await api.get("audit/verify")).body.state.mismatched).toBe(0);
});

test("a consent that counts no more is not counted, and one that counts twice is one", async () => {
  const two = { required_approvers: { standard: 2 } };
  const before = await under({ approvers: ["ana", "bo"], ...two });
  const { change_id } = await before.propose();
  await approve(before, change_id, "ana");
  const without = await now(before, { approvers: ["bo", "cy"], ...two });
  expect((await approve(without, change_id, "bo")).body.status).toBe("pending_consent");
  expect((await approve(without, change_id, "bo")).body.code).toBe("already_decided");
  expect((await approve(without, change_id, "cy")).body).toMatchObject({ status: "approved" });
  expect((await before.audit()).at(-1).detail).toContain('"progress":"2 of 2"');
});

test("without owners nothing is asked for that was not before", async () => {
  const api = await core();
  const change_id = await api.bring("approved");
  expect(await api.change(change_id)).toMatchObject({ missing: [], allowed_actions: ["apply", "revoke"] });
  expect((await approve(api, change_id, "bo")).body.code).toBe("illegal_transition");
});

test("a consent that no rule asks for is refused: passers-by cannot fill a change's record", async () => {
  const api = await core({ intent: { policy: { owners: [{ targets: ["ui.*"], approvers: ["fin"] }] } } });
  const { change_id } = await api.propose();
  expect((await api.post("approve", { change_id, approver: "ana" })).status).toBe(200);
  const further = await api.post("approve", { change_id, approver: "bo" });
  expect(further).toMatchObject({ status: 403, body: { code: "not_an_approver" } });
  expect((await api.post("approve", { change_id, approver: "fin" })).body.status).toBe("approved");
});
