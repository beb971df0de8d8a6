/**
 * An adversary who sees every request and proof, has keys and a name of their own, and can write to the store cannot make a
 * consent count that the person did not give.
 */
import { expect, test } from "vitest";
import { IntentInvalid } from "../../../lib/changes/rules/intent.ts";
import type { Proof } from "../../../lib/changes/rules/proof.ts";
import { DECISIONS, type StatementFacts, statementText } from "../../../lib/changes/rules/statement.ts";
import { PROPOSAL, type Reply } from "../../support/client.ts";
import { type Core, core } from "../../support/core.ts";
import { makeIntent } from "../../support/intents.ts";
import { rounds } from "../../support/run_length.ts";
import { seededIntegers } from "../../support/seeded_integers.ts";
import {
  encodeSshSignature,
  type AssertionChanges,
  passkey,
  sshSigner,
  decodeSshSignature,
} from "../../support/passkeys.ts";
import type { Fields } from "../../support/requests.ts";
import { decide, forgeConsent, type Signer, person, proofFields, requestStatement } from "../../support/signed.ts";

const ATTEMPTS = rounds(250, 1_000, 10_000);
const [ANA, BO, CEM, DORA] = [
  passkey("ES256"),
  sshSigner(),
  passkey("EdDSA"),
  sshSigner("sk-ecdsa-sha2-nistp256@openssh.com"),
];
const SIGNERS: Record<string, Signer> = { ana: ANA, bo: BO, cem: CEM, dora: DORA };
/** People who could consent; Dora proposes. */
const VOTERS = ["ana", "bo", "cem"];
/** The adversary's own keys, of every kind. */
const ADVERSARY_KEYS: Signer[] = [passkey("ES256"), passkey("EdDSA"), sshSigner(), sshSigner("ssh-ed25519")];
const PEOPLE = Object.fromEntries(Object.entries(SIGNERS).map(([name, signer]) => [name, person(signer)]));
// Mallory has keys and is no approver; Eve is an approver without a key.
const PRINCIPALS = { ...PEOPLE, mallory: person(...ADVERSARY_KEYS), eve: { kind: "person" } };
const POLICY = {
  approvers: [...Object.keys(SIGNERS), "eve"],
  required_approvers: { standard: 2 },
  self_approval: false,
  break_glass: { approvers: ["cem"] },
};

interface AttackContext {
  api: Core;
  /** The change under attack, which has no consents. */
  change_id: string;
  /** Details of the consents to another change, which the adversary has read. */
  otherConsents: { approver: string; proof: Proof }[];
  /** A change with an emergency consent whose review is due. */
  emergencyChange: string;
  /** Accepted requests that the adversary may send again. */
  requests: { freeze: Fields; unfreeze: Fields; propose: Fields };
  randomBelow: (end: number) => number;
  pick: <T>(list: readonly T[]) => T;
  /** Returns the facts that this person would sign to approve the change under attack. */
  trueFacts: (name: string) => StatementFacts;
}

/** Makes Dora's signed request to propose a change. */
async function makeProposal(api: Core, target: string): Promise<Fields> {
  const proposal = { ...PROPOSAL, target };
  // A statement works once, so each needs another time.
  api.deps.clock.advance(1);
  const statement = await requestStatement(api, {
    decision: "propose",
    approver: "dora",
    proposal: JSON.stringify(proposal),
  });
  return { ...proposal, proposer: "dora", ...proofFields(DORA, statement) };
}

/** Proposes a change as Dora. */
const proposeAsDora = async (api: Core, target: string): Promise<Reply["body"]> =>
  (await api.post("propose", await makeProposal(api, target))).body;

/** Makes a signed request to freeze or unfreeze the service. */
async function makeFreezeRequest(api: Core, decision: "freeze" | "unfreeze", actor: string): Promise<Fields> {
  api.deps.clock.advance(1);
  return { actor, ...proofFields(SIGNERS[actor]!, await requestStatement(api, { decision, approver: actor })) };
}

/** Proposes a change and approves it as Cem in an emergency. */
async function approveInEmergency(api: Core): Promise<string> {
  const { change_id } = await proposeAsDora(api, "ui.urgent");
  const fields = { change_id, approver: "cem", note: "the site is down" };
  const statement = await requestStatement(api, { decision: "approve_emergency", ...fields });
  const { body } = await api.post("approve", { ...fields, emergency: "true", ...proofFields(CEM, statement) });
  expect(body.status).toBe("approved");
  return change_id;
}

/** Prepares the change under attack, an emergency approval, consents to another change, and used requests. */
async function prepareAttack(seed: number): Promise<AttackContext> {
  const api = await core({ intent: { principals: PRINCIPALS, policy: POLICY } });
  const other = await proposeAsDora(api, "ui.other");
  const otherConsents: AttackContext["otherConsents"] = [];
  for (const approver of ["ana", "bo"]) {
    const { body } = await decide(api, SIGNERS[approver]!, "approve", { change_id: other.change_id, approver });
    otherConsents.push(JSON.parse(body.audit_entry.detail));
  }
  const emergencyChange = await approveInEmergency(api);
  const propose = await makeProposal(api, "ui.banner");
  const { change_id, digest, audit_entry } = (await api.post("propose", propose)).body;
  const [freeze, unfreeze] = [
    await makeFreezeRequest(api, "freeze", "ana"),
    await makeFreezeRequest(api, "unfreeze", "ana"),
  ];
  await api.post("freeze", freeze);
  await api.post("unfreeze", unfreeze);
  // The service stays frozen, so an attack by an unfreeze could succeed.
  await api.post("freeze", await makeFreezeRequest(api, "freeze", "bo"));
  const randomBelow = seededIntegers(seed);
  return {
    api,
    change_id,
    otherConsents,
    emergencyChange,
    requests: { freeze, unfreeze, propose },
    randomBelow,
    pick: (list) => list[randomBelow(list.length)]!,
    trueFacts: (approver) => ({
      origin: audit_entry.origin,
      change_id,
      digest,
      decision: "approve",
      approver,
      note: "",
      manifest_hash: api.deps.product!.manifest_hash,
      at: api.deps.clock.iso(),
    }),
  };
}

/** Sends an approval under a name. */
const send = (
  { api, change_id }: AttackContext,
  approver: string,
  proof: Proof,
  overrides: Fields = {},
): Promise<Reply> =>
  api.post("approve", { change_id, approver, proof: JSON.stringify(proof), at: api.deps.clock.iso(), ...overrides });

const signFacts = (name: string, facts: StatementFacts): Proof => SIGNERS[name]!.sign(statementText(facts));

/** Sends a statement with some false facts, signed by the person in whose name it is sent. */
const withFalseFacts =
  (change: (context: AttackContext, name: string) => Partial<StatementFacts>) => (context: AttackContext) => {
    const name = context.pick(VOTERS);
    return send(context, name, signFacts(name, { ...context.trueFacts(name), ...change(context, name) }));
  };

/** Sends a passkey assertion whose client or authenticator data is wrong. */
const withWrongAssertion = (change: (context: AttackContext) => AssertionChanges) => (context: AttackContext) => {
  const [name, signer] = context.pick([["ana", ANA] as const, ["cem", CEM] as const]);
  return send(context, name, signer.sign(statementText(context.trueFacts(name)), change(context)));
};

const randomDigits = ({ randomBelow }: AttackContext, length = 64): string =>
  Array.from({ length }, () => randomBelow(16).toString(16)).join("");

/** Flips one bit of a field of a proof. */
function flipProofBit(proof: Proof, { pick, randomBelow }: AttackContext): Proof {
  const field = pick(Object.keys(proof).filter((name) => name !== "type")) as "signature";
  const isArmour = proof.type === "ssh";
  const bytes = isArmour ? decodeSshSignature(proof.signature) : Buffer.from(proof[field], "base64url");
  bytes[randomBelow(bytes.length)]! ^= 1 << randomBelow(8);
  return { ...proof, [field]: isArmour ? encodeSshSignature(bytes) : bytes.toString("base64url") };
}

const ATTACKS: Record<string, (context: AttackContext) => Promise<Reply>> = {
  "the proof of another change's consent": (context) => {
    const { approver, proof } = context.pick(context.otherConsents);
    return send(context, approver, proof);
  },
  "a consent to another change": withFalseFacts(({ randomBelow }) => ({ change_id: `chg_${randomBelow(1e6)}` })),
  "a consent to other content": withFalseFacts((context) => ({ digest: randomDigits(context) })),
  "another decision": withFalseFacts(({ pick }) => ({
    decision: pick(DECISIONS.filter((word) => word !== "approve")),
  })),
  "another approver": withFalseFacts(({ pick }, name) => ({
    approver: pick([...VOTERS, "eve", name.toUpperCase(), `${name} `, ""].filter((other) => other !== name)),
  })),
  "another note": withFalseFacts((context) => ({ note: context.pick([" ", "yes", "\0", randomDigits(context)]) })),
  "another log": withFalseFacts((context) => ({ origin: `acme-crm/audit/${randomDigits(context, 32)}` })),
  "another intent": withFalseFacts((context) => ({ manifest_hash: randomDigits(context) })),
  "another time": withFalseFacts(({ api, randomBelow, pick }) => ({
    at: new Date(api.deps.clock.now() + pick([-1, 1]) * (1 + randomBelow(500_000))).toISOString(),
  })),
  "a consent older than ten minutes": (context) => {
    const at = new Date(context.api.deps.clock.now() - 600_001 - context.randomBelow(1e9)).toISOString();
    const name = context.pick(VOTERS);
    return send(context, name, signFacts(name, { ...context.trueFacts(name), at }), { at });
  },
  "a person's consent under another name": (context) => {
    const name = context.pick(VOTERS);
    const claimedName = context.pick([...VOTERS, "eve", "nobody", "mallory"].filter((other) => other !== name));
    return send(context, claimedName, signFacts(name, context.trueFacts(context.pick([name, claimedName]))));
  },
  "a flipped bit": (context) => {
    const name = context.pick(VOTERS);
    return send(context, name, flipProofBit(signFacts(name, context.trueFacts(name)), context));
  },
  // Bits of flags: 1 present, 4 verified, 8 may be backed up, 16 is backed up. 21 has both bits, and 16 contradicts 8.
  "a passkey without user presence or verification": withWrongAssertion(({ pick }) => ({
    flags: pick([0, 1, 4, 8, 9, 16, 20, 21, 24, 25]),
  })),
  // Bits of flags: 1 touched, 4 PIN entered.
  "a security key without touch, or without its PIN": (context) =>
    send(context, "bo", BO.sign(statementText(context.trueFacts("bo")), { flags: context.pick([0, 1, 4]) })),
  "a passkey assertion for another site": withWrongAssertion(({ pick }) =>
    pick([
      { origin: "https://evil.example" },
      { origin: "http://gov.acme.example" },
      { origin: "https://gov.acme.example.evil.example" },
      { rp_id: "evil.example" },
      { client: { crossOrigin: true } },
      { client: { topOrigin: "https://gov.acme.example" } },
      { type: "webauthn.create" },
    ]),
  ),
  "a key of the adversary": (context) => {
    const name = context.pick([...VOTERS, "eve"]);
    const proof = context.pick(ADVERSARY_KEYS).sign(statementText(context.trueFacts(name)));
    const credential_id = context.pick([ANA, CEM]).key.credential_id;
    return send(context, name, proof.type === "webauthn" ? { ...proof, credential_id } : proof);
  },
  "the adversary's own name": (context) =>
    send(context, "mallory", context.pick(ADVERSARY_KEYS).sign(statementText(context.trueFacts("mallory")))),
  "an approval without a proof": ({ api, change_id, pick }) =>
    api.post("approve", { change_id, approver: pick([...VOTERS, "eve", "nobody"]) }),
  "an ordinary consent sent as an emergency consent": (context) => {
    const name = context.pick(VOTERS);
    return send(context, name, signFacts(name, context.trueFacts(name)), { emergency: "true" });
  },
  "the proposer's own consent": (context) => {
    const claimedName = context.pick(["dora", "DORA", "Dora", "ｄora"]);
    return send(context, claimedName, signFacts("dora", context.trueFacts(claimedName.normalize("NFKC"))));
  },
  "an unsigned proposal under another name": ({ api, pick }) =>
    api.post("propose", { ...PROPOSAL, proposer: pick(["eve", "nobody", "bo"]) }),
  "a signed proposal sent again": ({ api, requests }) => api.post("propose", requests.propose),
  "an unfreeze without a signature": ({ api, pick }) =>
    api.post("unfreeze", { actor: pick([...Object.keys(SIGNERS), "eve", "nobody", "mallory"]) }),
  "an unfreeze with the proof of a freeze or of an earlier unfreeze": ({ api, requests, pick }) =>
    api.post("unfreeze", pick([requests.freeze, requests.unfreeze])),
  "an unfreeze under another name": async ({ api, pick }) => {
    const { actor: _, ...fields } = await makeFreezeRequest(api, "unfreeze", pick(VOTERS));
    return api.post("unfreeze", { ...fields, actor: pick(["eve", "nobody", "mallory", "dora"]) });
  },
  "an unfreeze with a key of the adversary": async ({ api, pick }) => {
    const [actor, signer] = [pick(VOTERS), pick(ADVERSARY_KEYS)];
    return api.post("unfreeze", {
      actor,
      ...proofFields(signer, await requestStatement(api, { decision: "unfreeze", approver: actor })),
    });
  },
  "a review without a signature": ({ api, emergencyChange, pick }) =>
    api.post("review", { change_id: emergencyChange, approver: pick([...VOTERS, "eve"]), verdict: "accepted" }),
  "a review with a signature for another verdict, change or decision": async ({
    api,
    emergencyChange,
    change_id,
    pick,
  }) => {
    const approver = pick(["ana", "bo"]);
    const fields = pick<Fields>([
      { decision: "review", change_id: emergencyChange, verdict: "not_accepted" },
      { decision: "review", change_id, verdict: "accepted" },
      { decision: "approve", change_id: emergencyChange },
    ]);
    const { proof, at } = proofFields(SIGNERS[approver]!, await requestStatement(api, { ...fields, approver }));
    return api.post("review", { change_id: emergencyChange, approver, verdict: "accepted", proof: proof!, at: at! });
  },
  // No request: the service must reject the intent itself, which counts as a rejection here.
  "one key for two principals": async ({ pick }) => {
    const key = pick([ANA, BO, CEM, DORA]);
    try {
      makeIntent({ principals: { ana: person(key), other: person(key) } });
      return { status: 200 } as Reply;
    } catch (error) {
      if (!(error instanceof IntentInvalid)) throw error;
      return { status: 403 } as Reply;
    }
  },
  "consents forged in log and record": async ({ api, otherConsents, pick }) => {
    const { change_id, digest } = await proposeAsDora(api, "ui.forged");
    const missingField = pick<object>([{}, { proof: undefined }, { statement: undefined }, { key: undefined }]);
    for (const [index, detail] of otherConsents.entries())
      await forgeConsent(api.deps, change_id, {
        ...detail,
        ...missingField,
        digest,
        status: index === 0 ? "pending_consent" : "approved",
      });
    expect((await api.change(change_id)).status).toBe("approved");
    return api.act("apply", change_id);
  },
};

test(`no consent counts after ${ATTEMPTS} attempts of an adversary`, async () => {
  const context = await prepareAttack(20_261_122);
  const names = Object.keys(ATTACKS);
  const accepted: string[] = [];
  const codes = new Map<string, Set<string>>();
  for (let index = 0; index < ATTEMPTS; index++) {
    const name = index < names.length ? names[index]! : context.pick(names);
    const { status, body } = await ATTACKS[name]!(context);
    if (status < 300) accepted.push(name);
    codes.set(name, (codes.get(name) ?? new Set()).add(body?.code));
  }
  expect(accepted).toEqual([]);
  // A request that is rejected before its proof is verified would test nothing.
  const rejectedEarly = names.filter((name) => codes.get(name)!.has("invalid_field"));
  // Exceptions: a flipped bit can make a proof unreadable, and an emergency consent without a note is rejected first.
  const mayBeRejectedEarly = ["a flipped bit", "an ordinary consent sent as an emergency consent"];
  expect(rejectedEarly.filter((name) => !mayBeRejectedEarly.includes(name))).toEqual([]);
  const { api, change_id } = context;
  expect(await api.change(change_id)).toMatchObject({ status: "pending_consent", approvals: [] });
  expect((await api.change(context.emergencyChange)).review).toMatchObject({ verdict: null });
  // Afterwards the people's own requests are accepted.
  expect((await api.post("unfreeze", await makeFreezeRequest(api, "unfreeze", "bo"))).status).toBe(200);
  for (const approver of ["ana", "bo"]) await decide(api, SIGNERS[approver]!, "approve", { change_id, approver });
  expect((await api.act("apply", change_id)).status).toBe(200);
}, 300_000);
