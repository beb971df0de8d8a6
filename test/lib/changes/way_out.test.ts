/** Nobody is locked out: whatever rules come after a consent, a change can be applied or closed, and the answers say by whom. */
import { expect, test } from "vitest";
import { type Core, core, makeCore } from "../../support/core.ts";
import { restarted } from "../../support/deps.ts";
import { passkey, sshPen } from "../../support/passkeys.ts";
import { decide, person, proven, requestStatement } from "../../support/signed.ts";

const [ANA, BO] = [passkey(), sshPen()];
const under = (policy: object, principals: object = {}) => core({ intent: { policy, principals } });
const now = async (api: Core, policy: object, principals: object = {}): Promise<Core> =>
  makeCore(await restarted(api.deps, { intent: { policy, principals } }));
const gate = async (api: Core, change_id: string, name: string) =>
  (await api.change(change_id)).gates.find(({ gate }) => gate === name)!;
const MINOR = { minor: { kinds: ["config"], targets: ["*"] } };
const MINOR_CHANGE = { tier: "minor", affected_users: 1, risk: "low", reversible: true };

test("a change whose approvers have all left is revoked by one who decides today", async () => {
  const before = await under({ approvers: ["bo", "cy"], required_approvers: { standard: 2 }, self_approval: false });
  const first = (await before.propose({ proposer: "ana" })).change_id;
  const second = (await before.propose({ proposer: "ana", target: "ui.other" })).change_id;
  for (const change_id of [first, second])
    for (const approver of ["bo", "cy"]) await before.post("approve", { change_id, approver });
  const api = await now(before, { approvers: ["ana", "dee"], self_approval: false });
  const words = "nobody who approved it can decide today: each person who may approve it may revoke it";
  const refused = await api.act("apply", first);
  expect(refused.body).toMatchObject({ code: "consent_incomplete", allowed: ["approve", "revoke"] });
  expect(refused.body.error).toContain(`which nobody is left to give; ${words}`);
  expect(refused.body.missing).toEqual([{ rule: "required_approvers", count: 2, of: ["dee"], unreachable: true }]);
  expect(await gate(api, first, "consent")).toMatchObject({
    state: "block",
    message: `0 of 2 consents; too few are left who may, and ${words}`,
  });
  for (const approver of ["eve", "agent:x"])
    expect((await api.post("revoke", { change_id: first, approver })).body.code).toBe("not_an_approver");
  expect((await api.post("revoke", { change_id: first, approver: "dee" })).body).toMatchObject({ decision: "revoked" });
  expect((await api.post("revoke", { change_id: second, approver: "ana" })).body).toMatchObject({ status: "denied" });
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
});

test("while one who approved can still decide, nobody else takes it back", async () => {
  const before = await under({ required_approvers: { standard: 2 } });
  const { change_id } = await before.propose();
  for (const approver of ["ana", "bo"]) await before.post("approve", { change_id, approver });
  const api = await now(before, { approvers: ["bo", "cy", "dee"], required_approvers: { standard: 2 } });
  expect((await api.post("revoke", { change_id, approver: "cy" })).body.code).toBe("not_an_approver");
  expect((await gate(api, change_id, "consent")).message).toBe("1 of 2 consents");
  expect((await api.post("revoke", { change_id, approver: "bo" })).status).toBe(200);
});

test("under signed_only a person without a key cannot decide, and a person with one revokes", async () => {
  const before = await under({}, { ana: person(ANA), bo: person(BO) });
  const { change_id } = await before.propose();
  await decide(before, ANA, "approve", { change_id, approver: "ana" });
  expect(await before.post("revoke", { change_id, approver: "bo" })).toMatchObject({ status: 403 });
  const api = await now(before, {}, { ana: { kind: "person" }, bo: person(BO) });
  expect((await api.act("apply", change_id)).body).toMatchObject({ missing: [{ of: ["bo"] }] });
  expect((await api.post("revoke", { change_id, approver: "ana" })).body.code).toBe("proof_required");
  expect((await api.post("revoke", { change_id, approver: "bo" })).body.code).toBe("proof_required");
  expect((await decide(api, BO, "revoke", { change_id, approver: "bo" })).body.decision).toBe("revoked");
});

test("a minor change, which nobody approved, is revoked by one who may approve", async () => {
  const api = await under({ ...MINOR, approvers: ["ana"] });
  const { change_id, status } = await api.propose(MINOR_CHANGE);
  expect(status).toBe("approved");
  expect((await api.change(change_id)).allowed_actions).toEqual(["apply", "revoke"]);
  expect((await api.post("revoke", { change_id, approver: "bo" })).body.code).toBe("not_an_approver");
  const revoked = await api.post("revoke", { change_id, approver: "ana", note: "not now" });
  expect(revoked.body).toMatchObject({ status: "denied", change: { resolution: "revoked" } });
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
});

test("a minor change on a target that was forbidden since names who may revoke it", async () => {
  const before = await under(MINOR);
  const { change_id } = await before.propose(MINOR_CHANGE);
  const api = await now(before, { ...MINOR, forbidden_targets: ["ui.*"] });
  expect((await api.act("apply", change_id)).body).toMatchObject({ code: "forbidden_target", allowed: ["revoke"] });
  expect((await gate(api, change_id, "forbidden_target")).message).toBe(
    "ui.banner is under the intent's forbidden_targets; nobody approved it but the intent: each person who may approve it may revoke it",
  );
});

test("a change whose quorum came down behind it waits for one more word of anybody who may", async () => {
  const before = await under({ approvers: ["ana", "bo"], required_approvers: { standard: 1 } });
  const { change_id } = await before.propose();
  const grown = await now(before, { approvers: ["ana", "bo"], required_approvers: { standard: 2 } });
  expect((await grown.act("approve", change_id)).body.status).toBe("pending_consent");
  expect((await grown.act("approve", change_id)).body.code).toBe("already_decided");
  const api = await now(grown, { approvers: ["ana"], required_approvers: { standard: 1 } });
  expect(await api.change(change_id)).toMatchObject({ status: "pending_consent", missing: [] });
  expect((await api.post("approve", { change_id, approver: "bo" })).body.code).toBe("not_an_approver");
  expect((await api.act("approve", change_id)).body.status).toBe("approved");
  expect((await api.act("apply", change_id)).status).toBe(200);
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
});

test("an emergency whose quorum came down likewise", async () => {
  const rules = (approvers: string[], required: number) => ({
    approvers: ["ana"],
    break_glass: { approvers, required },
  });
  const before = await under(rules(["oncall", "sre"], 2));
  const { change_id } = await before.propose();
  const urgent = (api: Core) => api.post("approve", { change_id, approver: "oncall", note: "now", emergency: true });
  expect((await urgent(before)).body.status).toBe("pending_consent");
  expect((await urgent(before)).body.code).toBe("already_decided");
  const api = await now(before, rules(["oncall"], 1));
  expect((await urgent(api)).body.status).toBe("approved");
  expect((await api.act("apply", change_id)).status).toBe(200);
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
});

test("an emergency's approvers who left leave it to those who may decide", async () => {
  const before = await under({ approvers: ["ana"], break_glass: { approvers: ["oncall"] } });
  const { change_id } = await before.propose();
  await before.post("approve", { change_id, approver: "oncall", note: "now", emergency: true });
  expect((await before.post("revoke", { change_id, approver: "ana" })).body.code).toBe("not_an_approver");
  const api = await now(before, { approvers: ["ana"] });
  expect((await api.post("revoke", { change_id, approver: "ana" })).status).toBe(200);
});

test("a proposal that nobody put their name to is closed where only signatures count", async () => {
  const before = await under({});
  const [first, second] = [await before.propose(), await before.propose({ target: "ui.other" })];
  const api = await now(before, { self_approval: false }, { ana: person(ANA) });
  const { change_id } = first;
  expect((await api.post("withdraw", { change_id, proposer: "ana" })).body.code).toBe("proof_required");
  expect((await decide(api, ANA, "withdraw", { change_id, approver: "ana" })).body.status).toBe("denied");
  const denied = await decide(api, ANA, "deny", { change_id: second.change_id, approver: "ana" });
  expect(denied.body.status).toBe("denied");
});

test("a pending change that too few are left to approve says so, and is denied", async () => {
  const before = await under({ approvers: ["ana", "bo"], required_approvers: { standard: 2 } });
  const { change_id } = await before.propose({ proposer: "bo" });
  await before.act("approve", change_id);
  const api = await now(before, {
    approvers: ["ana", "bo"],
    required_approvers: { standard: 2 },
    self_approval: false,
  });
  expect((await gate(api, change_id, "consent")).message).toBe(
    "1 of 2 consents; too few are left who may, and each person who may approve it may deny it",
  );
  expect((await api.post("deny", { change_id, approver: "bo" })).body.status).toBe("denied");
});

test("a consent with a key that is gone does not keep its name from another", async () => {
  const before = await under({ required_approvers: { standard: 2 } }, { ana: person(ANA), bo: person(BO) });
  const { change_id } = await before.propose();
  await decide(before, ANA, "approve", { change_id, approver: "ana" });
  const fresh = passkey();
  const api = await now(before, { required_approvers: { standard: 2 } }, { ana: person(fresh), bo: person(BO) });
  for (const [approver, pen] of [
    ["bo", BO],
    ["ana", fresh],
  ] as const)
    expect((await decide(api, pen, "approve", { change_id, approver })).status).toBe(200);
  expect((await api.act("apply", change_id)).status).toBe(200);
});

test("a review that nobody is left to give says so, and holds nothing up", async () => {
  const policy = { approvers: ["ana", "bo"], break_glass: { approvers: ["ana"] } };
  const before = await under(policy, { ana: person(ANA), bo: person(BO) });
  const { change_id } = await before.propose();
  const fields = { change_id, approver: "ana", note: "now" };
  const statement = await requestStatement(before, { decision: "approve_emergency", ...fields });
  await before.post("approve", { ...fields, emergency: true, ...proven(ANA, statement) });
  expect((await gate(before, change_id, "review")).message).not.toContain("nobody");
  const api = await now(before, { approvers: ["ana"] }, { ana: person(ANA), bo: person(BO) });
  expect(await gate(api, change_id, "review")).toMatchObject({
    state: "warn",
    message: expect.stringContaining("nobody may under today's intent, which has to name somebody else"),
  });
  const back = await now(api, policy, { ana: person(ANA), bo: person(BO) });
  const reviewed = await decide(back, BO, "review", { change_id, approver: "bo", verdict: "accepted" });
  expect(reviewed.status).toBe(200);
});
