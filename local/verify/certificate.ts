/** Verifies a certificate: its entries are in the log, they are about its content, and its consents are valid and signed. */
import { hash } from "node:crypto";
import type { Finding } from "./chain.ts";
import { type CertificateParts, readParts } from "./container.ts";
import { Unreadable } from "./evidence.ts";
import { type JsonObject, parseObject, stringOrUndefined } from "./json.ts";
import { decodeUtf8, parseDetail, readManifestHash, type RecordedEntry } from "./entry_detail.ts";
import { type AddFinding, requireConsents, deriveStatuses } from "./change_life.ts";
import { lossText, readLoss } from "./losses.ts";
import { listMissingIntents, readIntents, requireNamedIntents } from "./certificate_intents.ts";
import { verifySignatures } from "./certificate_proofs.ts";
import { divideEntries, requireMandates } from "./mandate_entries.ts";
import { isLoss } from "./mandate_state.ts";
import { isMandateEntry } from "./mandates.ts";
import { type Checkpoint, escapeNoteLine } from "./note.ts";
import type { KeysByName } from "./policy.ts";
import { createAutomationCheck } from "./automation.ts";
import { createPlanCheck } from "./plan_targets.ts";
import { createRolloutCheck } from "./rollouts.ts";
import { findDetailProblem } from "./proofs.ts";
import { judgeCheckpoint, type TlogPolicy } from "./tlog_policy.ts";
import { listUnreadRemarks } from "./verify.ts";
import { parseProof, type ProvenEntry } from "./tlog_proof.ts";

/** Logs, keys and intents that the caller of the verifier trusts. */
export interface TrustSettings {
  /** The logs and witnesses that must have signed the checkpoint. */
  policy?: TlogPolicy | undefined;
  /** Keys that decisions must be signed with; undefined: the keys that the intent of each decision lists. */
  trustedKeys?: KeysByName | undefined;
  /** Hashes of the only intents under which decisions count; empty: any intent. */
  acceptedManifests: readonly string[];
  /** Texts of intents that the file does not contain; used where a decision names the hash of one. */
  furtherIntents?: readonly string[] | undefined;
}

/** One step of the change's life, as its entry records it. */
export interface Step {
  entry: number;
  at: string;
  event: string;
  /** The decision, and the name of the person or agent who made it. */
  decision: string | null;
  name: string | null;
  /** How the service authenticated that name. */
  authenticated: string | null;
  note: string | null;
  /** Status of the change after this step. */
  status: string;
  /** The key that signed it; `null` without a valid signature. */
  key: string | null;
  manifest_hash: string | null;
}

/** Result of the verification. */
export interface CertificateReport {
  /**
   * `valid`: a checkpoint that the policy trusts covers it. `consistent`: no finding, but the policy or an intent that it needs
   * is missing.
   */
  verdict: "valid" | "consistent" | "bad";
  change_id: string;
  /** The exact bytes of the content that was consented to: their SHA-256 is the digest. */
  content: string;
  /** True after an erasure: `content` has the remaining fields, `digest` is still that of the complete content. */
  erased: boolean;
  digest: string;
  origin: string;
  /** The checkpoint that covers the entries; `null` without a policy, since anybody can make a checkpoint. */
  checkpoint: { length: number; signed_by: string; witnessed_by: { name: string; at: string }[] } | null;
  steps: Step[];
  findings: Finding[];
  remarks: string[];
}

const sha256 = (text: string): string => hash("sha256", text, "hex");

/** Verifies the bytes of a certificate. Errors: `Unreadable` where they are not a certificate. */
export function verifyCertificate(file: Buffer, trust: TrustSettings): CertificateReport {
  const parts = readParts(file);
  if (!parts) throw new Unreadable("this is not a certificate in the exact form that the service writes");
  const findings: Finding[] = [];
  const addFinding: AddFinding = (entry, rule, message) => void findings.push({ line: null, entry, rule, message });
  try {
    return verifyParts(parts, trust, { addFinding, findings, remarks: [] });
  } catch (error) {
    // An unexpected error must not end the verification: it becomes a finding.
    addFinding(null, "form", `an unexpected error stopped its check: ${String(error)}`);
    const emptyReport = { change_id: "", digest: "", origin: "", checkpoint: null, steps: [], remarks: [] };
    return { ...emptyReport, verdict: "bad", content: parts.content, erased: parts.isErased, findings };
  }
}

function verifyParts(
  parts: CertificateParts,
  trust: TrustSettings,
  { addFinding, findings, remarks }: Reporting & { findings: Finding[] },
): CertificateReport {
  const provenEntries = readProofs(parts.proofs, addFinding);
  const entries = provenEntries.map(({ entry }) => ({ entry, detail: parseDetail(entry) }));
  const { intents, hashes } = readAllIntents(parts.intents, trust.furtherIntents, entries, addFinding);
  const { life, mandates } = divideEntries(entries);
  for (const { entry } of provenEntries) {
    const problem = findDetailProblem(entry, parseObject(decodeUtf8(entry.detail)));
    if (problem !== undefined) addFinding(entry.id, "form", problem);
  }
  const statedDigest = stringOrUndefined(life[0]?.detail["digest"]) ?? "undefined";
  const digest = parts.isErased ? statedDigest : sha256(parts.content);
  if (parts.isErased) requireErasure(life, sha256(parts.content), { addFinding, remarks });
  const content = parseObject(parts.content) ?? {};
  requireOneChange(life, digest, addFinding);
  requireMatchingContent(life, content, addFinding);
  requireMandates(mandates, life[0], addFinding);
  requireOneCheckpoint(provenEntries, addFinding);
  requireNamedIntents(entries, hashes, trust.acceptedManifests, addFinding);
  const missingHashes = listMissingIntents(entries, hashes, content);
  for (const manifest of missingHashes)
    remarks.push(`the intent ${manifest} is not in this file: the consents that it requires were not checked`);
  const { signed, unsigned } = verifySignatures(life, intents, trust.trustedKeys, addFinding);
  // Signatures that a mandate lacks are counted where it consents.
  for (const [entry, key] of verifySignatures(mandates, intents, trust.trustedKeys, addFinding).signed)
    signed.set(entry, key);
  if (signed.size > 0 && !trust.trustedKeys && trust.acceptedManifests.length === 0)
    remarks.push(
      "only the intents in this file state whose keys these are: name the trusted keys with --keys or --manifest-hash",
    );
  const statuses = deriveStatuses(life, content["tier"], addFinding);
  verifySteps(life, content, { addFinding, remarks });
  remarks.push(...listLossRemarks(mandates, life));
  requireConsents(
    life,
    statuses,
    {
      content,
      isErased: parts.isErased,
      proposal: life[0]?.detail ?? {},
      intents,
      signed,
      unsigned,
      mandates: entries.filter((one) => isMandateEntry(one) || isLoss(one)),
      trustedKeys: trust.trustedKeys,
    },
    addFinding,
  );
  const checkpoint = provenEntries[0]
    ? verifyCheckpoint(provenEntries[0].checkpoint, trust.policy, { addFinding, remarks })
    : null;
  const verdictWithoutFindings = checkpoint === null || missingHashes.length > 0 ? "consistent" : "valid";
  const findKey = ({ entry }: RecordedEntry): string | null => signed.get(entry.id) ?? null;
  return {
    verdict: findings.length > 0 ? "bad" : verdictWithoutFindings,
    change_id: life[0] ? decodeUtf8(life[0].entry.changeId) : "",
    content: parts.content,
    erased: parts.isErased,
    digest,
    origin: life[0] ? decodeUtf8(life[0].entry.origin) : "",
    checkpoint,
    steps: [
      ...mandates.map((step) => toStep(step, stringOrUndefined(step.detail["status"]) ?? "", findKey(step))),
      ...life.map((step, index) => toStep(step, statuses[index]!, findKey(step))),
    ].sort((a, b) => a.entry - b.entry),
    findings,
    remarks,
  };
}

/** Verifies that each proof proves its entry, and returns the proven ones. */
const readProofs = (proofs: readonly string[], addFinding: AddFinding): ProvenEntry[] =>
  proofs.flatMap((text, index) => {
    const parsed = parseProof(text);
    if (typeof parsed !== "string") return [parsed];
    addFinding(null, "inclusion", `proof ${index + 1}: ${parsed}`);
    return [];
  });

/** Reads the intents of the file, and those of `further` that an entry names: their folder may contain others too. */
function readAllIntents(
  own: readonly string[],
  further: TrustSettings["furtherIntents"],
  entries: readonly RecordedEntry[],
  addFinding: AddFinding,
): ReturnType<typeof readIntents> {
  const { intents, hashes } = readIntents(own, addFinding);
  const namedHashes = new Set(entries.map(({ detail }) => readManifestHash(detail)));
  const named = further?.filter((text) => namedHashes.has(sha256(text)) && parseObject(text)) ?? [];
  const others = readIntents(named, addFinding);
  return { intents: new Map([...intents, ...others.intents]), hashes: new Set([...hashes, ...others.hashes]) };
}

/** Verifies automatic applies, rollouts and plans, as in an export. */
function verifySteps(life: readonly RecordedEntry[], content: JsonObject, { addFinding, remarks }: Reporting): void {
  const checkAutomation = createAutomationCheck();
  const rollouts = createRolloutCheck();
  const plans = createPlanCheck();
  for (const { entry } of life) {
    // The line is 0, since a certificate has none; findings name the entry only.
    for (const finding of [checkAutomation(entry, 0), rollouts.check(entry, 0), plans.check(entry, 0)])
      if (finding) addFinding(entry.id, finding.rule, finding.message);
    if (entry.eventType !== "change_proposed") continue;
    // An erasure keeps the stages and the targets of a plan, so both can still be checked.
    for (const problem of [rollouts, plans].map((one) => one.addContent(decodeUtf8(entry.changeId), content)))
      if (problem !== undefined) addFinding(entry.id, "content", problem);
  }
  remarks.push(...listUnreadRemarks(rollouts.countUnread()));
}

/** Lists remarks on accepted losses of the log's end, which invalidate consents before them. */
const listLossRemarks = (mandates: readonly RecordedEntry[], life: readonly RecordedEntry[]): string[] => [
  ...mandates
    .filter(isLoss)
    .map(
      ({ entry }) =>
        `${lossText(readLoss(entry)!)}; a mandate that was signed before this loss counts again once it is resumed`,
    ),
  ...life
    .filter(isLoss)
    .map(({ entry }) => `${lossText(readLoss(entry)!)}; consents before this loss do not count after it`),
];

interface Reporting {
  addFinding: AddFinding;
  remarks: string[];
}

/** Requires that the fields in the proposal's entry match the content; they stay verifiable after an erasure. */
function requireMatchingContent([first]: readonly RecordedEntry[], content: JsonObject, addFinding: AddFinding): void {
  if (!first) return;
  const { entry, detail } = first;
  for (const name of ["kind", "target", "tier", "risk", "kpi", "proposer"]) {
    // A field that the entry or the content lacks contradicts nothing.
    if (detail[name] === undefined || content[name] === undefined) continue;
    const recorded = detail[name];
    if (recorded !== content[name] || (typeof recorded !== "string" && recorded !== null))
      addFinding(entry.id, "content", `its ${name} is not that of the content in this file`);
  }
  // Here absence has a meaning: the change does not apply by itself.
  const { apply_when: recorded } = detail;
  const isUsed = recorded !== undefined || content["apply_when"] !== undefined;
  if (isUsed && !(typeof recorded === "string" && recorded === content["apply_when"]))
    addFinding(entry.id, "content", "its apply_when is not that of the content in this file");
  const { tenant_id: tenant } = content;
  if (tenant !== undefined && tenant !== decodeUtf8(entry.tenant))
    addFinding(entry.id, "content", "its tenant is not that of the content in this file");
}

/** Requires that all entries are about one change of one log, in order, and about the content of this file. */
function requireOneChange(life: readonly RecordedEntry[], digest: string, addFinding: AddFinding): void {
  const [first] = life;
  if (!first) return;
  if (first.entry.eventType !== "change_proposed")
    addFinding(first.entry.id, "form", "the first entry is not the proposal");
  for (const [index, step] of life.entries()) {
    const { entry, detail } = step;
    // The loss of the log's end concerns all changes, so its entry names none, and no content.
    const isOther = isLoss(step) ? entry.changeId !== "" : entry.changeId !== first.entry.changeId;
    if (isOther) addFinding(entry.id, "form", "its change_id is not that of the first entry");
    if (entry.origin !== first.entry.origin)
      addFinding(entry.id, "origin", "its origin is not that of the first entry");
    if (index > 0 && entry.id <= life[index - 1]!.entry.id)
      addFinding(entry.id, "id", "its id is not higher than that of the previous entry");
    if (!isLoss(step) && detail["digest"] !== digest)
      addFinding(entry.id, "content", "its digest is not that of the content in this file");
  }
}

/** Requires an entry that erased the content; `remainingDigest` is the digest of the remaining content. */
function requireErasure(
  life: readonly RecordedEntry[],
  remainingDigest: string,
  { addFinding, remarks }: Reporting,
): void {
  const erasure = life.find(({ entry }) => entry.eventType === "content_erased");
  if (!erasure) addFinding(null, "content", "the content is marked as erased, but no entry records an erasure");
  else if (erasure.detail["remaining_digest"] !== remainingDigest)
    addFinding(erasure.entry.id, "content", "the remaining content does not match the remaining_digest of its erasure");
  else remarks.push(`the content was erased by entry ${erasure.entry.id}: only its digest remains`);
}

/** Requires that one checkpoint, of the entries' own log, covers all entries. */
function requireOneCheckpoint(provenEntries: readonly ProvenEntry[], addFinding: AddFinding): void {
  for (const { entry, note, checkpoint } of provenEntries) {
    if (note !== provenEntries[0]!.note)
      addFinding(entry.id, "inclusion", "its proof has another checkpoint than that of the first entry");
    if (checkpoint.origin !== escapeNoteLine(decodeUtf8(entry.origin)))
      addFinding(entry.id, "origin", "its checkpoint belongs to another log");
  }
}

/** Verifies the signatures of the checkpoint; `null` where the policy does not trust it. */
function verifyCheckpoint(
  checkpoint: Checkpoint,
  policy: TlogPolicy | undefined,
  { addFinding, remarks }: Reporting,
): CertificateReport["checkpoint"] {
  if (!policy) {
    remarks.push("no signature of the log was checked, since no --policy was given: anybody could have made this file");
    return null;
  }
  const { log, witnesses, isMet } = judgeCheckpoint(checkpoint, policy);
  const invalid = witnesses.find(({ at }) => at === null);
  if (invalid) addFinding(null, "cosignature", `the cosignature of the witness ${invalid.name} is invalid`);
  if (log === undefined) addFinding(null, "signature", "the checkpoint is not signed by a log of the policy");
  else if (!isMet) addFinding(null, "cosignature", "the checkpoint lacks cosignatures that the policy requires");
  if (invalid || log === undefined || !isMet) return null;
  const witnessed_by = witnesses.map(({ name, at }) => ({ name, at: new Date(at! * 1000).toISOString() }));
  return { length: checkpoint.length, signed_by: log, witnessed_by };
}

const textOrNull = (value: unknown): string | null => stringOrUndefined(value) ?? null;

const toStep = ({ entry, detail }: RecordedEntry, status: string, key: string | null): Step => ({
  entry: entry.id,
  at: entry.timestamp,
  event: entry.eventType,
  decision: detail["emergency"] === true ? "approved_emergency" : textOrNull(detail["verdict"] ?? detail["decision"]),
  name:
    textOrNull(detail[entry.eventType === "change_proposed" ? "proposer" : "approver"]) ?? textOrNull(detail["actor"]),
  authenticated: textOrNull(detail["authenticated"]),
  note: textOrNull(detail["note"]),
  status,
  key,
  manifest_hash: textOrNull(detail["manifest_hash"]),
});
