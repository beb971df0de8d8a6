/**
 * However the intent changes after a consent, every change can be applied or closed, and responses name the people who may.
 * `act("approve", …)` approves as ana.
 */
import { expect, test } from "vitest";
import { type Core, core, makeCore } from "../../support/core.ts";
import { restartDeps } from "../../support/deps.ts";
import { passkey, sshSigner } from "../../support/passkeys.ts";
import { decide, person, proofFields, requestStatement } from "../../support/signed.ts";

const [ANA, BO] = [passkey(), sshSigner()];
const coreWithPolicy = (policy: object, principals: object = {}) => core({ intent: { policy, principals } });
/** The same service after a restart under another policy. */
const restartWithPolicy = async (api: Core, policy: object, principals: object = {}): Promise<Core> =>
  makeCore(await restartDeps(api.deps, { intent: { policy, principals } }));
const readGate = async (api: Core, change_id: string, name: string) =>
  (await api.change(change_id)).gates.find(({ gate }) => gate === name)!;
const MINOR = { minor: { kinds: ["config"], targets: ["*"] } };
const MINOR_CHANGE = { tier: "minor", affected_users: 1, risk: "low", reversible: true };

test("a change whose approvers have all left the intent is revoked by a current approver", async () => {
  const before = await coreWithPolicy({
    approvers: ["bo", "cy"],
    required_approvers: { standard: 2 },
    self_approval: false,
  });
  const first = (await before.propose({ proposer: "ana" })).change_id;
  const second = (await before.propose({ proposer: "ana", target: "ui.other" })).change_id;
  for (const change_id of [first, second])
    for (const approver of ["bo", "cy"]) await before.post("approve", { change_id, approver });
  const api = await restartWithPolicy(before, { approvers: ["ana", "dee"], self_approval: false });
  const explanation = "nobody who approved it can decide today: each person who may approve it may revoke it";
  const rejected = await api.act("apply", first);
  expect(rejected.body).toMatchObject({ code: "consent_incomplete", allowed: ["approve", "revoke"] });
  expect(rejected.body.error).toContain(`which nobody is left to give; ${explanation}`);
  expect(rejected.body.missing).toEqual([{ rule: "required_approvers", count: 2, of: ["dee"], unreachable: true }]);
  expect(await readGate(api, first, "consent")).toMatchObject({
    state: "block",
    message: `0 of 2 consents; too few are left who may, and ${explanation}`,
  });
  for (const approver of ["eve", "agent:x"])
    expect((await api.post("revoke", { change_id: first, approver })).body.code).toBe("not_an_approver");
  expect((await api.post("revoke", { change_id: first, approver: "dee" })).body).toMatchObject({ decision: "revoked" });
  expect((await api.post("revoke", { change_id: second, approver: "ana" })).body).toMatchObject({ status: "denied" });
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
});

test("while a consenting person can still decide, no other person revokes the change", async () => {
  const before = await coreWithPolicy({ required_approvers: { standard: 2 } });
  const { change_id } = await before.propose();
  for (const approver of ["ana", "bo"]) await before.post("approve", { change_id, approver });
  const api = await restartWithPolicy(before, { approvers: ["bo", "cy", "dee"], required_approvers: { standard: 2 } });
  expect((await api.post("revoke", { change_id, approver: "cy" })).body.code).toBe("not_an_approver");
  expect((await readGate(api, change_id, "consent")).message).toBe("1 of 2 consents");
  expect((await api.post("revoke", { change_id, approver: "bo" })).status).toBe(200);
});

test("under signed_only a person without a key cannot decide, and a person with a key revokes", async () => {
  // An intent that names a key is signed_only unless it says otherwise.
  const before = await coreWithPolicy({}, { ana: person(ANA), bo: person(BO) });
  const { change_id } = await before.propose();
  await decide(before, ANA, "approve", { change_id, approver: "ana" });
  expect(await before.post("revoke", { change_id, approver: "bo" })).toMatchObject({ status: 403 });
  const api = await restartWithPolicy(before, {}, { ana: { kind: "person" }, bo: person(BO) });
  expect((await api.act("apply", change_id)).body).toMatchObject({ missing: [{ of: ["bo"] }] });
  expect((await api.post("revoke", { change_id, approver: "ana" })).body.code).toBe("proof_required");
  expect((await api.post("revoke", { change_id, approver: "bo" })).body.code).toBe("proof_required");
  expect((await decide(api, BO, "revoke", { change_id, approver: "bo" })).body.decision).toBe("revoked");
});

test("a minor change, approved by the intent alone, is revoked by an approver", async () => {
  const api = await coreWithPolicy({ ...MINOR, approvers: ["ana"] });
  const { change_id, status } = await api.propose(MINOR_CHANGE);
  expect(status).toBe("approved");
  expect((await api.change(change_id)).allowed_actions).toEqual(["apply", "revoke"]);
  expect((await api.post("revoke", { change_id, approver: "bo" })).body.code).toBe("not_an_approver");
  const revoked = await api.post("revoke", { change_id, approver: "ana", note: "not now" });
  expect(revoked.body).toMatchObject({ status: "denied", change: { resolution: "revoked" } });
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
});

test("the gate of a minor change whose target is now forbidden names the people who may revoke", async () => {
  const before = await coreWithPolicy(MINOR);
  const { change_id } = await before.propose(MINOR_CHANGE);
  const api = await restartWithPolicy(before, { ...MINOR, forbidden_targets: ["ui.*"] });
  expect((await api.act("apply", change_id)).body).toMatchObject({ code: "forbidden_target", allowed: ["revoke"] });
  expect((await readGate(api, change_id, "forbidden_target")).message).toBe(
    "ui.banner is under the intent's forbidden_targets; nobody approved it but the intent: each person who may approve it may revoke it",
  );
});

test("a repeated consent approves a pending change whose quorum was lowered", async () => {
  const before = await coreWithPolicy({ approvers: ["ana", "bo"], required_approvers: { standard: 1 } });
  const { change_id } = await before.propose();
  const raised = await restartWithPolicy(before, { approvers: ["ana", "bo"], required_approvers: { standard: 2 } });
  expect((await raised.act("approve", change_id)).body.status).toBe("pending_consent");
  expect((await raised.act("approve", change_id)).body.code).toBe("already_decided");
  const api = await restartWithPolicy(raised, { approvers: ["ana"], required_approvers: { standard: 1 } });
  expect(await api.change(change_id)).toMatchObject({ status: "pending_consent", missing: [] });
  expect((await api.post("approve", { change_id, approver: "bo" })).body.code).toBe("not_an_approver");
  expect((await api.act("approve", change_id)).body.status).toBe("approved");
  expect((await api.act("apply", change_id)).status).toBe(200);
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
});

test("a repeated emergency consent approves a pending change whose emergency quorum was lowered", async () => {
  const rules = (approvers: string[], required: number) => ({
    approvers: ["ana"],
    break_glass: { approvers, required },
  });
  const before = await coreWithPolicy(rules(["oncall", "sre"], 2));
  const { change_id } = await before.propose();
  const approveInEmergency = (api: Core) =>
    api.post("approve", { change_id, approver: "oncall", note: "now", emergency: true });
  expect((await approveInEmergency(before)).body.status).toBe("pending_consent");
  expect((await approveInEmergency(before)).body.code).toBe("already_decided");
  const api = await restartWithPolicy(before, rules(["oncall"], 1));
  expect((await approveInEmergency(api)).body.status).toBe("approved");
  expect((await api.act("apply", change_id)).status).toBe(200);
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
});

test("an emergency whose approvers left the intent is revoked by an ordinary approver", async () => {
  const before = await coreWithPolicy({ approvers: ["ana"], break_glass: { approvers: ["oncall"] } });
  const { change_id } = await before.propose();
  await before.post("approve", { change_id, approver: "oncall", note: "now", emergency: true });
  expect((await before.post("revoke", { change_id, approver: "ana" })).body.code).toBe("not_an_approver");
  const api = await restartWithPolicy(before, { approvers: ["ana"] });
  expect((await api.post("revoke", { change_id, approver: "ana" })).status).toBe(200);
});

test("a proposal without a proposer can be closed with a signature under signed_only", async () => {
  const before = await coreWithPolicy({});
  const [first, second] = [await before.propose(), await before.propose({ target: "ui.other" })];
  const api = await restartWithPolicy(before, { self_approval: false }, { ana: person(ANA) });
  const { change_id } = first;
  expect((await api.post("withdraw", { change_id, proposer: "ana" })).body.code).toBe("proof_required");
  expect((await decide(api, ANA, "withdraw", { change_id, approver: "ana" })).body.status).toBe("denied");
  const denied = await decide(api, ANA, "deny", { change_id: second.change_id, approver: "ana" });
  expect(denied.body.status).toBe("denied");
});

test("a change with too few remaining approvers can be denied, and its gate says so", async () => {
  const before = await coreWithPolicy({ approvers: ["ana", "bo"], required_approvers: { standard: 2 } });
  const { change_id } = await before.propose({ proposer: "bo" });
  await before.act("approve", change_id);
  const api = await restartWithPolicy(before, {
    approvers: ["ana", "bo"],
    required_approvers: { standard: 2 },
    self_approval: false,
  });
  expect((await readGate(api, change_id, "consent")).message).toBe(
    "1 of 2 consents; too few are left who may, and each person who may approve it may deny it",
  );
  expect((await api.post("deny", { change_id, approver: "bo" })).body.status).toBe("denied");
});

test("a person whose key was replaced may consent again", async () => {
  const before = await coreWithPolicy({ required_approvers: { standard: 2 } }, { ana: person(ANA), bo: person(BO) });
  const { change_id } = await before.propose();
  await decide(before, ANA, "approve", { change_id, approver: "ana" });
  const newKey = passkey();
  const api = await restartWithPolicy(
    before,
    { required_approvers: { standard: 2 } },
    { ana: person(newKey), bo: person(BO) },
  );
  for (const [approver, signer] of [
    ["bo", BO],
    ["ana", newKey],
  ] as const)
    expect((await decide(api, signer, "approve", { change_id, approver })).status).toBe(200);
  expect((await api.act("apply", change_id)).status).toBe(200);
});

test("a review that no person may complete is a warning, until the intent names a reviewer again", async () => {
  const policy = { approvers: ["ana", "bo"], break_glass: { approvers: ["ana"] } };
  const before = await coreWithPolicy(policy, { ana: person(ANA), bo: person(BO) });
  const { change_id } = await before.propose();
  const fields = { change_id, approver: "ana", note: "now" };
  const statement = await requestStatement(before, { decision: "approve_emergency", ...fields });
  await before.post("approve", { ...fields, emergency: true, ...proofFields(ANA, statement) });
  expect((await readGate(before, change_id, "review")).message).not.toContain("nobody");
  const api = await restartWithPolicy(before, { approvers: ["ana"] }, { ana: person(ANA), bo: person(BO) });
  expect(await readGate(api, change_id, "review")).toMatchObject({
    state: "warn",
    message: expect.stringContaining("nobody may under today's intent, which has to name somebody else"),
  });
  const restored = await restartWithPolicy(api, policy, { ana: person(ANA), bo: person(BO) });
  const reviewed = await decide(restored, BO, "review", { change_id, approver: "bo", verdict: "accepted" });
  expect(reviewed.status).toBe(200);
});
