/** Tests the rules of a certificate: each file is made by code and differs in one thing from a valid one. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { formatVerifierKey } from "../../../lib/audit/note.ts";
import { sha256 as sha256Port } from "../../../local/node_ports.ts";
import { type TrustSettings, verifyCertificate } from "../../../local/verify/certificate.ts";
import { parseKeys } from "../../../local/verify/policy.ts";
import { parseTlogPolicy } from "../../../local/verify/tlog_policy.ts";
import { rebuildCertificate } from "../../support/certificate_parts.ts";
import { keyPair } from "../../support/independent_witness.ts";
import { passkey } from "../../support/passkeys.ts";
import { person } from "../../support/signed.ts";
import { newKey, rehashed, type SigningKey } from "../../tamper/world.ts";
import { writeCertificate } from "./fuzz_world.ts";

type Detail = Record<string, unknown>;
type Step = readonly [event: AuditEntry["event_type"], detail?: Detail, entry?: Partial<AuditEntry>];
type Found = readonly [entry: number | null, rule: string, message: string];

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

const ORIGIN = "acme.example/1";
const AT = "2026-11-02T08:00:00.000Z";
const [LOG, OTHER_LOG] = [newKey(), newKey()];
const [WITNESS, OTHER_WITNESS] = [keyPair("w.example", 4), keyPair("o.example", 4)];
const ANA = passkey();

const policyText = (key: SigningKey, quorum = "none"): string =>
  [
    `log ${formatVerifierKey({ name: ORIGIN, publicKey: new Uint8Array(key.raw) }, sha256Port)}`,
    `witness w1 ${WITNESS.vkey}`,
    `witness w2 ${OTHER_WITNESS.vkey}`,
    `quorum ${quorum}`,
  ].join("\n");
const trustIn = (key: SigningKey, quorum?: string): TrustSettings => ({
  policy: parseTlogPolicy(policyText(key, quorum)),
  acceptedManifests: [],
});

const CONTENT: Detail = {
  ...{ tenant_id: "t1", kind: "config", target: "ui.a", tier: "standard", risk: "low", kpi: null, proposer: "pat" },
};
const INTENT = JSON.stringify({ policy: { approvers: ["ana"], minor: { kinds: ["config"], targets: ["*"] } } });
const OTHER_INTENT = JSON.stringify({ policy: { approvers: ["bo"] } });
const PROPOSED: Step = ["change_proposed", { kind: "config", target: "ui.a", risk: "low", kpi: null, proposer: "pat" }];
const APPROVED: Step = ["consent_decision", { decision: "approved", status: "approved", approver: "ana" }];
const APPLIED: Step = ["change_applied", { actor: "ops" }];

interface Parts {
  steps?: readonly Step[];
  content?: Detail;
  intents?: readonly string[];
  isErased?: boolean;
  cosigned?: (text: string, seconds: number) => string;
}

/** Returns the step with members added to its detail; undefined removes a member. */
const withDetail = ([event, detail, entry = {}]: Step, over: Detail): Step => [event, { ...detail, ...over }, entry];

/** Returns a certificate of all steps; entries name the digest of the content and the intent by default. */
function certificateOf({ steps = [PROPOSED, APPROVED, APPLIED], content, intents = [INTENT], ...more }: Parts): string {
  const { isErased = false, cosigned = WITNESS.cosigned } = more;
  const body = JSON.stringify({ ...CONTENT, ...content });
  const shared = { digest: sha256(body), manifest_hash: sha256(INTENT) };
  const entries = steps.map(([event_type, detail, entry], index): AuditEntry => ({
    // In the order in which the service writes the members.
    ...{ origin: ORIGIN, id: index + 1, timestamp: AT, event_type, change_id: "c1", tenant: "t1" },
    ...{ detail: JSON.stringify({ ...shared, ...detail }), previous_hash: "", current_hash: "", ...entry },
  }));
  const log = rehashed(entries, 0);
  const parts = { name: isErased ? "erased" : "content", content: body, intents, ids: log.map(({ id }) => id) };
  return writeCertificate({ key: LOG, witness: { cosigned } }, log, parts);
}

const verify = (parts: Parts, trust: TrustSettings = trustIn(LOG)) =>
  verifyCertificate(Buffer.from(certificateOf(parts)), trust);

const findingsOf = (parts: Parts, trust?: TrustSettings): Found[] =>
  verify(parts, trust).findings.map(({ entry, rule, message }) => [entry, rule, message]);

const proposedWith = (detail: Detail, content: Detail): Parts => ({
  steps: [withDetail(PROPOSED, detail), APPROVED, APPLIED],
  content,
});

test("a certificate of a change that one person approved is valid", () => {
  expect(verify({})).toMatchObject({ verdict: "valid", change_id: "c1", origin: ORIGIN, findings: [], remarks: [] });
});

test.each<[which: string, entryDetail: Detail, content: Detail]>([
  ["has no KPI, where its content omits it", { kpi: null }, { kpi: undefined }],
  ["omits the KPI of its content", { kpi: undefined }, { kpi: "csat" }],
  ["has a tenant, where its content omits it", {}, { tenant_id: undefined }],
  ["has the apply_when of its content", { apply_when: "approved" }, { apply_when: "approved" }],
])("a proposal whose entry %s is valid", (_, detail, content) => {
  expect(findingsOf(proposedWith(detail, content))).toEqual([]);
});

test.each<[which: string, field: string, entryDetail: Detail, content: Detail]>([
  ["has another target", "target", { target: "ui.b" }, {}],
  ["has a number as its risk", "risk", { risk: 5 }, { risk: 5 }],
  ["is of another tenant", "tenant", {}, { tenant_id: "t2" }],
  ["has an apply_when alone", "apply_when", { apply_when: "approved" }, {}],
  ["omits the apply_when of its content", "apply_when", {}, { apply_when: "approved" }],
  ["has another apply_when", "apply_when", { apply_when: "approved" }, { apply_when: AT }],
  ["has a number as its apply_when", "apply_when", { apply_when: 5 }, { apply_when: 5 }],
])("a proposal whose entry %s has a finding about its %s", (_, name, detail, content) => {
  const message = `its ${name} is not that of the content in this file`;
  expect(findingsOf(proposedWith(detail, content))).toEqual([[1, "content", message]]);
});

/** Content that the intent accepts as a minor change. */
const FREE: Detail = { tier: "minor", affected_users: 0, reversible: true };
// Entries about no change; `undefined` removes the digest that all entries have by default.
const OF_NO_CHANGE = { change_id: "", tenant: "" };
const LOSS: Step = ["loss_accepted", { actor: "ana", length: 1, digest: undefined }, OF_NO_CHANGE];
const MANDATE = { mandate_id: "m1", revision: 1, digest: undefined };
const MANDATE_SIGNED: Step = ["mandate_signed", { ...MANDATE, status: "active" }, OF_NO_CHANGE];
const MANDATE_ENDED: Step = ["mandate_ended", { ...MANDATE, revision: 2 }, OF_NO_CHANGE];
const BY_MANDATE: Step = withDetail(APPROVED, {
  approver: "mandate:m1",
  mandate: { mandate_id: "m1", revision: 1, entry: 1 },
});

test.each<[string, Parts]>([
  ["a minor change that was applied without consents", { steps: [PROPOSED, APPLIED], content: FREE }],
  ["an accepted loss", { steps: [PROPOSED, LOSS, APPROVED, APPLIED] }],
  // Without an intent in the file the bounds of the mandate are not checked.
  [
    "a proposal that names the mandate of its consent",
    { steps: [MANDATE_SIGNED, withDetail(PROPOSED, { mandate_id: "m1" }), BY_MANDATE], intents: [] },
  ],
])("a certificate with %s has no finding", (_, parts) => {
  expect(findingsOf(parts)).toEqual([]);
});

test.each<[what: string, parts: Parts, findings: Found[]]>([
  [
    "an accepted loss that names the change",
    { steps: [PROPOSED, ["loss_accepted", LOSS[1]!], APPROVED] },
    [[2, "form", "its change_id is not that of the first entry"]],
  ],
  [
    "an entry of another change",
    { steps: [PROPOSED, APPROVED, ["change_applied", {}, { change_id: "c2" }]] },
    [[3, "form", "its change_id is not that of the first entry"]],
  ],
  [
    "an entry of another log",
    { steps: [PROPOSED, APPROVED, ["change_applied", {}, { origin: "other.example/1" }]] },
    [
      [3, "origin", "its origin is not that of the first entry"],
      [3, "origin", "its checkpoint belongs to another log"],
    ],
  ],
  [
    "a consent that names nobody",
    { steps: [PROPOSED, withDetail(APPROVED, { status: "pending_consent", approver: undefined }), APPROVED] },
    [[2, "form", "its detail lacks a valid decision or approver"]],
  ],
  [
    "an automatic apply of a change without apply_when",
    { steps: [PROPOSED, APPROVED, ["change_applied", { actor: "policy:apply_when" }]] },
    [[3, "form", "it was applied by policy:apply_when, but the change is not set to apply automatically"]],
  ],
  [
    "the consent of a mandate whose entries are missing",
    { steps: [PROPOSED, BY_MANDATE] },
    [[2, "quorum", "it was approved by a mandate: the entries of its mandate are not in this file"]],
  ],
  [
    "an intent that is a list",
    { intents: [INTENT, "[]"] },
    [[null, "intent", "an intent in this file is not a JSON object"]],
  ],
])("a certificate with %s is rejected", (_, parts, expected) => {
  expect(findingsOf(parts)).toEqual(expected);
});

test("an erased content needs its remaining fields, and keeps the digest of all its fields", () => {
  const digest = sha256(JSON.stringify({ ...CONTENT, summary: "Less" }));
  const steps = [PROPOSED, APPROVED].map((step) => withDetail(step, { digest }));
  const erasureOf = (remaining: Detail): Step => [
    "content_erased",
    { actor: "ana", digest, remaining_digest: sha256(JSON.stringify(remaining)) },
  ];
  const report = verify({ steps: [...steps, erasureOf(CONTENT)], isErased: true });
  expect(report).toMatchObject({ verdict: "valid", erased: true, digest, findings: [] });
  expect(report.remarks).toEqual(["the content was erased by entry 3: only its digest remains"]);
  expect(findingsOf({ steps: [...steps, erasureOf({})], isErased: true })).toEqual([
    [3, "content", "the remaining content does not match the remaining_digest of its erasure"],
  ]);
});

test("a certificate whose only proof is invalid has that finding, and no change", () => {
  for (const isErased of [false, true]) {
    const text = certificateOf({ steps: [PROPOSED], intents: [], isErased });
    const broken = rebuildCertificate(text, (part) => part.replace("\nindex 0\n", "\nindex 1\n"));
    const report = verifyCertificate(Buffer.from(broken), trustIn(LOG));
    const erasure = isErased ? ["the content is marked as erased, but no entry records an erasure"] : [];
    expect(report).toMatchObject({ verdict: "bad", change_id: "", origin: "", checkpoint: null, steps: [] });
    expect(report.findings.map(({ message }) => message)).toEqual([
      "proof 1: its index is not that of entry 1",
      ...erasure,
    ]);
  }
});

test("the steps of a change and its mandate are in the order of their entries", () => {
  const { steps } = verify({ steps: [MANDATE_SIGNED, PROPOSED, BY_MANDATE, APPLIED, MANDATE_ENDED], intents: [] });
  expect(steps.map(({ entry, event }) => [entry, event])).toEqual([
    [1, "mandate_signed"],
    [2, "change_proposed"],
    [3, "consent_decision"],
    [4, "change_applied"],
    [5, "mandate_ended"],
  ]);
});

test("the step of an emergency consent says that it was one", () => {
  const { steps } = verify({ steps: [PROPOSED, withDetail(APPROVED, { emergency: true }), APPLIED] });
  expect(steps.map(({ decision }) => decision)).toEqual([null, "approved_emergency", null]);
});

const missing = (text: string): string =>
  `the intent ${sha256(text)} is not in this file: the consents that it requires were not checked`;
const under = (step: Step, text: string): Step => withDetail(step, { manifest_hash: sha256(text) });
const ROLLED_BACK = under(["change_rolled_back"], OTHER_INTENT);
const MINOR: Step = withDetail(PROPOSED, { status: "approved" });

test.each<[string, Parts]>([
  ["a signed proposal", { steps: [withDetail(under(PROPOSED, OTHER_INTENT), { proof: {} }), APPROVED] }],
  ["a minor proposal", { steps: [under(MINOR, OTHER_INTENT)], content: FREE, intents: [] }],
  ["a consent", { steps: [PROPOSED, under(APPROVED, OTHER_INTENT), APPLIED] }],
  ["an apply", { steps: [PROPOSED, APPROVED, under(APPLIED, OTHER_INTENT)] }],
])("without the intent of %s a certificate is only consistent", (_, parts) => {
  expect(verify(parts)).toMatchObject({ verdict: "consistent", findings: [], remarks: [missing(OTHER_INTENT)] });
});

test.each<[string, Parts]>([
  ["a standard proposal", { steps: [under(PROPOSED, OTHER_INTENT), APPROVED, APPLIED] }],
  ["a rollback", { steps: [PROPOSED, APPROVED, APPLIED, ROLLED_BACK] }],
  ["the rollback of a minor change", { steps: [MINOR, APPLIED, ROLLED_BACK], content: FREE }],
])("without the intent of %s a certificate is valid", (_, parts) => {
  expect(verify(parts)).toMatchObject({ verdict: "valid", findings: [], remarks: [] });
});

test("an intent from outside of the file is used where an entry names it", () => {
  const trust = (...furtherIntents: string[]): TrustSettings => ({ ...trustIn(LOG), furtherIntents });
  const withoutIntent: Parts = { intents: [], steps: [PROPOSED, withDetail(APPROVED, { approver: "eve" })] };
  const notEligible: Found = [2, "quorum", "it was approved with 0 of 1 consents"];
  expect(findingsOf(withoutIntent)).toEqual([]);
  expect(findingsOf(withoutIntent, trust(INTENT))).toEqual([notEligible]);
  expect(verify({ intents: [] }, trust(INTENT, OTHER_INTENT))).toMatchObject({ verdict: "valid", remarks: [] });
});

test("a text from outside of the file that is not a JSON object is no intent", () => {
  const steps = [PROPOSED, under(APPROVED, "[]")];
  const report = verify({ steps }, { ...trustIn(LOG), furtherIntents: ["[]"] });
  expect([report.findings, report.remarks]).toEqual([[], [missing("[]")]]);
});

const NOT_SIGNED = "the checkpoint is not signed by a log of the policy";
const FEW = "the checkpoint lacks cosignatures that the policy requires";
const cosignedOther = (_: string, seconds: number): string => WITNESS.cosigned("another text\n", seconds);

test.each<[reason: string, trust: TrustSettings, parts: Parts, findings: Found[]]>([
  ["the policy has another log", trustIn(OTHER_LOG), {}, [[null, "signature", NOT_SIGNED]]],
  ["a required witness has not signed", trustIn(LOG, "w2"), {}, [[null, "cosignature", FEW]]],
  [
    "the cosignature of a witness is invalid, though none is required",
    trustIn(LOG),
    { cosigned: cosignedOther },
    [[null, "cosignature", "the cosignature of the witness w1 is invalid"]],
  ],
])("a checkpoint is not trusted: %s", (_, trust, parts, expected) => {
  expect(findingsOf(parts, trust)).toEqual(expected);
  expect(verify(parts, trust).checkpoint).toBeNull();
});

test("a trusted checkpoint names its log, its length and its witnesses", () => {
  const witnessed_by = [{ name: "w1", at: "2027-01-15T08:00:00.000Z" }];
  expect(verify({}, trustIn(LOG, "w1")).checkpoint).toEqual({ length: 3, signed_by: ORIGIN, witnessed_by });
});

test("a signature of a consent covers the apply_when of an unsigned proposal", () => {
  const principals = { ana: person(ANA) };
  const intent = JSON.stringify({ policy: { approvers: ["ana"] }, principals });
  const [key] = parseKeys(principals).get("ana")!;
  const content = { apply_when: "approved" };
  const consentSigned = (apply_when: string): Step => {
    const digest = sha256(JSON.stringify({ ...CONTENT, ...content }));
    const facts = { v: "countersign-consent/1", origin: ORIGIN, decision: "approve", note: "", approver: "ana" };
    const stated: Detail = { ...facts, at: AT, apply_when, change_id: "c1", digest, manifest_hash: sha256(intent) };
    const statement = JSON.stringify(stated, Object.keys(stated).sort());
    return withDetail(under(APPROVED, intent), { note: "", key: key!.id, statement, proof: ANA.sign(statement) });
  };
  const partsOf = (consent: Step): Parts => ({
    steps: [withDetail(under(PROPOSED, intent), content), consent],
    intents: [intent],
    content,
  });
  const report = verify(partsOf(consentSigned("approved")));
  expect([report.findings, report.steps[1]!.key]).toEqual([[], key!.id]);
  expect(findingsOf(partsOf(consentSigned(AT)))).toEqual([
    [2, "proof", "its statement does not match the entry"],
    [2, "quorum", "it was approved with 0 of 1 consents"],
  ]);
});

test("an error of the verifier itself is a finding", () => {
  const text = certificateOf({});
  const trust: TrustSettings = {
    get acceptedManifests(): never {
      throw new Error("broken");
    },
  };
  const message = "an unexpected error stopped its check: Error: broken";
  expect(verifyCertificate(Buffer.from(text), trust)).toEqual({
    ...{ verdict: "bad", change_id: "", digest: "", origin: "", checkpoint: null, steps: [], remarks: [] },
    ...{
      content: JSON.stringify(CONTENT),
      erased: false,
      findings: [{ line: null, entry: null, rule: "form", message }],
    },
  });
});
