/** Signed consents: accepted and rejected proofs, and their verification at the apply. */
import { describe, expect, test } from "vitest";
import { submitDraft } from "../../../lib/changes/commands/submit_draft.ts";
import { statementText } from "../../../lib/changes/rules/statement.ts";
import { listApprovals } from "../../../lib/operations/change_views.ts";
import { PROPOSAL } from "../../support/client.ts";
import { SECOND } from "../../support/clock.ts";
import { type Core, core, makeCore } from "../../support/core.ts";
import { restartDeps, type TestOptions } from "../../support/deps.ts";
import { passkey, sshSigner } from "../../support/passkeys.ts";
import { decide, forgeConsent, person, proofFields, requestStatement } from "../../support/signed.ts";

const [ANA, BO] = [passkey(), sshSigner()];
const PRINCIPALS = { "ana@acme.example": person(ANA), bo: person(BO), eve: { kind: "person" } };
const ana = "ana@acme.example";
const coreWithPolicy = (policy: object = {}, principals: object = PRINCIPALS, options: TestOptions = {}) =>
  core({ ...options, intent: { principals, policy } });
/** The same service after a restart with other principals. */
const restartWithPrincipals = async (api: Core, principals: object, policy: object = {}): Promise<Core> =>
  makeCore(await restartDeps(api.deps, { intent: { principals, policy } }));
const parseDetail = ({ body }: { body: { audit_entry: { detail: string } } }) => JSON.parse(body.audit_entry.detail);
const rejection = (code: string, status = 403) => ({ status, body: { code } });

test.each([
  ["a passkey", ANA, "signature"],
  ["an Ed25519 passkey", passkey("EdDSA"), "signature"],
  ["an RSA passkey", passkey("RS256"), "signature"],
  ["an SSH security key", sshSigner(), "signature"],
  ["an ECDSA SSH security key", sshSigner("sk-ecdsa-sha2-nistp256@openssh.com"), "signature"],
  ["an SSH key that signs unattended", sshSigner("ssh-ed25519"), "signature_unattended"],
  ["an ECDSA SSH key that signs unattended", sshSigner("ecdsa-sha2-nistp256"), "signature_unattended"],
] as const)(
  "a consent with %s is accepted, and its entry contains statement and proof",
  async (_, signer, authenticated) => {
    const api = await coreWithPolicy({}, { [ana]: person(signer) });
    const { change_id, digest } = await api.propose();
    const fields = { change_id, approver: ana, note: "as agreed" };
    const statement = await requestStatement(api, { decision: "approve", ...fields });
    const reply = await api.post("approve", { ...fields, ...proofFields(signer, statement) });
    expect(reply).toMatchObject({ status: 200, body: { status: "approved" } });
    const { origin } = reply.body.audit_entry;
    const { manifest_hash } = api.deps.product!;
    const facts = {
      origin,
      change_id,
      digest,
      decision: "approve",
      approver: ana,
      note: "as agreed",
      manifest_hash,
    } as const;
    expect(statement).toBe(statementText({ ...facts, at: api.deps.clock.iso() }));
    const detail = parseDetail(reply);
    expect(detail).toMatchObject({ actor: ana, authenticated, statement, key: expect.stringMatching(/^SHA256:/) });
    expect(detail.proof).toMatchObject({ type: signer.key.type });
    expect(reply.body.approvals).toEqual([
      { approver: ana, note: "as agreed", at: expect.any(String), key: detail.key },
    ]);
    expect(await api.act("apply", change_id)).toMatchObject({ status: 200, body: { status: "applied" } });
  },
);

test("the returned challenge is signed by a passkey, and requesting it writes nothing", async () => {
  const api = await coreWithPolicy();
  const { change_id } = await api.propose();
  const before = await api.audit();
  const requested = await api.post("consent-statement", { decision: "approve", change_id, approver: ana });
  const { challenge } = JSON.parse(
    Buffer.from(ANA.sign(requested.body.statement).client_data_json, "base64url").toString(),
  );
  expect(requested.body.challenge).toBe(challenge);
  expect(await api.audit()).toEqual(before);
});

describe("unsigned decisions:", () => {
  test.each(["approve", "deny"])("no person can %s under signed_only", async (action) => {
    const api = await coreWithPolicy();
    const { change_id } = await api.propose();
    for (const approver of [ana, "bo", "eve", "somebody"])
      expect(await api.post(action, { change_id, approver })).toMatchObject(rejection("proof_required"));
    expect((await api.change(change_id)).status).toBe("pending_consent");
  });

  test("without signed_only, people without keys need no signature, people with keys do", async () => {
    const api = await coreWithPolicy({ signed_only: false, required_approvers: { standard: 2 } });
    const { change_id } = await api.propose();
    expect(await api.post("approve", { change_id, approver: ana })).toMatchObject(rejection("proof_required"));
    expect((await api.post("approve", { change_id, approver: "somebody" })).body.status).toBe("pending_consent");
    expect((await decide(api, ANA, "approve", { change_id, approver: ana })).body.status).toBe("approved");
    expect((await api.act("apply", change_id)).status).toBe(200);
  });

  test("an unsigned consent stops counting when the intent names keys", async () => {
    const before = await coreWithPolicy({}, {});
    // The consent is of ana.
    const change_id = await before.bring("approved");
    const api = await restartWithPrincipals(before, { ana: person(ANA), bo: person(BO) });
    expect((await api.act("apply", change_id)).status).toBe(403);
    expect((await api.change(change_id)).gates).toContainEqual(
      expect.objectContaining({ gate: "consent", state: "block" }),
    );
    const withKeyOfAna = await restartWithPrincipals(api, { ana: person(ANA) }, { signed_only: false });
    expect((await withKeyOfAna.act("apply", change_id)).status).toBe(403);
    const withKeyOfBo = await restartWithPrincipals(api, { bo: person(BO) }, { signed_only: false });
    expect((await withKeyOfBo.act("apply", change_id)).status).toBe(200);
  });

  test("a proposer with keys must sign a withdrawal", async () => {
    const api = await coreWithPolicy();
    const statement = await requestStatement(api, {
      decision: "propose",
      approver: "bo",
      proposal: JSON.stringify(PROPOSAL),
    });
    const { change_id } = (await api.post("propose", { ...PROPOSAL, proposer: "bo", ...proofFields(BO, statement) }))
      .body;
    expect(await api.post("withdraw", { change_id, proposer: "bo" })).toMatchObject(rejection("proof_required"));
    expect((await decide(api, BO, "withdraw", { change_id, approver: "bo" })).body.status).toBe("denied");
  });
});

describe("a proof is rejected", () => {
  const FACTS = ["origin", "change_id", "digest", "approver", "note", "manifest_hash", "at", "decision", "v"];
  test.each(FACTS)("for another %s", async (field) => {
    const api = await coreWithPolicy();
    const { change_id } = await api.propose();
    const statement = await requestStatement(api, { decision: "approve", change_id, approver: ana });
    const facts = JSON.parse(statement);
    const otherFacts: Record<string, string> = { decision: "approve_emergency", at: "2026-01-02T03:04:06.678Z" };
    const other = otherFacts[field] ?? `${facts[field]}x`;
    const fields = proofFields(ANA, JSON.stringify({ ...facts, [field]: other }));
    const reply = await api.post("approve", { change_id, approver: ana, ...fields, at: facts.at });
    expect(reply).toMatchObject(rejection("proof_invalid"));
    expect((await api.post("approve", { change_id, approver: ana, ...proofFields(ANA, statement) })).status).toBe(200);
  });

  test("more than ten minutes before or after the current time", async () => {
    const api = await coreWithPolicy();
    const { change_id } = await api.propose();
    const sendSignedAt = async (offsetSeconds: number) => {
      const at = new Date(api.deps.clock.now() + offsetSeconds * SECOND).toISOString();
      const statement = await requestStatement(api, { decision: "approve", change_id, approver: ana, at });
      return api.post("approve", { change_id, approver: ana, ...proofFields(ANA, statement) });
    };
    expect(await sendSignedAt(601)).toMatchObject(rejection("proof_invalid"));
    expect(await sendSignedAt(-601)).toMatchObject(rejection("proof_invalid"));
    expect((await sendSignedAt(-600)).status).toBe(200);
  });

  test("by another person's key or an unknown key", async () => {
    const api = await coreWithPolicy();
    const { change_id } = await api.propose();
    for (const [approver, signer] of [
      [ana, BO],
      ["bo", ANA],
      ["eve", ANA],
      [ana, passkey()],
    ] as const)
      expect(await decide(api, signer, "approve", { change_id, approver })).toMatchObject(rejection("proof_invalid"));
  });

  test.each(["[".repeat(150) + "]".repeat(150), '"\\ud800"', "1".repeat(5000)])(
    "with client data that other verifiers may be unable to parse: %#",
    async (json) => {
      const api = await coreWithPolicy();
      const { change_id } = await api.propose();
      const statement = await requestStatement(api, { decision: "approve", change_id, approver: ana });
      const rewrite = (text: string) => text.replace("{", `{"x":${json},`);
      const signer = { ...ANA, sign: (text: string) => ANA.sign(text, { rewrite }) };
      const sent = { change_id, approver: ana, ...proofFields(signer, statement) };
      expect(await api.post("approve", sent)).toMatchObject(rejection("proof_invalid"));
    },
  );

  test("that is incomplete or not JSON", async () => {
    const api = await coreWithPolicy();
    const { change_id } = await api.propose();
    const { proof, at } = proofFields(
      ANA,
      await requestStatement(api, { decision: "approve", change_id, approver: ana }),
    );
    for (const incomplete of [{ proof: proof! }, { at: at! }, { proof: "{}", at: at! }, { proof: "no JSON", at: at! }])
      expect(await api.post("approve", { change_id, approver: ana, ...incomplete })).toMatchObject(
        rejection("invalid_field", 400),
      );
  });
});

describe("under signed_only without self-approval,", () => {
  const STRICT = { self_approval: false };
  const proposeSigned = async (api: Core, proposal: Record<string, string>) => {
    const statement = await requestStatement(api, {
      decision: "propose",
      approver: ana,
      proposal: JSON.stringify(proposal),
    });
    return api.post("propose", { ...proposal, proposer: ana, ...proofFields(ANA, statement) });
  };

  test("a proposal needs an authenticated proposer", async () => {
    const api = await coreWithPolicy(STRICT);
    for (const proposer of [ana, "bo", "eve", "peer:x"])
      expect(await api.post("propose", { ...PROPOSAL, proposer })).toMatchObject(rejection("proposer_unknown"));
    const reply = await proposeSigned(api, PROPOSAL);
    expect(reply.status).toBe(201);
    expect(parseDetail(reply)).toMatchObject({
      actor: ana,
      authenticated: "signature",
      proposer_kind: "person",
      proof: { type: "webauthn" },
    });
    const { change_id } = reply.body;
    expect(await decide(api, ANA, "approve", { change_id, approver: ana })).toMatchObject(
      rejection("self_approval_forbidden"),
    );
    expect(await api.post("withdraw", { change_id, proposer: ana })).toMatchObject(rejection("proof_required"));
    expect((await decide(api, BO, "approve", { change_id, approver: "bo" })).status).toBe(200);
  });

  test("a proof of a proposal is valid for its content only", async () => {
    const api = await coreWithPolicy(STRICT);
    const statement = await requestStatement(api, {
      decision: "propose",
      approver: ana,
      proposal: JSON.stringify(PROPOSAL),
    });
    const other = { ...PROPOSAL, summary: "Another", proposer: ana, ...proofFields(ANA, statement) };
    expect(await api.post("propose", other)).toMatchObject(rejection("proof_invalid"));
  });

  test("a proposer named by the proxy needs no signature, also to withdraw", async () => {
    const api = await coreWithPolicy(STRICT, PRINCIPALS, { identityHeader: "x-person" });
    const eve = { "x-person": "eve" };
    const { change_id } = (await api.post("propose", PROPOSAL, eve)).body;
    expect((await api.post("withdraw", { change_id, proposer: "eve" }, eve)).status).toBe(200);
  });

  test("a person without keys cannot withdraw unless the proxy names them", async () => {
    const proxied = await coreWithPolicy(STRICT, PRINCIPALS, { identityHeader: "x-person" });
    const { change_id } = (await proxied.post("propose", PROPOSAL, { "x-person": "eve" })).body;
    const api = await restartWithPrincipals(proxied, PRINCIPALS, STRICT);
    expect(await api.post("withdraw", { change_id, proposer: "eve" })).toMatchObject(rejection("proposer_unknown"));
  });

  test("a model's draft needs no signature", async () => {
    const api = await coreWithPolicy(STRICT);
    const requester = { asked_by: "eve", isVerified: true, message_id: "m1" };
    const input = { ...PROPOSAL, kind: "config" as const, proposer: "llm:m1" as const };
    expect(await submitDraft(api.deps, input, requester)).toMatchObject({ proposer: "llm:m1" });
  });
});

describe("at the apply", () => {
  const bringApproved = async (policy: object = {}) => {
    const api = await coreWithPolicy(policy);
    const { change_id } = await api.propose();
    await decide(api, ANA, "approve", { change_id, approver: ana });
    return { api, change_id };
  };

  test.each<[string, object]>([
    ["its key was removed", { bo: person(BO), [ana]: { kind: "person", keys: [passkey().key] } }],
    ["its key belongs to another person", { bo: person(BO, ANA) }],
    [
      "its key is no longer allowed for the page's origin",
      { [ana]: { kind: "person", keys: [{ ...ANA.key, origins: ["https://a.gov.acme.example"] }] } },
    ],
  ])("a consent stops counting when %s", async (_, principals) => {
    const { api, change_id } = await bringApproved();
    const restarted = await restartWithPrincipals(api, principals);
    expect((await restarted.act("apply", change_id)).status).toBe(403);
    expect((await api.act("apply", change_id)).status).toBe(200);
  });

  test("the consent gate blocks when the key belongs to another person", async () => {
    const { api, change_id } = await bringApproved();
    const readGateState = async (core: Core) =>
      (await core.change(change_id)).gates.find(({ gate }: { gate: string }) => gate === "consent")?.state;
    expect(await readGateState(api)).toBe("pass");
    expect(await readGateState(await restartWithPrincipals(api, { bo: person(BO, ANA) }))).toBe("block");
  });

  test("a consent still counts under another manifest with the same key", async () => {
    const { api, change_id } = await bringApproved();
    const restarted = await restartWithPrincipals(api, { [ana]: person(BO, ANA) });
    expect((await restarted.act("apply", change_id)).status).toBe(200);
  });

  test("a consent forged in log and record without a proof does not count", async () => {
    const api = await coreWithPolicy();
    const { change_id } = await api.propose();
    const { key } = parseDetail(await approveOther(api));
    await forgeConsent(api.deps, change_id, { approver: ana, note: "", authenticated: "signature", key });
    expect((await api.change(change_id)).status).toBe("approved");
    expect((await api.act("apply", change_id)).status).toBe(403);
    const { approved } = await listApprovals(api.deps, { limit: 10 });
    expect(approved.find((change) => change.change_id === change_id)!.missing).toMatchObject([{ count: 1 }]);
  });

  test("a proof copied from another change's entry does not count", async () => {
    const api = await coreWithPolicy();
    const { change_id } = await api.propose();
    const detail = parseDetail(await approveOther(api));
    await forgeConsent(api.deps, change_id, { ...detail, digest: (await api.change(change_id)).digest });
    expect((await api.act("apply", change_id)).status).toBe(403);
  });

  const approveOther = async (api: Core) => {
    const { change_id } = await api.propose({ target: "ui.other" });
    return decide(api, ANA, "approve", { change_id, approver: ana });
  };
});

describe("a consent that stopped counting can be given again", () => {
  test("a consent whose passkey changed its allowed origin is missing, and can be given again", async () => {
    const api = await coreWithPolicy({}, { [ana]: person(ANA) });
    const { change_id } = await api.propose();
    await decide(api, ANA, "approve", { change_id, approver: ana });
    const origins = ["https://console.gov.acme.example"];
    const restarted = await restartWithPrincipals(api, { [ana]: { kind: "person", keys: [{ ...ANA.key, origins }] } });
    expect(await restarted.act("apply", change_id)).toMatchObject(rejection("consent_incomplete"));
    const view = await restarted.change(change_id);
    expect(view.missing).toMatchObject([{ count: 1 }]);
    expect(view.gates).toContainEqual(expect.objectContaining({ gate: "consent", state: "block" }));
    const statement = await requestStatement(restarted, { decision: "approve", change_id, approver: ana });
    const { at } = JSON.parse(statement);
    const proof = JSON.stringify(ANA.sign(statement, { origin: origins[0]! }));
    expect((await restarted.post("approve", { change_id, approver: ana, proof, at })).status).toBe(200);
    expect((await restarted.act("apply", change_id)).status).toBe(200);
  });

  test("consents of one person with an old and a new key are distinguished by their keys", async () => {
    const [oldKey, newKey] = [passkey(), passkey()];
    const api = await coreWithPolicy({}, { [ana]: person(oldKey) });
    const { change_id } = await api.propose();
    // While the clock is behind the log, both consents get the time of the last entry: only their keys differ.
    api.deps.clock.advance(-3600 * SECOND);
    await decide(api, oldKey, "approve", { change_id, approver: ana });
    const rotated = await restartWithPrincipals(api, { [ana]: person(newKey) });
    expect((await decide(rotated, newKey, "approve", { change_id, approver: ana })).status).toBe(200);
    expect((await rotated.act("apply", change_id)).status).toBe(200);
  });
});

test("a non-canonical encoding of an RSA key is rejected, so two people cannot share a key", async () => {
  const signer = passkey("RS256");
  const spki = Buffer.from(signer.key.public_key, "base64url");
  // Four bytes of header and 15 of the algorithm come before the bit string with the key.
  // Writes the length of the bit string in three bytes instead of two.
  const bitString = spki.subarray(19);
  const body = Buffer.concat([spki.subarray(4, 19), Buffer.from([3, 0x83, 0]), bitString.subarray(2)]);
  const encoded = Buffer.concat([Buffer.from([0x30, 0x82, body.length >> 8, body.length & 255]), body]);
  const public_key = encoded.toString("base64url");
  const bo = { kind: "person", keys: [{ ...signer.key, credential_id: "AAAA", public_key }] };
  await expect(coreWithPolicy({}, { [ana]: person(signer), bo })).rejects.toThrow(
    /principals\.bo\.keys\.0\.public_key/,
  );
  await expect(coreWithPolicy({}, { [ana]: person(signer) })).resolves.toBeDefined();
});

test("without self-approval a model's draft needs a requester, proven under signed_only", async () => {
  const input = { ...PROPOSAL, kind: "config" as const, proposer: "llm:m1" as const };
  const draft = (api: Core, asked_by: string | null, isVerified = false) =>
    submitDraft(api.deps, input, { asked_by, isVerified, message_id: "m1" });
  const unsigned = await core({ intent: { policy: { self_approval: false } } });
  await expect(draft(unsigned, null)).rejects.toMatchObject({ code: "proposer_unknown" });
  expect(await draft(unsigned, "zed")).toMatchObject({ asked_by: "zed" });
  const signed = await coreWithPolicy({ self_approval: false });
  await expect(draft(signed, null)).rejects.toMatchObject({ code: "proposer_unknown" });
  await expect(draft(signed, "zed")).rejects.toMatchObject({ code: "proposer_unknown" });
  expect(await draft(signed, ana, true)).toMatchObject({ asked_by: ana });
  expect(await draft(await coreWithPolicy(), null)).toMatchObject({ proposer: "llm:m1" });
});
