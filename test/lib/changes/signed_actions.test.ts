/** Signed actions other than consents: reviews, late notes, freezing and unfreezing, proposals; each proof works once. */
import { describe, expect, test } from "vitest";
import { statementText } from "../../../lib/changes/rules/statement.ts";
import { FOLLOWUP, PROPOSAL } from "../../support/client.ts";
import { HOUR } from "../../support/clock.ts";
import { type Core, core } from "../../support/core.ts";
import { passkey, sshSigner } from "../../support/passkeys.ts";
import { postSignedAction, decide, person, proofFields, requestStatement } from "../../support/signed.ts";

/** Keys of three people; `eve` has none. */
const [ANA, BO, CEM] = [passkey(), sshSigner(), passkey("EdDSA")];
const PRINCIPALS = { ana: person(ANA), bo: person(BO), cem: person(CEM), eve: { kind: "person" } };
const coreWithPolicy = (policy: object = {}) => core({ intent: { principals: PRINCIPALS, policy } });
const parseDetail = ({ body }: { body: { audit_entry: { detail: string } } }) => JSON.parse(body.audit_entry.detail);
/** Age at which a statement is no longer accepted: after ten minutes. */
const STATEMENT_EXPIRED_MS = 600_001;
/** Age at which the record that a statement was used is deleted: a day later, by which the clock may be behind the log. */
const RECORD_EXPIRED_MS = 24 * HOUR + STATEMENT_EXPIRED_MS;
const rejection = (code: string, status = 403) => ({ status, body: { code } });

describe("a freeze", () => {
  test("must be signed by people with keys; lifting it must always be signed", async () => {
    const api = await coreWithPolicy();
    expect(await api.post("freeze", { actor: "ana" })).toMatchObject(rejection("proof_required"));
    const until = "2026-12-24T09:00:00+01:00";
    const frozen = await postSignedAction(api, ANA, "freeze", { actor: "ana", note: "stop", until });
    expect(frozen).toMatchObject({ status: 200, body: { frozen: true, freeze: { actor: "ana" } } });
    const { statement, proof, key, ...reported } = parseDetail(frozen);
    const { manifest_hash } = api.deps.product!;
    const facts = { actor: "ana", note: "stop", until: "2026-12-24T08:00:00.000Z", manifest_hash };
    expect(reported).toEqual({ ...facts, authenticated: "signature" });
    const { origin } = frozen.body.audit_entry;
    expect(statement).toBe(statementText({ ...facts, origin, decision: "freeze", at: api.deps.clock.iso() }));
    expect([proof.type, key]).toEqual(["webauthn", expect.stringMatching(/^SHA256:/)]);
    for (const actor of ["ana", "eve", "nobody"])
      expect(await api.post("unfreeze", { actor })).toMatchObject(rejection("proof_required"));
    const lifted = await postSignedAction(api, BO, "unfreeze", { actor: "bo", note: "go" });
    expect(lifted).toMatchObject({ status: 200, body: { frozen: false } });
    expect(parseDetail(lifted)).toMatchObject({ actor: "bo", note: "go", authenticated: "signature" });
    expect(JSON.parse(parseDetail(lifted).statement)).not.toHaveProperty("until");
    expect(await api.post("freeze", { actor: "eve" })).toMatchObject({ status: 200, body: { frozen: true } });
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true });
  });

  test("can be lifted unsigned by a person without keys if signed_only is false", async () => {
    const api = await coreWithPolicy({ signed_only: false });
    await api.post("freeze", { actor: "eve" });
    expect(await api.post("unfreeze", { actor: "ana" })).toMatchObject(rejection("proof_required"));
    expect((await api.post("unfreeze", { actor: "eve" })).status).toBe(200);
  });

  test("is rejected with a proof of another note, end or action", async () => {
    const api = await coreWithPolicy();
    const statement = await requestStatement(api, {
      decision: "freeze",
      approver: "ana",
      until: "2027-01-01T00:00:00Z",
    });
    const fields = { actor: "ana", until: "2027-01-01T00:00:00Z", ...proofFields(ANA, statement) };
    const { until: _, ...withoutUntil } = fields;
    for (const other of [{ ...fields, note: "x" }, { ...fields, until: "2027-01-02T00:00:00Z" }, withoutUntil])
      expect(await api.post("freeze", other)).toMatchObject(rejection("proof_invalid"));
    await api.post("freeze", { actor: "eve" });
    expect(await api.post("unfreeze", withoutUntil)).toMatchObject(rejection("proof_invalid"));
    // The freeze by eve has no end, so an end would shorten it.
    expect((await api.post("freeze", fields)).body.code).toBe("invalid_field");
  });
});

describe("a review", () => {
  const approveInEmergency = async (policy: object = {}): Promise<[Core, string]> => {
    const api = await coreWithPolicy({ break_glass: { approvers: ["cem"] }, ...policy });
    const { change_id } = await api.propose();
    const fields = { change_id, approver: "cem", note: "now" };
    const statement = await requestStatement(api, { decision: "approve_emergency", ...fields });
    await api.post("approve", { ...fields, emergency: true, ...proofFields(CEM, statement) });
    return [api, change_id];
  };

  test("needs a signature that covers its verdict", async () => {
    const [api, change_id] = await approveInEmergency();
    const fields = { change_id, verdict: "not_accepted", note: "too soon" };
    for (const approver of ["ana", "eve"])
      expect(await api.post("review", { ...fields, approver })).toMatchObject(rejection("proof_required"));
    const statement = await requestStatement(api, { decision: "review", approver: "ana", ...fields });
    expect(JSON.parse(statement)).toMatchObject({ decision: "review", verdict: "not_accepted", approver: "ana" });
    const proof = proofFields(ANA, statement);
    const other = { ...fields, approver: "ana", verdict: "accepted", ...proof };
    expect(await api.post("review", other)).toMatchObject(rejection("proof_invalid"));
    const reviewed = await api.post("review", { ...fields, approver: "ana", ...proof });
    expect(reviewed).toMatchObject({ status: 200, body: { verdict: "not_accepted" } });
    expect(parseDetail(reviewed)).toMatchObject({ statement, authenticated: "signature" });
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true });
  });

  test("by a person without keys needs no signature if signed_only is false", async () => {
    const [api, change_id] = await approveInEmergency({ signed_only: false });
    expect(await api.post("review", { change_id, approver: "ana", verdict: "accepted" })).toMatchObject(
      rejection("proof_required"),
    );
    expect((await api.post("review", { change_id, approver: "eve", verdict: "accepted" })).status).toBe(200);
  });
});

describe("a late note", () => {
  const RATIONALE = { item: "rationale", note: "Support raised it by hand." };
  const bringDenied = async (api: Core): Promise<string> => {
    const { change_id } = await api.propose();
    await decide(api, BO, "deny", { change_id, approver: "bo" });
    return change_id;
  };

  test("must be signed with its item by a person with keys, and is unsigned by any other", async () => {
    const api = await coreWithPolicy();
    const change_id = await bringDenied(api);
    const signedFields = { change_id, approver: "ana", ...RATIONALE };
    const { approver: _, ...fields } = { ...signedFields, actor: "ana" };
    expect(await api.post("note", fields)).toMatchObject(rejection("proof_required"));
    const statement = await requestStatement(api, { decision: "note", ...signedFields });
    const { digest } = await api.change(change_id);
    const statementFacts = { decision: "note", change_id, digest, approver: "ana", ...RATIONALE };
    expect(JSON.parse(statement)).toMatchObject(statementFacts);
    const proof = proofFields(ANA, statement);
    for (const other of [{ item: "note" }, { note: "x" }, { actor: "bo" }])
      expect(await api.post("note", { ...fields, ...proof, ...other })).toMatchObject(rejection("proof_invalid"));
    const reply = await api.post("note", { ...fields, ...proof });
    expect(reply).toMatchObject({ status: 200, body: { change: { late_notes: [{ ...RATIONALE, actor: "ana" }] } } });
    expect(parseDetail(reply)).toMatchObject({ statement, authenticated: "signature", actor: "ana", ...RATIONALE });
    const claimed = await api.post("note", { change_id, actor: "eve", item: "note", note: "Too soon." });
    expect(claimed.status).toBe(200);
    expect(parseDetail(claimed)).not.toHaveProperty("proof");
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
  });

  test("is checked for its transition, then its name, its proof, and last its revision", async () => {
    const api = await coreWithPolicy();
    const change_id = await bringDenied(api);
    const add = async (fields: object = {}, headers = {}) =>
      (await api.post("note", { change_id, ...RATIONALE, ...fields }, headers)).body.code;
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

describe("a proof works once", () => {
  test("for a proposal", async () => {
    const api = await coreWithPolicy({ self_approval: false });
    const statement = await requestStatement(api, {
      decision: "propose",
      approver: "ana",
      proposal: JSON.stringify(PROPOSAL),
    });
    const fields = { ...PROPOSAL, proposer: "ana", ...proofFields(ANA, statement) };
    const key = { "idempotency-key": "k1" };
    const first = await api.post("propose", fields, key);
    expect(first.status).toBe(201);
    expect((await api.post("propose", fields, key)).body).toEqual(first.body);
    const repeated = await api.post("propose", fields);
    expect(repeated).toMatchObject(rejection("proof_invalid"));
    expect(repeated.body.error).toContain("used already; sign it again, with another at");
    await decide(api, ANA, "withdraw", { change_id: first.body.change_id, approver: "ana" });
    // A new signature of the same statement does not make it usable again.
    expect(await api.post("propose", { ...fields, ...proofFields(ANA, statement) })).toMatchObject(
      rejection("proof_invalid"),
    );
    expect(await api.steps()).toHaveLength(2);
  });

  test("for a freeze and for an unfreeze", async () => {
    const api = await coreWithPolicy();
    const freeze = {
      actor: "ana",
      ...proofFields(ANA, await requestStatement(api, { decision: "freeze", approver: "ana" })),
    };
    const unfreeze = {
      actor: "ana",
      ...proofFields(ANA, await requestStatement(api, { decision: "unfreeze", approver: "ana" })),
    };
    expect((await api.post("freeze", freeze)).status).toBe(200);
    expect((await api.post("unfreeze", unfreeze)).status).toBe(200);
    expect(await api.post("freeze", freeze)).toMatchObject(rejection("proof_invalid"));
    await api.post("freeze", { actor: "eve" });
    expect(await api.post("unfreeze", unfreeze)).toMatchObject(rejection("proof_invalid"));
  });

  test.each(["withdraw", "erase"] as const)("for %s", async (decision) => {
    const api = await coreWithPolicy();
    const { change_id } = await api.propose();
    if (decision === "erase") await decide(api, BO, "deny", { change_id, approver: "bo" });
    const name = decision === "erase" ? { actor: "ana" } : { proposer: "ana" };
    const statement = await requestStatement(api, { decision, change_id, approver: "ana" });
    const fields = { change_id, ...name, ...proofFields(ANA, statement) };
    expect((await api.post(decision, fields)).status).toBe(200);
    const { length } = await api.audit();
    expect(await api.post(decision, fields)).toMatchObject(rejection("illegal_transition", 400));
    expect(await api.audit()).toHaveLength(length);
    const used = await api.deps.store.list("used_statements", { limit: 9, keysOnly: true });
    expect(used.map(({ id }) => id)).toEqual([expect.stringMatching(`:${api.deps.sha256(statement)}$`)]);
  });

  test("and its record is deleted once the statement is too old to be used", async () => {
    const api = await coreWithPolicy();
    const listUsedStatements = () => api.deps.store.list("used_statements", { limit: 99, keysOnly: true });
    /** Uses two statements. */
    const round = async () => {
      await postSignedAction(api, ANA, "freeze", { actor: "ana" });
      await postSignedAction(api, ANA, "unfreeze", { actor: "ana" });
      // The statements of the next round have another time, so they are others.
      api.deps.clock.advance(1);
    };
    for (let count = 0; count < 5; count++) await round();
    expect(await listUsedStatements()).toHaveLength(10);
    api.deps.clock.advance(RECORD_EXPIRED_MS);
    for (let count = 0; count < 5; count++) await round();
    expect(await listUsedStatements()).toHaveLength(10);
    api.deps.clock.advance(RECORD_EXPIRED_MS);
    for (let count = 0; count < 3; count++) await round();
    expect(await listUsedStatements()).toHaveLength(6);
  });

  test("also on a clock that was set back", async () => {
    const api = await coreWithPolicy();
    await api.post("freeze", { actor: "eve" });
    const statement = await requestStatement(api, { decision: "unfreeze", approver: "ana" });
    const unfreeze = { actor: "ana", ...proofFields(ANA, statement) };
    expect((await api.post("unfreeze", unfreeze)).status).toBe(200);
    // A use at a later time must not delete the record of the first one.
    api.deps.clock.advance(STATEMENT_EXPIRED_MS);
    await api.post("freeze", { actor: "eve" });
    await postSignedAction(api, BO, "unfreeze", { actor: "bo" });
    await api.post("freeze", { actor: "eve" });
    api.deps.clock.advance(-STATEMENT_EXPIRED_MS);
    expect(await api.post("unfreeze", unfreeze)).toMatchObject(rejection("proof_invalid"));
  });

  test("but may be sent again after a rejected request", async () => {
    const api = await coreWithPolicy();
    const unfreeze = {
      actor: "ana",
      ...proofFields(ANA, await requestStatement(api, { decision: "unfreeze", approver: "ana" })),
    };
    expect((await api.post("unfreeze", unfreeze)).body.code).toBe("illegal_transition");
    await api.post("freeze", { actor: "eve" });
    expect((await api.post("unfreeze", unfreeze)).status).toBe(200);
  });
});

test("a CRM follow-up can be proposed with a proof, once", async () => {
  const api = await coreWithPolicy({ self_approval: false });
  const fields = { ...FOLLOWUP, proposer: "ana" };
  expect(await api.post("propose-crm-followup", fields)).toMatchObject(rejection("proposer_unknown"));
  const request = { decision: "propose", approver: "ana", followup: JSON.stringify(FOLLOWUP) };
  const proof = proofFields(ANA, await requestStatement(api, request));
  const other = { ...fields, affected_users: 41, ...proof };
  expect(await api.post("propose-crm-followup", other)).toMatchObject(rejection("proof_invalid"));
  const proposed = await api.post("propose-crm-followup", { ...fields, ...proof });
  expect(proposed).toMatchObject({ status: 201, body: { target: "crm.followup", proposer_kind: "person" } });
  expect(await api.post("propose-crm-followup", { ...fields, ...proof })).toMatchObject(rejection("proof_invalid"));
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
])("a statement with a missing or misplaced %s is rejected", async (field, request) => {
  const api = await coreWithPolicy();
  const { status, body } = await api.post("consent-statement", { approver: "ana", ...request });
  expect([status, body.fields?.[0].field]).toEqual([400, field]);
});
