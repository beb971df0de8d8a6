/** Signed consents: what counts, what is refused, and what is asked again when a change is applied. */
import { describe, expect, test } from "vitest";
import { submitDraft } from "../../../lib/changes/commands/submit_draft.ts";
import { statementText } from "../../../lib/changes/rules/statement.ts";
import { listApprovals } from "../../../lib/operations/change_views.ts";
import { PROPOSAL } from "../../support/client.ts";
import { SECOND } from "../../support/clock.ts";
import { type Core, core, makeCore } from "../../support/core.ts";
import { restarted, type TestOptions } from "../../support/deps.ts";
import { passkey, sshPen } from "../../support/passkeys.ts";
import { decide, forgeConsent, person, proven, requestStatement } from "../../support/signed.ts";

const [ANA, BO] = [passkey(), sshPen()];
const PRINCIPALS = { "ana@acme.example": person(ANA), bo: person(BO), eve: { kind: "person" } };
const ana = "ana@acme.example";
const under = (policy: object = {}, principals: object = PRINCIPALS, options: TestOptions = {}) =>
  core({ ...options, intent: { principals, policy } });
const now = async (api: Core, principals: object, policy: object = {}): Promise<Core> =>
  makeCore(await restarted(api.deps, { intent: { principals, policy } }));
const detailOf = ({ body }: { body: { audit_entry: { detail: string } } }) => JSON.parse(body.audit_entry.detail);
const refused = (code: string, status = 403) => ({ status, body: { code } });

test.each([
  ["a passkey", ANA, "signature"],
  ["an Ed25519 passkey", passkey("EdDSA"), "signature"],
  ["an RSA passkey", passkey("RS256"), "signature"],
  ["a security key of SSH", sshPen(), "signature"],
  ["an ECDSA security key of SSH", sshPen("sk-ecdsa-sha2-nistp256@openssh.com"), "signature"],
  ["an SSH key that signs by itself", sshPen("ssh-ed25519"), "signature_unattended"],
  ["an ECDSA key of SSH that signs by itself", sshPen("ecdsa-sha2-nistp256"), "signature_unattended"],
] as const)("%s consents, and the entry keeps what it signed", async (_, pen, authenticated) => {
  const api = await under({}, { [ana]: person(pen) });
  const { change_id, digest } = await api.propose();
  const fields = { change_id, approver: ana, note: "as agreed" };
  const statement = await requestStatement(api, { decision: "approve", ...fields });
  const reply = await api.post("approve", { ...fields, ...proven(pen, statement) });
  expect(reply).toMatchObject({ status: 200, body: { status: "approved" } });
  const { origin } = reply.body.audit_entry;
  const { manifest_hash } = api.deps.product!;
  const made = {
    origin,
    change_id,
    digest,
    decision: "approve",
    approver: ana,
    note: "as agreed",
    manifest_hash,
  } as const;
  expect(statement).toBe(statementText({ ...made, at: api.deps.clock.iso() }));
  const detail = detailOf(reply);
  expect(detail).toMatchObject({ actor: ana, authenticated, statement, key: expect.stringMatching(/^SHA256:/) });
  expect(detail.proof).toMatchObject({ type: pen.key.type });
  expect(reply.body.approvals).toEqual([{ approver: ana, note: "as agreed", at: expect.any(String), key: detail.key }]);
  expect(await api.act("apply", change_id)).toMatchObject({ status: 200, body: { status: "applied" } });
});

test("the challenge is what a passkey is asked to sign, and nothing is written for it", async () => {
  const api = await under();
  const { change_id } = await api.propose();
  const before = await api.audit();
  const asked = await api.post("consent-statement", { decision: "approve", change_id, approver: ana });
  const { challenge } = JSON.parse(
    Buffer.from(ANA.sign(asked.body.statement).client_data_json, "base64url").toString(),
  );
  expect(asked.body.challenge).toBe(challenge);
  expect(await api.audit()).toEqual(before);
});

describe("unsigned:", () => {
  test.each(["approve", "deny"])("nobody can %s where only signatures count", async (action) => {
    const api = await under();
    const { change_id } = await api.propose();
    for (const approver of [ana, "bo", "eve", "somebody"])
      expect(await api.post(action, { change_id, approver })).toMatchObject(refused("proof_required"));
    expect((await api.change(change_id)).status).toBe("pending_consent");
  });

  test("others need no signature where the intent says so; people with keys must still sign", async () => {
    const api = await under({ signed_only: false, required_approvers: { standard: 2 } });
    const { change_id } = await api.propose();
    expect(await api.post("approve", { change_id, approver: ana })).toMatchObject(refused("proof_required"));
    expect((await api.post("approve", { change_id, approver: "somebody" })).body.status).toBe("pending_consent");
    expect((await decide(api, ANA, "approve", { change_id, approver: ana })).body.status).toBe("approved");
    expect((await api.act("apply", change_id)).status).toBe(200);
  });

  test("a consent from before there were keys counts no more", async () => {
    const before = await under({}, {});
    const change_id = await before.bring("approved");
    const api = await now(before, { ana: person(ANA), bo: person(BO) });
    expect((await api.act("apply", change_id)).status).toBe(403);
    expect((await api.change(change_id)).gates).toContainEqual(
      expect.objectContaining({ gate: "consent", state: "block" }),
    );
    expect((await (await now(api, { ana: person(ANA) }, { signed_only: false })).act("apply", change_id)).status).toBe(
      403,
    );
    expect((await (await now(api, { bo: person(BO) }, { signed_only: false })).act("apply", change_id)).status).toBe(
      200,
    );
  });

  test("a proposer with keys must sign a withdrawal", async () => {
    const api = await under();
    const statement = await requestStatement(api, {
      decision: "propose",
      approver: "bo",
      proposal: JSON.stringify(PROPOSAL),
    });
    const { change_id } = (await api.post("propose", { ...PROPOSAL, proposer: "bo", ...proven(BO, statement) })).body;
    expect(await api.post("withdraw", { change_id, proposer: "bo" })).toMatchObject(refused("proof_required"));
    expect((await decide(api, BO, "withdraw", { change_id, approver: "bo" })).body.status).toBe("denied");
  });
});

describe("a proof is refused that is", () => {
  const FACTS = ["origin", "change_id", "digest", "approver", "note", "manifest_hash", "at", "decision", "v"];
  test.each(FACTS)("of another %s", async (field) => {
    const api = await under();
    const { change_id } = await api.propose();
    const statement = await requestStatement(api, { decision: "approve", change_id, approver: ana });
    const said = JSON.parse(statement);
    const other =
      field === "decision" ? "approve_emergency" : field === "at" ? "2026-01-02T03:04:06.678Z" : `${said[field]}x`;
    const fields = proven(ANA, JSON.stringify({ ...said, [field]: other }));
    const reply = await api.post("approve", { change_id, approver: ana, ...fields, at: said.at });
    expect(reply).toMatchObject(refused("proof_invalid"));
    expect((await api.post("approve", { change_id, approver: ana, ...proven(ANA, statement) })).status).toBe(200);
  });

  test("more than ten minutes from the clock, either way", async () => {
    const api = await under();
    const { change_id } = await api.propose();
    const sent = async (seconds: number) => {
      const at = new Date(api.deps.clock.now() + seconds * SECOND).toISOString();
      const statement = await requestStatement(api, { decision: "approve", change_id, approver: ana, at });
      return api.post("approve", { change_id, approver: ana, ...proven(ANA, statement) });
    };
    expect(await sent(601)).toMatchObject(refused("proof_invalid"));
    expect(await sent(-601)).toMatchObject(refused("proof_invalid"));
    expect((await sent(-600)).status).toBe(200);
  });

  test("another's, or nobody's", async () => {
    const api = await under();
    const { change_id } = await api.propose();
    for (const [approver, pen] of [
      [ana, BO],
      ["bo", ANA],
      ["eve", ANA],
      [ana, passkey()],
    ] as const)
      expect(await decide(api, pen, "approve", { change_id, approver })).toMatchObject(refused("proof_invalid"));
  });

  test.each(["[".repeat(150) + "]".repeat(150), '"\\ud800"', "1".repeat(5000)])(
    "of client data that verifiers outside may not read: %#",
    async (json) => {
      const api = await under();
      const { change_id } = await api.propose();
      const statement = await requestStatement(api, { decision: "approve", change_id, approver: ana });
      const rewrite = (text: string) => text.replace("{", `{"x":${json},`);
      const pen = { ...ANA, sign: (said: string) => ANA.sign(said, { rewrite }) };
      const sent = { change_id, approver: ana, ...proven(pen, statement) };
      expect(await api.post("approve", sent)).toMatchObject(refused("proof_invalid"));
    },
  );

  test("half a proof, or none", async () => {
    const api = await under();
    const { change_id } = await api.propose();
    const { proof, at } = proven(ANA, await requestStatement(api, { decision: "approve", change_id, approver: ana }));
    for (const half of [{ proof: proof! }, { at: at! }, { proof: "{}", at: at! }, { proof: "no JSON", at: at! }])
      expect(await api.post("approve", { change_id, approver: ana, ...half })).toMatchObject(
        refused("invalid_field", 400),
      );
  });
});

describe("where only signatures count and nobody approves their own,", () => {
  const STRICT = { self_approval: false };
  const signedProposal = async (api: Core, proposal: Record<string, string>) => {
    const statement = await requestStatement(api, {
      decision: "propose",
      approver: ana,
      proposal: JSON.stringify(proposal),
    });
    return api.post("propose", { ...proposal, proposer: ana, ...proven(ANA, statement) });
  };

  test("a proposal says by itself whose it is, or is refused", async () => {
    const api = await under(STRICT);
    for (const proposer of [ana, "bo", "eve", "peer:x"])
      expect(await api.post("propose", { ...PROPOSAL, proposer })).toMatchObject(refused("proposer_unknown"));
    const reply = await signedProposal(api, PROPOSAL);
    expect(reply.status).toBe(201);
    expect(detailOf(reply)).toMatchObject({
      actor: ana,
      authenticated: "signature",
      proposer_kind: "person",
      proof: { type: "webauthn" },
    });
    const { change_id } = reply.body;
    expect(await decide(api, ANA, "approve", { change_id, approver: ana })).toMatchObject(
      refused("self_approval_forbidden"),
    );
    expect(await api.post("withdraw", { change_id, proposer: ana })).toMatchObject(refused("proof_required"));
    expect((await decide(api, BO, "approve", { change_id, approver: "bo" })).status).toBe(200);
  });

  test("a proof of a proposal is of this content alone", async () => {
    const api = await under(STRICT);
    const statement = await requestStatement(api, {
      decision: "propose",
      approver: ana,
      proposal: JSON.stringify(PROPOSAL),
    });
    const other = { ...PROPOSAL, summary: "Another", proposer: ana, ...proven(ANA, statement) };
    expect(await api.post("propose", other)).toMatchObject(refused("proof_invalid"));
  });

  test("the proxy's word is enough, for withdrawals too", async () => {
    const api = await under(STRICT, PRINCIPALS, { identityHeader: "x-person" });
    const eve = { "x-person": "eve" };
    const { change_id } = (await api.post("propose", PROPOSAL, eve)).body;
    expect((await api.post("withdraw", { change_id, proposer: "eve" }, eve)).status).toBe(200);
  });

  test("a withdrawal of somebody without keys needs it", async () => {
    const proxied = await under(STRICT, PRINCIPALS, { identityHeader: "x-person" });
    const { change_id } = (await proxied.post("propose", PROPOSAL, { "x-person": "eve" })).body;
    const api = await now(proxied, PRINCIPALS, STRICT);
    expect(await api.post("withdraw", { change_id, proposer: "eve" })).toMatchObject(refused("proposer_unknown"));
  });

  test("a model's draft needs no signature", async () => {
    const api = await under(STRICT);
    const asked = { asked_by: "eve", known: true, message_id: "m1" };
    const input = { ...PROPOSAL, kind: "config" as const, proposer: "llm:m1" as const };
    expect(await submitDraft(api.deps, input, asked)).toMatchObject({ proposer: "llm:m1" });
  });
});

describe("at the apply", () => {
  const approved = async (policy: object = {}) => {
    const api = await under(policy);
    const { change_id } = await api.propose();
    await decide(api, ANA, "approve", { change_id, approver: ana });
    return { api, change_id };
  };

  test.each<[string, object]>([
    ["the key was taken away", { bo: person(BO), [ana]: { kind: "person", keys: [passkey().key] } }],
    ["the key is somebody else's now", { bo: person(BO, ANA) }],
    [
      "its pages may no longer ask for it",
      { [ana]: { kind: "person", keys: [{ ...ANA.key, origins: ["https://a.gov.acme.example"] }] } },
    ],
  ])("a consent counts no more when %s", async (_, principals) => {
    const { api, change_id } = await approved();
    expect((await (await now(api, principals)).act("apply", change_id)).status).toBe(403);
    expect((await api.act("apply", change_id)).status).toBe(200);
  });

  test("the gate of a change says that its key was taken away", async () => {
    const { api, change_id } = await approved();
    const gateOf = async (core: Core) =>
      (await core.change(change_id)).gates.find(({ gate }: { gate: string }) => gate === "consent")?.state;
    expect(await gateOf(api)).toBe("pass");
    expect(await gateOf(await now(api, { bo: person(BO, ANA) }))).toBe("block");
  });

  test("a consent still counts under another manifest that has the key", async () => {
    const { api, change_id } = await approved();
    expect((await (await now(api, { [ana]: person(BO, ANA) })).act("apply", change_id)).status).toBe(200);
  });

  test("a consent that was written into log and record without a proof is none", async () => {
    const api = await under();
    const { change_id } = await api.propose();
    const [key] = [detailOf(await approvedBody(api)).key];
    await forgeConsent(api.deps, change_id, { approver: ana, note: "", authenticated: "signature", key });
    expect((await api.change(change_id)).status).toBe("approved");
    expect((await api.act("apply", change_id)).status).toBe(403);
    const { approved } = await listApprovals(api.deps, { limit: 10 });
    expect(approved.find((one) => one.change_id === change_id)!.missing).toMatchObject([{ count: 1 }]);
  });

  test("a proof that was moved from another change's entry is none", async () => {
    const api = await under();
    const { change_id } = await api.propose();
    const detail = detailOf(await approvedBody(api));
    await forgeConsent(api.deps, change_id, { ...detail, digest: (await api.change(change_id)).digest });
    expect((await api.act("apply", change_id)).status).toBe(403);
  });

  const approvedBody = async (api: Core) => {
    const { change_id } = await api.propose({ target: "ui.other" });
    return decide(api, ANA, "approve", { change_id, approver: ana });
  };
});

describe("nobody is locked out by a consent that counts no more", () => {
  test("a passkey whose pages were moved may consent again, and the page says that it must", async () => {
    const api = await under({}, { [ana]: person(ANA) });
    const { change_id } = await api.propose();
    await decide(api, ANA, "approve", { change_id, approver: ana });
    const origins = ["https://console.gov.acme.example"];
    const moved = await now(api, { [ana]: { kind: "person", keys: [{ ...ANA.key, origins }] } });
    expect(await moved.act("apply", change_id)).toMatchObject(refused("consent_incomplete"));
    const page = await moved.change(change_id);
    expect(page.missing).toMatchObject([{ count: 1 }]);
    expect(page.gates).toContainEqual(expect.objectContaining({ gate: "consent", state: "block" }));
    const statement = await requestStatement(moved, { decision: "approve", change_id, approver: ana });
    const { at } = JSON.parse(statement);
    const proof = JSON.stringify(ANA.sign(statement, { origin: origins[0]! }));
    expect((await moved.post("approve", { change_id, approver: ana, proof, at })).status).toBe(200);
    expect((await moved.act("apply", change_id)).status).toBe(200);
  });

  test("two consents of one name at one moment are distinguished by their keys", async () => {
    const [before, after] = [passkey(), passkey()];
    const api = await under({}, { [ana]: person(before) });
    const { change_id } = await api.propose();
    api.deps.clock.advance(-3600 * SECOND);
    await decide(api, before, "approve", { change_id, approver: ana });
    const rotated = await now(api, { [ana]: person(after) });
    expect((await decide(rotated, after, "approve", { change_id, approver: ana })).status).toBe(200);
    expect((await rotated.act("apply", change_id)).status).toBe(200);
  });
});

test("an RSA key in another encoding is no key: it could stand under two names", async () => {
  const pen = passkey("RS256");
  const spki = Buffer.from(pen.key.public_key, "base64url");
  const bits = spki.subarray(19);
  const longer = Buffer.concat([spki.subarray(4, 19), Buffer.from([3, 0x83, 0]), bits.subarray(2)]);
  const whole = Buffer.concat([Buffer.from([0x30, 0x82, longer.length >> 8, longer.length & 255]), longer]);
  const public_key = whole.toString("base64url");
  const bo = { kind: "person", keys: [{ ...pen.key, credential_id: "AAAA", public_key }] };
  await expect(under({}, { [ana]: person(pen), bo })).rejects.toThrow(/principals\.bo\.keys\.0\.public_key/);
  await expect(under({}, { [ana]: person(pen) })).resolves.toBeDefined();
});

test("without self-approval a draft has a requester, whom the proxy names under signed_only", async () => {
  const input = { ...PROPOSAL, kind: "config" as const, proposer: "llm:m1" as const };
  const draft = (api: Core, asked_by: string | null, known = false) =>
    submitDraft(api.deps, input, { asked_by, known, message_id: "m1" });
  const unsigned = await core({ intent: { policy: { self_approval: false } } });
  await expect(draft(unsigned, null)).rejects.toMatchObject({ code: "proposer_unknown" });
  expect(await draft(unsigned, "zed")).toMatchObject({ asked_by: "zed" });
  const signed = await under({ self_approval: false });
  await expect(draft(signed, null)).rejects.toMatchObject({ code: "proposer_unknown" });
  await expect(draft(signed, "zed")).rejects.toMatchObject({ code: "proposer_unknown" });
  expect(await draft(signed, ana, true)).toMatchObject({ asked_by: ana });
  expect(await draft(await under(), null)).toMatchObject({ proposer: "llm:m1" });
});
