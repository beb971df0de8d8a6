/** Tests the verifier's rules of consents: which ones count at each step of a change. */
import { expect, test } from "vitest";
import { parseIntent } from "../../../local/verify/intent.ts";
import { deriveStatuses, type ConsentEvidence, requireConsents } from "../../../local/verify/change_life.ts";
import { passkey } from "../../support/passkeys.ts";
import { person } from "../../support/signed.ts";
import { applied, approved, consent, type Detail, proposed, recorded, type Step } from "./recorded_life.ts";

const PASSKEYS = { ana: passkey(), bo: passkey() };
const makeIntentWith = (policy: Detail = {}, principals: Detail = {}) =>
  parseIntent({ policy: { approvers: ["ana", "bo", "cy"], ...policy }, principals });
const PRINCIPALS = { ana: person(PASSKEYS.ana), bo: person(PASSKEYS.bo), "agent:x": { kind: "agent" } };
const ANA_WITH_TWO_KEYS = { ana: { kind: "person", keys: [PASSKEYS.ana.key, PASSKEYS.bo.key] } };
const MINOR_ALLOWED = { minor: { kinds: ["config"], targets: ["*"] } };
const CONTENT: Detail = {
  ...{ tier: "standard", kind: "config", tenant_id: "t1", target: "a", affected_users: 0 },
  ...{ risk: "low", reversible: true, proposer: "pia" },
};

interface Given {
  /** Entries of the change; their ids begin with 1. `approved` is a consent of ana, the last that was missing. */
  steps: Step[];
  policy?: Detail;
  principals?: Detail;
  content?: Detail;
  /** Whose key signed an entry, by entry id: signatures that were verified, with the trusted keys if there are any. */
  signed?: Record<number, "ana" | "bo">;
  /** Evidence that differs from that of the other members. */
  evidence?: Partial<ConsentEvidence>;
}

/** Returns the findings of the verifier; the intent m names the approvers ana, bo and cy. */
function judge({ steps, policy, principals, content = {}, signed = {}, evidence = {} }: Given): string[] {
  const intent = makeIntentWith(policy, principals);
  const findKeyId = (name: string): string => parseIntent({ principals: PRINCIPALS }).keys.get(name)![0]!.id;
  const life = recorded(steps);
  const findings: string[] = [];
  const tier = { ...CONTENT, ...content }["tier"];
  const statuses = deriveStatuses(life, tier, () => undefined);
  const consentEvidence: ConsentEvidence = {
    unsigned: new Set(),
    trustedKeys: undefined,
    intents: new Map([["m", intent]]),
    signed: new Map(Object.entries(signed).map(([id, name]) => [Number(id), findKeyId(name)])),
    mandates: [],
    content: { ...CONTENT, ...content },
    isErased: false,
    proposal: {},
    ...evidence,
  };
  requireConsents(life, statuses, consentEvidence, (id, rule, message) => findings.push(`${id} ${rule}: ${message}`));
  return findings;
}

/** Returns the finding that the entry `id` has too few consents. */
const tooFew = (id: number, how: string, received: number, needed: number, suffix = ""): string[] => [
  `${id} quorum: it was ${how} with ${received} of ${needed} consents${suffix}`,
];
const TWO = { required_approvers: { standard: 2, major: 3 } };
const URGENT = { emergency: true };
const EMERGENCY = { break_glass: { approvers: ["eve", "ida"], required: 2 } };
const urgent = (approver: string, status = "pending_consent", over: Detail = {}) =>
  consent(approver, status, { ...URGENT, ...over });
const MINOR_ALONE = ["1 quorum: its tier is minor, but its intent requires consent for such a change"];
const UNVOUCHED = ["1 quorum: its tier is minor, but its proposer is not authenticated"];
const loss: Step = ["loss_accepted"];

test.each<[consents: string, given: Given, findings: string[]]>([
  ["no entry", { steps: [] }, []],
  ["one consent", { steps: [proposed, approved, applied] }, []],
  ["none of one that is needed", { steps: [proposed, applied] }, tooFew(2, "applied", 0, 1)],
  ["one of two", { steps: [proposed, approved], policy: TWO }, tooFew(2, "approved", 1, 2)],
  ["one of two, pending", { steps: [proposed, consent("ana")], policy: TWO }, []],
  ["two of two", { steps: [proposed, consent("bo"), approved, applied], policy: TWO }, []],
  [
    "the same approver twice",
    { steps: [proposed, consent("ANA"), approved], policy: TWO },
    tooFew(3, "approved", 1, 2),
  ],
  [
    "two of three, of a major change",
    { steps: [proposed, consent("bo"), approved], policy: TWO, content: { tier: "major" } },
    tooFew(3, "approved", 2, 3),
  ],
  [
    "one, where the entry of the proposal requires two",
    { steps: [["change_proposed", { required_approvers: 2 }], approved] },
    tooFew(2, "approved", 1, 2),
  ],
  [
    "one, where the intent requires two and the entry of the proposal 0",
    { steps: [["change_proposed", { required_approvers: 0 }], approved], policy: TWO },
    tooFew(2, "approved", 1, 2),
  ],
  [
    "one, where the entry of the proposal states the number as text",
    { steps: [["change_proposed", { required_approvers: "0" }], approved] },
    ["1 quorum: its required_approvers is not a whole number"],
  ],
  [
    "one, for an unknown tier",
    { steps: [proposed, approved], content: { tier: "small" } },
    ["null content: the tier of the content is not minor, standard or major"],
  ],
  // Under an intent that is not in the file every approver counts; the verdict is then at most `consistent`.
  ["one under an unknown intent", { steps: [proposed, consent("zoe", "approved", { manifest_hash: "x" })] }, []],
  ["one who may not approve", { steps: [proposed, consent("zoe", "approved")] }, tooFew(2, "approved", 0, 1)],
  [
    "an agent",
    { steps: [proposed, consent("agent:x", "approved")], policy: { approvers: ["agent:x"] } },
    tooFew(2, "approved", 0, 1),
  ],
  ["an approver that is not text", { steps: [proposed, consent(5, "approved")] }, tooFew(2, "approved", 0, 1)],
  [
    "one after a denial",
    { steps: [proposed, ["consent_decision", { decision: "denied", approver: "bo" }], approved], policy: TWO },
    tooFew(3, "approved", 1, 2),
  ],
  [
    "the proposer",
    { steps: [proposed, approved], content: { proposer: "Ana" }, policy: { self_approval: false } },
    tooFew(2, "approved", 0, 1),
  ],
  [
    "the person who asked a model to propose",
    { steps: [["change_proposed", { asked_by: "ana" }], approved], policy: { self_approval: false } },
    tooFew(2, "approved", 0, 1),
  ],
  ["the proposer, where self-approval is allowed", { steps: [proposed, approved], content: { proposer: "ana" } }, []],
  ["another than the proposer", { steps: [proposed, approved], policy: { self_approval: false } }, []],
  [
    "one outside of the group",
    { steps: [proposed, approved], principals: { ana: { kind: "person", idp: ["g"] } } },
    tooFew(2, "approved", 0, 1),
  ],
  [
    "one of the group",
    {
      steps: [proposed, consent("ana", "approved", { idp: ["f", "g"] })],
      principals: { ana: { kind: "person", idp: ["g"] } },
    },
    [],
  ],
  ["one before a loss", { steps: [proposed, consent("bo"), loss, approved], policy: TWO }, tooFew(4, "approved", 1, 2)],
  ["one that is applied after a loss", { steps: [proposed, approved, loss, applied] }, tooFew(4, "applied", 0, 1)],
  [
    "one more after the approval",
    { steps: [proposed, approved, consent("zoe", "approved", { from: "approved" })] },
    [],
  ],
  ["one signed", { steps: [proposed, approved], principals: PRINCIPALS, signed: { 2: "ana" } }, []],
  ["one not signed", { steps: [proposed, approved], principals: PRINCIPALS }, tooFew(2, "approved", 0, 1)],
  [
    "one signed by another",
    { steps: [proposed, approved], principals: PRINCIPALS, signed: { 2: "bo" } },
    tooFew(2, "approved", 0, 1),
  ],
  [
    "one without a key, where others have keys",
    { steps: [proposed, consent("cy", "approved")], principals: PRINCIPALS },
    tooFew(2, "approved", 0, 1),
  ],
  [
    "one without a key under signed_only: false",
    { steps: [proposed, consent("cy", "approved")], principals: PRINCIPALS, policy: { signed_only: false } },
    [],
  ],
  [
    "one whose signature is wrong",
    { steps: [proposed, approved], evidence: { unsigned: new Set([2]) } },
    tooFew(2, "approved", 0, 1),
  ],
  [
    "one not signed, where a trusted key of the approver is given",
    { steps: [proposed, approved], evidence: { trustedKeys: new Map([["ana", [{ id: "k" } as never]]]) } },
    tooFew(2, "approved", 0, 1),
  ],
  [
    "one signed, where a trusted key of the approver is given",
    {
      steps: [proposed, approved],
      signed: { 2: "ana" },
      evidence: { trustedKeys: new Map([["ana", [{ id: "k" } as never]]]) },
    },
    [],
  ],
  [
    "one of a person without a key, signed with another person's key",
    { steps: [proposed, consent("cy", "approved")], principals: PRINCIPALS, signed: { 2: "ana" } },
    tooFew(2, "approved", 0, 1),
  ],
  [
    "one signed with the second of two keys",
    { steps: [proposed, approved], principals: ANA_WITH_TWO_KEYS, signed: { 2: "bo" } },
    [],
  ],
  // It names a key, but without its intent its signature was not verified, and the intent of the apply lists another key.
  [
    "one signed under an unknown intent",
    {
      steps: [proposed, consent("ana", "pending_consent", { manifest_hash: "x", key: "k" }), applied],
      principals: PRINCIPALS,
    },
    tooFew(3, "applied", 0, 1),
  ],
  [
    "an emergency of one",
    { steps: [proposed, urgent("eve", "approved", { review_hours: 1 })], policy: EMERGENCY },
    tooFew(2, "approved", 1, 2, " for an emergency"),
  ],
  [
    "an emergency of two",
    { steps: [proposed, urgent("ida"), urgent("eve", "approved"), applied], policy: EMERGENCY },
    [],
  ],
  [
    "an emergency of others",
    { steps: [proposed, urgent("ana"), urgent("bo", "approved")], policy: EMERGENCY },
    tooFew(3, "approved", 0, 2, " for an emergency"),
  ],
  [
    "an emergency without rules",
    { steps: [proposed, urgent("ana", "approved")] },
    tooFew(2, "approved", 0, 1, " for an emergency"),
  ],
  [
    "an emergency under an unknown intent",
    { steps: [proposed, urgent("ana", "approved", { manifest_hash: "x" })] },
    [],
  ],
  [
    "an emergency after the approval",
    {
      steps: [proposed, approved, urgent("eve", "approved", { from: "approved", review_hours: 1 })],
      policy: EMERGENCY,
    },
    tooFew(3, "approved", 1, 2, " for an emergency"),
  ],
  // Only an entry with review_hours completes an emergency after the approval.
  [
    "an emergency after the approval, without hours for a review",
    { steps: [proposed, approved, urgent("eve", "approved", { from: "approved" })], policy: EMERGENCY },
    [],
  ],
  [
    "a mandate that is not in the file",
    { steps: [proposed, consent("mandate:m1", "approved")] },
    ["2 quorum: it was approved by a mandate: the entries of its mandate are not in this file"],
  ],
  ["a mandate before a loss", { steps: [proposed, consent("mandate:m1"), loss, applied] }, tooFew(4, "applied", 0, 1)],
  [
    "a mandate at the apply",
    { steps: [proposed, consent("mandate:m1"), applied] },
    ["3 quorum: it was applied by a mandate: the entries of its mandate are not in this file"],
  ],
  ["a minor change", { steps: [proposed, applied], content: { tier: "minor" }, policy: MINOR_ALLOWED }, []],
  ["a minor change of no rule", { steps: [proposed, applied], content: { tier: "minor" } }, MINOR_ALONE],
  [
    "a minor change of an agent",
    { steps: [proposed], content: { tier: "minor", proposer: "agent:x" }, policy: MINOR_ALLOWED },
    MINOR_ALONE,
  ],
  [
    "a minor change of an agent, by its entry",
    { steps: [["change_proposed", { proposer: "agent:x" }]], content: { tier: "minor" }, policy: MINOR_ALLOWED },
    MINOR_ALONE,
  ],
  [
    "a minor change without a proposer",
    { steps: [proposed], content: { tier: "minor" }, policy: MINOR_ALLOWED, principals: PRINCIPALS },
    UNVOUCHED,
  ],
  [
    "a minor change by a claimed name",
    {
      steps: [["change_proposed", { proposer: "pia", authenticated: "claimed" }]],
      content: { tier: "minor" },
      policy: MINOR_ALLOWED,
      principals: PRINCIPALS,
    },
    UNVOUCHED,
  ],
  [
    "a minor change by a name of the proxy",
    {
      steps: [["change_proposed", { proposer: "pia", authenticated: "proxy" }]],
      content: { tier: "minor" },
      policy: MINOR_ALLOWED,
      principals: PRINCIPALS,
    },
    [],
  ],
  [
    "a minor change by a signer",
    {
      steps: [["change_proposed", { proposer: "ana" }]],
      content: { tier: "minor" },
      policy: MINOR_ALLOWED,
      principals: PRINCIPALS,
      signed: { 1: "ana" },
    },
    [],
  ],
  [
    "a minor change by an agent's secret",
    {
      steps: [["change_proposed", { proposer: "Agent:X", authenticated: "agent" }]],
      content: { tier: "minor" },
      policy: { minor: { ...MINOR_ALLOWED.minor, agents: true } },
      principals: PRINCIPALS,
    },
    [],
  ],
  [
    "a minor change by a person with an agent's secret",
    {
      steps: [["change_proposed", { proposer: "pia", authenticated: "agent" }]],
      content: { tier: "minor" },
      policy: MINOR_ALLOWED,
      principals: PRINCIPALS,
    },
    UNVOUCHED,
  ],
])("the consents of a change are judged: %s", (_, given, expected) => {
  expect(judge(given)).toEqual(expected);
});
