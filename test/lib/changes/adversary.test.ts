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
import { rounds } from "../../support/length.ts";
import { numbers } from "../../support/numbers.ts";
import {
  encodeSshSignature,
  type AssertionChanges,
  passkey,
  sshSigner,
  decodeSshSignature,
} from "../../support/passkeys.ts";
import type { Fields } from "../../support/requests.ts";
import { decide, forgeConsent, type Signer, person, proofFields, requestStatement } from "../../support/signed.ts";

const TRIES = rounds(250, 1_000, 10_000);
const [ANA, BO, CEM, DORA] = [
  passkey("ES256"),
  sshSigner(),
  passkey("EdDSA"),
  sshSigner("sk-ecdsa-sha2-nistp256@openssh.com"),
];
const PENS: Record<string, Signer> = { ana: ANA, bo: BO, cem: CEM, dora: DORA };
/** People who could consent; Dora proposes. */
const VOTERS = ["ana", "bo", "cem"];
/** The adversary's own keys, of every kind. */
const OWN: Signer[] = [passkey("ES256"), passkey("EdDSA"), sshSigner(), sshSigner("ssh-ed25519")];
const KEYED = Object.fromEntries(Object.entries(PENS).map(([name, pen]) => [name, person(pen)]));
const PRINCIPALS = { ...KEYED, mallory: person(...OWN), eve: { kind: "person" } };
const POLICY = {
  approvers: [...Object.keys(PENS), "eve"],
  required_approvers: { standard: 2 },
  self_approval: false,
  break_glass: { approvers: ["cem"] },
};

interface World {
  api: Core;
  /** The change under attack, which has no consents. */
  change_id: string;
  /** Details of the consents to another change, which the adversary has read. */
  otherConsents: { approver: string; proof: Proof }[];
  /** A change with an emergency consent whose review is due. */
  urgent: string;
  /** Accepted requests that the adversary may send again. */
  requests: { freeze: Fields; unfreeze: Fields; propose: Fields };
  below: (end: number) => number;
  one: <T>(list: readonly T[]) => T;
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
  return { actor, ...proofFields(PENS[actor]!, await requestStatement(api, { decision, approver: actor })) };
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

async function open(seed: number): Promise<World> {
  const api = await core({ intent: { principals: PRINCIPALS, policy: POLICY } });
  const other = await proposeAsDora(api, "ui.other");
  const otherConsents: World["otherConsents"] = [];
  for (const approver of ["ana", "bo"]) {
    const { body } = await decide(api, PENS[approver]!, "approve", { change_id: other.change_id, approver });
    otherConsents.push(JSON.parse(body.audit_entry.detail));
  }
  const urgent = await approveInEmergency(api);
  const propose = await makeProposal(api, "ui.banner");
  const { change_id, digest, audit_entry } = (await api.post("propose", propose)).body;
  const [freeze, unfreeze] = [
    await makeFreezeRequest(api, "freeze", "ana"),
    await makeFreezeRequest(api, "unfreeze", "ana"),
  ];
  await api.post("freeze", freeze);
  await api.post("unfreeze", unfreeze);
  await api.post("freeze", await makeFreezeRequest(api, "freeze", "bo"));
  const below = numbers(seed);
  return {
    api,
    change_id,
    otherConsents,
    urgent,
    requests: { freeze, unfreeze, propose },
    below,
    one: (list) => list[below(list.length)]!,
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
const send = ({ api, change_id }: World, approver: string, proof: Proof, over: Fields = {}): Promise<Reply> =>
  api.post("approve", { change_id, approver, proof: JSON.stringify(proof), at: api.deps.clock.iso(), ...over });

const signed = (name: string, facts: StatementFacts): Proof => PENS[name]!.sign(statementText(facts));

/** Sends a statement with some false facts, signed by the person in whose name it is sent. */
const withFalseFacts = (change: (world: World, name: string) => Partial<StatementFacts>) => (world: World) => {
  const name = world.one(VOTERS);
  return send(world, name, signed(name, { ...world.trueFacts(name), ...change(world, name) }));
};

/** Sends a passkey assertion whose client or authenticator data is wrong. */
const withWrongAssertion = (change: (world: World) => AssertionChanges) => (world: World) => {
  const [name, pen] = world.one([["ana", ANA] as const, ["cem", CEM] as const]);
  return send(world, name, pen.sign(statementText(world.trueFacts(name)), change(world)));
};

const digits = ({ below }: World, length = 64): string => Array.from({ length }, () => below(16).toString(16)).join("");

/** Flips one bit of a field of a proof. */
function flipProofBit(proof: Proof, { one, below }: World): Proof {
  const field = one(Object.keys(proof).filter((name) => name !== "type")) as "signature";
  const isArmour = proof.type === "ssh";
  const bytes = isArmour ? decodeSshSignature(proof.signature) : Buffer.from(proof[field], "base64url");
  bytes[below(bytes.length)]! ^= 1 << below(8);
  return { ...proof, [field]: isArmour ? encodeSshSignature(bytes) : bytes.toString("base64url") };
}

const ATTACKS: Record<string, (world: World) => Promise<Reply>> = {
  "the proof of another change's consent": (world) => {
    const { approver, proof } = world.one(world.otherConsents);
    return send(world, approver, proof);
  },
  "a consent to another change": withFalseFacts(({ below }) => ({ change_id: `chg_${below(1e6)}` })),
  "a consent to other content": withFalseFacts((world) => ({ digest: digits(world) })),
  "another decision": withFalseFacts(({ one }) => ({ decision: one(DECISIONS.filter((word) => word !== "approve")) })),
  "another approver": withFalseFacts(({ one }, own) => ({
    approver: one([...VOTERS, "eve", own.toUpperCase(), `${own} `, ""].filter((name) => name !== own)),
  })),
  "another note": withFalseFacts((world) => ({ note: world.one([" ", "yes", "\0", digits(world)]) })),
  "another log": withFalseFacts((world) => ({ origin: `acme-crm/audit/${digits(world, 32)}` })),
  "another intent": withFalseFacts((world) => ({ manifest_hash: digits(world) })),
  "another time": withFalseFacts(({ api, below, one }) => ({
    at: new Date(api.deps.clock.now() + one([-1, 1]) * (1 + below(500_000))).toISOString(),
  })),
  "a consent older than ten minutes": (world) => {
    const at = new Date(world.api.deps.clock.now() - 600_001 - world.below(1e9)).toISOString();
    const name = world.one(VOTERS);
    return send(world, name, signed(name, { ...world.trueFacts(name), at }), { at });
  },
  "a person's consent under another name": (world) => {
    const name = world.one(VOTERS);
    const as = world.one([...VOTERS, "eve", "nobody", "mallory"].filter((other) => other !== name));
    return send(world, as, signed(name, world.trueFacts(world.one([name, as]))));
  },
  "a flipped bit": (world) => {
    const name = world.one(VOTERS);
    return send(world, name, flipProofBit(signed(name, world.trueFacts(name)), world));
  },
  "a passkey without user presence or verification": withWrongAssertion(({ one }) => ({
    flags: one([0, 1, 4, 8, 9, 16, 20, 21, 24, 25]),
  })),
  "a security key without touch, or without its PIN": (world) =>
    send(world, "bo", BO.sign(statementText(world.trueFacts("bo")), { flags: world.one([0, 1, 4]) })),
  "a passkey assertion for another site": withWrongAssertion(({ one }) =>
    one([
      { origin: "https://evil.example" },
      { origin: "http://gov.acme.example" },
      { origin: "https://gov.acme.example.evil.example" },
      { rp_id: "evil.example" },
      { client: { crossOrigin: true } },
      { client: { topOrigin: "https://gov.acme.example" } },
      { type: "webauthn.create" },
    ]),
  ),
  "a key of the adversary": (world) => {
    const name = world.one([...VOTERS, "eve"]);
    const proof = world.one(OWN).sign(statementText(world.trueFacts(name)));
    const credential_id = world.one([ANA, CEM]).key.credential_id;
    return send(world, name, proof.type === "webauthn" ? { ...proof, credential_id } : proof);
  },
  "the adversary's own name": (world) =>
    send(world, "mallory", world.one(OWN).sign(statementText(world.trueFacts("mallory")))),
  "an approval without a proof": ({ api, change_id, one }) =>
    api.post("approve", { change_id, approver: one([...VOTERS, "eve", "nobody"]) }),
  "an ordinary consent as one for emergencies": (world) => {
    const name = world.one(VOTERS);
    return send(world, name, signed(name, world.trueFacts(name)), { emergency: "true" });
  },
  "the proposer's own consent": (world) => {
    const as = world.one(["dora", "DORA", "Dora", "ｄora"]);
    return send(world, as, signed("dora", world.trueFacts(as.normalize("NFKC"))));
  },
  "a proposal of one's own under another name": ({ api, one }) =>
    api.post("propose", { ...PROPOSAL, proposer: one(["eve", "nobody", "bo"]) }),
  "a signed proposal sent again": ({ api, requests }) => api.post("propose", requests.propose),
  "no signature under a lifted freeze": ({ api, one }) =>
    api.post("unfreeze", { actor: one([...Object.keys(PENS), "eve", "nobody", "mallory"]) }),
  "the proof of a freeze, or of an earlier unfreeze, under a lifted freeze": ({ api, requests, one }) =>
    api.post("unfreeze", one([requests.freeze, requests.unfreeze])),
  "an unfreeze under another name": async ({ api, one }) => {
    const { actor: _, ...fields } = await makeFreezeRequest(api, "unfreeze", one(VOTERS));
    return api.post("unfreeze", { ...fields, actor: one(["eve", "nobody", "mallory", "dora"]) });
  },
  "an unfreeze with a key of the adversary": async ({ api, one }) => {
    const [actor, pen] = [one(VOTERS), one(OWN)];
    return api.post("unfreeze", {
      actor,
      ...proofFields(pen, await requestStatement(api, { decision: "unfreeze", approver: actor })),
    });
  },
  "a review without a signature": ({ api, urgent, one }) =>
    api.post("review", { change_id: urgent, approver: one([...VOTERS, "eve"]), verdict: "accepted" }),
  "a review with what was signed for another verdict, change or decision": async ({ api, urgent, change_id, one }) => {
    const approver = one(["ana", "bo"]);
    const fields = one<Fields>([
      { decision: "review", change_id: urgent, verdict: "not_accepted" },
      { decision: "review", change_id, verdict: "accepted" },
      { decision: "approve", change_id: urgent },
    ]);
    const { proof, at } = proofFields(PENS[approver]!, await requestStatement(api, { ...fields, approver }));
    return api.post("review", { change_id: urgent, approver, verdict: "accepted", proof: proof!, at: at! });
  },
  "one key for two principals": async ({ one }) => {
    const key = one([ANA, BO, CEM, DORA]);
    try {
      makeIntent({ principals: { ana: person(key), other: person(key) } });
      return { status: 200 } as Reply;
    } catch (error) {
      if (!(error instanceof IntentInvalid)) throw error;
      return { status: 403 } as Reply;
    }
  },
  "consents forged in log and record": async ({ api, otherConsents, one }) => {
    const { change_id, digest } = await proposeAsDora(api, "ui.forged");
    const missingField = one<object>([{}, { proof: undefined }, { statement: undefined }, { key: undefined }]);
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

test(`no consent counts after ${TRIES} attempts of an adversary`, async () => {
  const world = await open(20_261_122);
  const names = Object.keys(ATTACKS);
  const accepted: string[] = [];
  const codes = new Map<string, Set<string>>();
  for (let index = 0; index < TRIES; index++) {
    const name = index < names.length ? names[index]! : world.one(names);
    const { status, body } = await ATTACKS[name]!(world);
    if (status < 300) accepted.push(name);
    codes.set(name, (codes.get(name) ?? new Set()).add(body?.code));
  }
  expect(accepted).toEqual([]);
  // A request that is rejected before its proof is verified would test nothing.
  const rejectedEarly = names.filter((name) => codes.get(name)!.has("invalid_field"));
  expect(rejectedEarly).toEqual(
    ["a flipped bit", "an ordinary consent as one for emergencies"].filter((name) => rejectedEarly.includes(name)),
  );
  const { api, change_id } = world;
  expect(await api.change(change_id)).toMatchObject({ status: "pending_consent", approvals: [] });
  expect((await api.change(world.urgent)).review).toMatchObject({ verdict: null });
  expect((await api.post("unfreeze", await makeFreezeRequest(api, "unfreeze", "bo"))).status).toBe(200);
  for (const approver of ["ana", "bo"]) await decide(api, PENS[approver]!, "approve", { change_id, approver });
  expect((await api.act("apply", change_id)).status).toBe(200);
}, 300_000);
