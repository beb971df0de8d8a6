/** Signed actions other than consents: reviews, late notes, freezes and what lifts them, proposals; none can be sent twice. */
import { describe, expect, test } from "vitest";
import { statementText } from "../../../lib/changes/rules/statement.ts";
import { FOLLOWUP, PROPOSAL } from "../../support/client.ts";
import { HOUR } from "../../support/clock.ts";
import { type Core, core } from "../../support/core.ts";
import { passkey, sshPen } from "../../support/passkeys.ts";
import { act, decide, person, proven, requestStatement } from "../../support/signed.ts";

const [ANA, BO, CEM] = [passkey(), sshPen(), passkey("EdDSA")];
const PRINCIPALS = { ana: person(ANA), bo: person(BO), cem: person(CEM), eve: { kind: "person" } };
const under = (policy: object = {}) => core({ intent: { principals: PRINCIPALS, policy } });
const detailOf = ({ body }: { body: { audit_entry: { detail: string } } }) => JSON.parse(body.audit_entry.detail);
const refused = (code: string, status = 403) => ({ status, body: { code } });

describe("a freeze", () => {
  test("is signed by people with keys, and unsigned by others; lifting it is signed", async () => {
    const api = await under();
    expect(await api.post("freeze", { actor: "ana" })).toMatchObject(refused("proof_required"));
    const until = "2026-12-24T09:00:00+01:00";
    const frozen = await act(api, ANA, "freeze", { actor: "ana", note: "stop", until });
    expect(frozen).toMatchObject({ status: 200, body: { frozen: true, freeze: { actor: "ana" } } });
    const { statement, proof, key, ...reported } = detailOf(frozen);
    const { manifest_hash } = api.deps.product!;
    const facts = { actor: "ana", note: "stop", until: "2026-12-24T08:00:00.000Z", manifest_hash };
    expect(reported).toEqual({ ...facts, authenticated: "signature" });
    const { origin } = frozen.body.audit_entry;
    expect(statement).toBe(statementText({ ...facts, origin, decision: "freeze", at: api.deps.clock.iso() }));
    expect([proof.type, key]).toEqual(["webauthn", expect.stringMatching(/^SHA256:/)]);
    for (const actor of ["ana", "eve", "nobody"])
      expect(await api.post("unfreeze", { actor })).toMatchObject(refused("proof_required"));
    const lifted = await act(api, BO, "unfreeze", { actor: "bo", note: "go" });
    expect(lifted).toMatchObject({ status: 200, body: { frozen: false } });
    expect(detailOf(lifted)).toMatchObject({ actor: "bo", note: "go", authenticated: "signature" });
    expect(JSON.parse(detailOf(lifted).statement)).not.toHaveProperty("until");
    expect(await api.post("freeze", { actor: "eve" })).toMatchObject({ status: 200, body: { frozen: true } });
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true });
  });

  test("is lifted by a word where others than those with keys count", async () => {
    const api = await under({ signed_only: false });
    await api.post("freeze", { actor: "eve" });
    expect(await api.post("unfreeze", { actor: "ana" })).toMatchObject(refused("proof_required"));
    expect((await api.post("unfreeze", { actor: "eve" })).status).toBe(200);
  });

  test("is not the one that was signed, with another note, end or act", async () => {
    const api = await under();
    const statement = await requestStatement(api, {
      decision: "freeze",
      approver: "ana",
      until: "2027-01-01T00:00:00Z",
    });
    const fields = { actor: "ana", until: "2027-01-01T00:00:00Z", ...proven(ANA, statement) };
    const { until: _, ...endless } = fields;
    for (const other of [{ ...fields, note: "x" }, { ...fields, until: "2027-01-02T00:00:00Z" }, endless])
      expect(await api.post("freeze", other)).toMatchObject(refused("proof_invalid"));
    await api.post("freeze", { actor: "eve" });
    expect(await api.post("unfreeze", endless)).toMatchObject(refused("proof_invalid"));
    expect((await api.post("freeze", fields)).body.code).toBe("invalid_field");
  });
});

describe("a review", () => {
  const emergency = async (policy: object = {}): Promise<[Core, string]> => {
    const api = await under({ break_glass: { approvers: ["cem"] }, ...policy });
    const { change_id } = await api.propose();
    const fields = { change_id, approver: "cem", note: "now" };
    const statement = await requestStatement(api, { decision: "approve_emergency", ...fields });
    await api.post("approve", { ...fields, emergency: true, ...proven(CEM, statement) });
    return [api, change_id];
  };

  test("is signed with its verdict", async () => {
    const [api, change_id] = await emergency();
    const said = { change_id, verdict: "not_accepted", note: "too soon" };
    for (const approver of ["ana", "eve"])
      expect(await api.post("review", { ...said, approver })).toMatchObject(refused("proof_required"));
    const statement = await requestStatement(api, { decision: "review", approver: "ana", ...said });
    expect(JSON.parse(statement)).toMatchObject({ decision: "review", verdict: "not_accepted", approver: "ana" });
    const proof = proven(ANA, statement);
    const other = { ...said, approver: "ana", verdict: "accepted", ...proof };
    expect(await api.post("review", other)).toMatchObject(refused("proof_invalid"));
    const reviewed = await api.post("review", { ...said, approver: "ana", ...proof });
    expect(reviewed).toMatchObject({ status: 200, body: { verdict: "not_accepted" } });
    expect(detailOf(reviewed)).toMatchObject({ statement, authenticated: "signature" });
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true });
  });

  test("by one without keys is taken at its word where that counts", async () => {
    const [api, change_id] = await emergency({ signed_only: false });
    expect(await api.post("review", { change_id, approver: "ana", verdict: "accepted" })).toMatchObject(
      refused("proof_required"),
    );
    expect((await api.post("review", { change_id, approver: "eve", verdict: "accepted" })).status).toBe(200);
  });
});

describe("a late note", () => {
  const RATIONALE = { item: "rationale", note: "Support raised it by hand." };
  const denied = async (api: Core): Promise<string> => {
    const { change_id } = await api.propose();
    await decide(api, BO, "deny", { change_id, approver: "bo" });
    return change_id;
  };

  test("is signed with its item by a name with keys, and claimed by any other", async () => {
    const api = await under();
    const change_id = await denied(api);
    const said = { change_id, approver: "ana", ...RATIONALE };
    const { approver: _, ...sent } = { ...said, actor: "ana" };
    expect(await api.post("note", sent)).toMatchObject(refused("proof_required"));
    const statement = await requestStatement(api, { decision: "note", ...said });
    const { digest } = await api.change(change_id);
    const facts = { decision: "note", change_id, digest, approver: "ana", ...RATIONALE };
    expect(JSON.parse(statement)).toMatchObject(facts);
    const proof = proven(ANA, statement);
    for (const other of [{ item: "note" }, { note: "x" }, { actor: "bo" }])
      expect(await api.post("note", { ...sent, ...proof, ...other })).toMatchObject(refused("proof_invalid"));
    const noted = await api.post("note", { ...sent, ...proof });
    expect(noted).toMatchObject({ status: 200, body: { change: { late_notes: [{ ...RATIONALE, actor: "ana" }] } } });
    expect(detailOf(noted)).toMatchObject({ statement, authenticated: "signature", actor: "ana", ...RATIONALE });
    const claimed = await api.post("note", { change_id, actor: "eve", item: "note", note: "Too soon." });
    expect(claimed.status).toBe(200);
    expect(detailOf(claimed)).not.toHaveProperty("proof");
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
  });

  test("is rejected for its transition first, then for its name, its proof, and last its revision", async () => {
    const api = await under();
    const change_id = await denied(api);
    const add = async (over: object = {}, headers = {}) =>
      (await api.post("note", { change_id, ...RATIONALE, ...over }, headers)).body.code;
    const stale = { "if-match": '"1"' };
    const { change_id: pending } = await api.propose({ target: "ui.other" });
    expect(await add({ change_id: pending }, stale), "no name").toBe("illegal_transition");
    expect(await add({}, stale), "no name").toBe("invalid_field");
    expect(await add({ actor: "ana", at: api.deps.clock.iso() }, stale), "no proof").toBe("invalid_field");
    expect(await add({ actor: "ana" }, stale)).toBe("proof_required");
    expect(await add({ actor: "eve" }, stale)).toBe("version_mismatch");
    expect(await add({ actor: "eve" })).toBeUndefined();
  });
});

describe("a proof is good for one", () => {
  test("proposal", async () => {
    const api = await under({ self_approval: false });
    const statement = await requestStatement(api, {
      decision: "propose",
      approver: "ana",
      proposal: JSON.stringify(PROPOSAL),
    });
    const fields = { ...PROPOSAL, proposer: "ana", ...proven(ANA, statement) };
    const key = { "idempotency-key": "k1" };
    const first = await api.post("propose", fields, key);
    expect(first.status).toBe(201);
    expect((await api.post("propose", fields, key)).body).toEqual(first.body);
    const again = await api.post("propose", fields);
    expect(again).toMatchObject(refused("proof_invalid"));
    expect(again.body.error).toContain("used already; sign it again, with another at");
    await decide(api, ANA, "withdraw", { change_id: first.body.change_id, approver: "ana" });
    // Signed again, the same statement is still the same.
    expect(await api.post("propose", { ...fields, ...proven(ANA, statement) })).toMatchObject(refused("proof_invalid"));
    expect(await api.steps()).toHaveLength(2);
  });

  test("freeze, and one unfreeze", async () => {
    const api = await under();
    const freeze = {
      actor: "ana",
      ...proven(ANA, await requestStatement(api, { decision: "freeze", approver: "ana" })),
    };
    const unfreeze = {
      actor: "ana",
      ...proven(ANA, await requestStatement(api, { decision: "unfreeze", approver: "ana" })),
    };
    expect((await api.post("freeze", freeze)).status).toBe(200);
    expect((await api.post("unfreeze", unfreeze)).status).toBe(200);
    expect(await api.post("freeze", freeze)).toMatchObject(refused("proof_invalid"));
    await api.post("freeze", { actor: "eve" });
    expect(await api.post("unfreeze", unfreeze)).toMatchObject(refused("proof_invalid"));
  });

  test.each(["withdraw", "erase"] as const)("%s", async (decision) => {
    const api = await under();
    const { change_id } = await api.propose();
    if (decision === "erase") await decide(api, BO, "deny", { change_id, approver: "bo" });
    const name = decision === "erase" ? { actor: "ana" } : { proposer: "ana" };
    const statement = await requestStatement(api, { decision, change_id, approver: "ana" });
    const fields = { change_id, ...name, ...proven(ANA, statement) };
    expect((await api.post(decision, fields)).status).toBe(200);
    const { length } = await api.audit();
    expect(await api.post(decision, fields)).toMatchObject(refused("illegal_transition", 400));
    expect(await api.audit()).toHaveLength(length);
    const used = await api.deps.store.list("used_statements", { limit: 9, keysOnly: true });
    expect(used.map(({ id }) => id)).toEqual([expect.stringMatching(`:${api.deps.sha256(statement)}$`)]);
  });

  test("use, and what is noted of it is forgotten when its time is over", async () => {
    const api = await under();
    const used = () => api.deps.store.list("used_statements", { limit: 99, keysOnly: true });
    const round = async () => {
      await act(api, ANA, "freeze", { actor: "ana" });
      await act(api, ANA, "unfreeze", { actor: "ana" });
      api.deps.clock.advance(1);
    };
    for (let count = 0; count < 5; count++) await round();
    expect(await used()).toHaveLength(10);
    api.deps.clock.advance(24 * HOUR + 600_001);
    for (let count = 0; count < 5; count++) await round();
    expect(await used()).toHaveLength(10);
    api.deps.clock.advance(24 * HOUR + 600_001);
    for (let count = 0; count < 3; count++) await round();
    expect(await used()).toHaveLength(6);
  });

  test("use, on a clock that was set back, or in a process whose clock is behind", async () => {
    const api = await under();
    await api.post("freeze", { actor: "eve" });
    const statement = await requestStatement(api, { decision: "unfreeze", approver: "ana" });
    const unfreeze = { actor: "ana", ...proven(ANA, statement) };
    expect((await api.post("unfreeze", unfreeze)).status).toBe(200);
    api.deps.clock.advance(600_001);
    await api.post("freeze", { actor: "eve" });
    await act(api, BO, "unfreeze", { actor: "bo" });
    await api.post("freeze", { actor: "eve" });
    api.deps.clock.advance(-600_001);
    expect(await api.post("unfreeze", unfreeze)).toMatchObject(refused("proof_invalid"));
  });

  test("use: what was refused may be sent again", async () => {
    const api = await under();
    const unfreeze = {
      actor: "ana",
      ...proven(ANA, await requestStatement(api, { decision: "unfreeze", approver: "ana" })),
    };
    expect((await api.post("unfreeze", unfreeze)).body.code).toBe("illegal_transition");
    await api.post("freeze", { actor: "eve" });
    expect((await api.post("unfreeze", unfreeze)).status).toBe(200);
  });
});

test("a follow-up is proposed with a proof", async () => {
  const api = await under({ self_approval: false });
  const fields = { ...FOLLOWUP, proposer: "ana" };
  expect(await api.post("propose-crm-followup", fields)).toMatchObject(refused("proposer_unknown"));
  const asked = { decision: "propose", approver: "ana", followup: JSON.stringify(FOLLOWUP) };
  const proof = proven(ANA, await requestStatement(api, asked));
  const other = { ...fields, affected_users: 41, ...proof };
  expect(await api.post("propose-crm-followup", other)).toMatchObject(refused("proof_invalid"));
  const proposed = await api.post("propose-crm-followup", { ...fields, ...proof });
  expect(proposed).toMatchObject({ status: 201, body: { target: "crm.followup", proposer_kind: "person" } });
  expect(await api.post("propose-crm-followup", { ...fields, ...proof })).toMatchObject(refused("proof_invalid"));
});

test.each([
  ["change_id", { decision: "freeze", change_id: "chg_1" }],
  ["change_id", { decision: "propose", change_id: "chg_1" }],
  ["verdict", { decision: "approve", change_id: "chg_1", verdict: "accepted" }],
  ["verdict", { decision: "review", change_id: "chg_1" }],
  ["item", { decision: "approve", change_id: "chg_1", item: "note" }],
  ["item", { decision: "note", change_id: "chg_1" }],
  ["until", { decision: "unfreeze", until: "2027-01-01T00:00:00Z" }],
  ["proposal", { decision: "unfreeze", proposal: JSON.stringify(PROPOSAL) }],
  ["followup", { decision: "propose", proposal: JSON.stringify(PROPOSAL), followup: JSON.stringify(FOLLOWUP) }],
  ["proposal", { decision: "propose" }],
  ["note", { decision: "propose", note: "x" }],
])("%s stands in a statement where it belongs, and nowhere else", async (field, asked) => {
  const api = await under();
  const { status, body } = await api.post("consent-statement", { approver: "ana", ...asked });
  expect([status, body.fields?.[0].field]).toEqual([400, field]);
});
