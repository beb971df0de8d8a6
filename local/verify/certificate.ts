/** Verifies a certificate: that what it says of a change stands in the log, and was signed by those whose consent it was. */
import { hash } from "node:crypto";
import type { Finding } from "./chain.ts";
import { type Parts, readParts } from "./container.ts";
import { Unreadable } from "./kept.ts";
import { type Intent, parseIntent } from "./intent.ts";
import { type Detail, parseObject, asText } from "./json.ts";
import { decoded, parseDetail, readManifestHash, type RecordedEntry } from "./detail.ts";
import { type Found, requireConsents, findSigner, deriveStatuses } from "./life.ts";
import { lossText, readLoss } from "./losses.ts";
import { signatures } from "./certificate_proofs.ts";
import { divideEntries, requireMandates } from "./mandate_entries.ts";
import { isLoss } from "./mandate_fold.ts";
import { isOfMandate } from "./mandates.ts";
import { type Checkpoint, noteLine } from "./note.ts";
import type { Policy } from "./policy.ts";
import { createAutomationCheck } from "./automation.ts";
import { createPlanCheck } from "./plan_targets.ts";
import { createRolloutCheck } from "./rollouts.ts";
import { whyUnclear } from "./proofs.ts";
import { judgeCheckpoint, type TlogPolicy } from "./tlog_policy.ts";
import { remarkUnread } from "./verify.ts";
import { parseProof, type Proven } from "./tlog_proof.ts";

/** Data that a verifier trusts. */
export interface Trusted {
  /** The logs and witnesses whose word the checkpoint must have. */
  policy?: TlogPolicy | undefined;
  /** Whose keys decisions must be signed with; without it, those that the intent of each decision lists. */
  people?: Policy | undefined;
  /** The only intents under which decisions count, by their hashes; empty: any. */
  manifests: readonly string[];
  /** Intents that are not in the file, as text: those count that a decision names by their hash. */
  intents?: readonly string[] | undefined;
}

/** One step of the change's life, as its entry tells it. */
export interface Step {
  entry: number;
  at: string;
  event: string;
  /** The decision, and the name it was made in. */
  decision: string | null;
  name: string | null;
  /** How the name was known. */
  authenticated: string | null;
  note: string | null;
  /** Status of the change then. */
  status: string;
  /** The key that signed it, where the signature holds. */
  key: string | null;
  manifest_hash: string | null;
}

/** Result of the verification. */
export interface CertificateReport {
  /** `valid`: a checkpoint that the policy trusts covers it; `consistent`: what would tell, a policy or an intent, is missing. */
  verdict: "valid" | "consistent" | "bad";
  change_id: string;
  /** The content that was consented to, to the byte: its SHA-256 is the digest. */
  content: string;
  /** The content was erased: `content` is what is left of it, and the digest that of what was consented to. */
  erased: boolean;
  digest: string;
  origin: string;
  /** The checkpoint that it is under; `null` where no policy says whose word it needs, for anybody can make one. */
  checkpoint: { length: number; signed_by: string; witnessed_by: { name: string; at: string }[] } | null;
  steps: Step[];
  findings: Finding[];
  remarks: string[];
}

const sha256 = (text: string): string => hash("sha256", text, "hex");

/** Verifies the bytes of a certificate. Errors: `Unreadable` where they are none. */
export function verifyCertificate(file: Buffer, trusted: Trusted): CertificateReport {
  const parts = readParts(file);
  if (!parts) throw new Unreadable("this is no certificate in the one form that the service writes");
  const findings: Finding[] = [];
  const found: Found = (entry, rule, message) => void findings.push({ line: null, entry, rule, message });
  try {
    return judge(parts, trusted, { found, findings, remarks: [] });
  } catch (error) {
    // No certificate may end the verification: what nobody thought of is a finding too.
    found(null, "form", `it could not be judged: ${String(error)}`);
    const nothing = { change_id: "", digest: "", origin: "", checkpoint: null, steps: [], remarks: [] };
    return { ...nothing, verdict: "bad", content: parts.content, erased: parts.isErased, findings };
  }
}

function judge(
  parts: Parts,
  trusted: Trusted,
  { found, findings, remarks }: Findings & { findings: Finding[] },
): CertificateReport {
  const proven = parts.proofs.flatMap((text, index) => {
    const one = parseProof(text);
    if (typeof one !== "string") return [one];
    found(null, "inclusion", `proof ${index + 1}: ${one}`);
    return [];
  });
  const { intents, known } = readIntents(parts.intents, found);
  const all = proven.map(({ entry }) => ({ entry, detail: parseDetail(entry) }));
  const { life, mandates } = divideEntries(all);
  const named = new Set(all.map(({ detail }) => readManifestHash(detail)));
  const others = (trusted.intents ?? []).filter((text) => named.has(sha256(text)) && parseObject(text));
  const { intents: outside, known: alsoKnown } = readIntents(others, found);
  for (const [hash, intent] of outside) intents.set(hash, intent);
  for (const hash of alsoKnown) known.add(hash);
  for (const { entry } of proven) {
    const why = whyUnclear(entry, parseObject(decoded(entry.detail)));
    if (why !== undefined) found(entry.id, "form", why);
  }
  const digest = parts.isErased ? (asText(life[0]?.detail["digest"]) ?? "undefined") : sha256(parts.content);
  if (parts.isErased) requireErasure(life, sha256(parts.content), { found, remarks });
  const content = parseObject(parts.content) ?? {};
  requireOneChange(life, digest, found);
  requireNamedContent(life, content, found);
  requireMandates(mandates, life[0], found);
  requireOneCheckpoint(proven, found);
  requireOwnIntents(all, known, trusted.manifests, found);
  const unread = missingIntents(all, known, content);
  for (const manifest of unread)
    remarks.push(`the intent ${manifest} is not in this file: what it asks of consents was not checked`);
  const { signed, unsigned } = signatures(life, intents, trusted.people, found);
  for (const [entry, key] of signatures(mandates, intents, trusted.people, found).signed) signed.set(entry, key);
  if (signed.size > 0 && !trusted.people && trusted.manifests.length === 0)
    remarks.push(
      "whose keys are whose is told by the intents in this file: --keys or --manifest-hash says which count",
    );
  const statuses = deriveStatuses(life, content["tier"], found);
  const { isErased } = parts;
  const checkAutomation = createAutomationCheck();
  const rollouts = createRolloutCheck();
  const plans = createPlanCheck();
  for (const { entry } of life) {
    for (const finding of [checkAutomation(entry, 0), rollouts.check(entry, 0), plans.check(entry, 0)])
      if (finding) found(entry.id, finding.rule, finding.message);
    if (entry.eventType !== "change_proposed") continue;
    // An erasure leaves the stages, and the targets of a plan.
    for (const why of [rollouts, plans].map((one) => one.learn(decoded(entry.changeId), content)))
      if (why !== undefined) found(entry.id, "content", why);
  }
  remarks.push(...remarkUnread(rollouts.countUnread()));
  for (const { entry } of mandates.filter(isLoss))
    remarks.push(
      `${lossText(readLoss(entry)!)}; a mandate that was signed before it counts after it once it is resumed`,
    );
  for (const { entry } of life.filter(isLoss))
    remarks.push(`${lossText(readLoss(entry)!)}; consents before it do not count after it`);
  requireConsents(
    life,
    statuses,
    {
      content,
      isErased,
      proposal: life[0]?.detail ?? {},
      intents,
      signed,
      unsigned,
      mandates: all.filter((one) => isOfMandate(one) || isLoss(one)),
      people: trusted.people,
    },
    found,
  );
  const checkpoint = proven[0] ? checkpointUnder(proven[0].checkpoint, trusted.policy, { found, remarks }) : null;
  return {
    verdict: findings.length > 0 ? "bad" : checkpoint === null || unread.length > 0 ? "consistent" : "valid",
    change_id: life[0] ? decoded(life[0].entry.changeId) : "",
    content: parts.content,
    erased: parts.isErased,
    digest,
    origin: life[0] ? decoded(life[0].entry.origin) : "",
    checkpoint,
    steps: [
      ...mandates.map((step) => stepOf(step, asText(step.detail["status"]) ?? "", signed.get(step.entry.id) ?? null)),
      ...life.map((step, index) => stepOf(step, statuses[index]!, signed.get(step.entry.id) ?? null)),
    ].sort((a, b) => a.entry - b.entry),
    findings,
    remarks,
  };
}

interface Findings {
  found: Found;
  remarks: string[];
}

/** Reads the intents in the file; `known` are the hashes of all of them, also of those that no service would load. */
function readIntents(texts: readonly string[], found: Found): { intents: Map<string, Intent>; known: Set<string> } {
  const intents = new Map<string, Intent>();
  const known = new Set<string>();
  for (const text of texts) {
    const manifest = parseObject(text);
    if (!manifest) {
      found(null, "intent", "an intent in this file is no JSON object");
      continue;
    }
    const hash = sha256(text);
    known.add(hash);
    try {
      intents.set(hash, parseIntent(manifest));
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      found(null, "intent", `the intent ${hash} in this file is none that a service loads: ${error.message}`);
    }
  }
  return { intents, known };
}

/** Requires that the fields in the proposal's entry match the content; they stay verifiable after an erasure. */
function requireNamedContent([first]: readonly RecordedEntry[], content: Detail, found: Found): void {
  if (!first) return;
  const { entry, detail } = first;
  for (const name of ["kind", "target", "tier", "risk", "kpi", "proposer"]) {
    if (detail[name] === undefined || content[name] === undefined) continue;
    const [recorded, own] = [detail[name], content[name]];
    const isText = (value: unknown): boolean => typeof value === "string" || value === null;
    if (recorded !== own || !isText(recorded))
      found(entry.id, "content", `it names another ${name} than the content in this file`);
  }
  const [stated, own] = [detail["apply_when"], content["apply_when"]];
  if ((stated !== undefined || own !== undefined) && !(typeof stated === "string" && stated === own))
    found(entry.id, "content", "it names another apply_when than the content in this file");
  const { tenant_id: tenant } = content;
  if (tenant !== undefined && tenant !== decoded(entry.tenant))
    found(entry.id, "content", "it names another tenant than the content in this file");
}

/** All entries are about one change of one log, in order, and about the content that is here. */
function requireOneChange(life: readonly RecordedEntry[], digest: string, found: Found): void {
  const [first] = life;
  if (!first) return;
  if (first.entry.eventType !== "change_proposed") found(first.entry.id, "form", "its first entry is not the proposal");
  for (const [index, step] of life.entries()) {
    const { entry, detail } = step;
    const isOther = isLoss(step) ? entry.changeId !== "" : entry.changeId !== first.entry.changeId;
    if (isOther) found(entry.id, "form", "it is about another change than the first");
    if (entry.origin !== first.entry.origin) found(entry.id, "origin", "it is of another log than the first");
    if (index > 0 && entry.id <= life[index - 1]!.entry.id)
      found(entry.id, "id", "it does not stand behind the one before");
    if (!isLoss(step) && detail["digest"] !== digest)
      found(entry.id, "content", "it is not about the content in this file");
  }
}

/** An entry says that the content was erased, and what was left of it. */
function requireErasure(life: readonly RecordedEntry[], left: string, { found, remarks }: Findings): void {
  const erasure = life.find(({ entry }) => entry.eventType === "content_erased");
  if (!erasure) found(null, "content", "the content is said to be erased, and no entry says so");
  else if (erasure.detail["remaining_digest"] !== left)
    found(erasure.entry.id, "content", "what is left of the content is not what its erasure left");
  else remarks.push(`the content was erased by entry ${erasure.entry.id}: what it said, only its digest tells`);
}

/** One checkpoint covers them all: what it says of the log is then said once. */
function requireOneCheckpoint(proven: readonly Proven[], found: Found): void {
  for (const { entry, note, checkpoint } of proven) {
    if (note !== proven[0]!.note)
      found(entry.id, "inclusion", "it is proven to be under another checkpoint than the first");
    if (checkpoint.origin !== noteLine(decoded(entry.origin)))
      found(entry.id, "origin", "its checkpoint is of another log");
  }
}

/** The intents in the file are those that decisions name, and where some alone count, of those. */
function requireOwnIntents(
  life: readonly RecordedEntry[],
  intents: ReadonlySet<string>,
  accepted: readonly string[],
  found: Found,
): void {
  const named = new Set(life.map(({ detail }) => readManifestHash(detail)));
  for (const manifest of intents)
    if (!named.has(manifest)) found(null, "intent", `no decision was made under the intent ${manifest} in this file`);
  if (accepted.length === 0) return;
  for (const { entry, detail } of life)
    if (!accepted.includes(readManifestHash(detail)))
      found(entry.id, "intent", `it was decided under the intent ${readManifestHash(detail)}, which is not accepted`);
}

/** The intents that what has to be checked was decided under, and that are not in the file. */
function missingIntents(life: readonly RecordedEntry[], intents: ReadonlySet<string>, { tier }: Detail): string[] {
  const needed = life.filter(
    (step) =>
      findSigner(step) ||
      step.detail["proof"] !== undefined ||
      step.entry.eventType === "change_applied" ||
      (step.entry.eventType === "change_proposed" && tier === "minor"),
  );
  const named = new Set(needed.map(({ detail }) => readManifestHash(detail)));
  return [...named].filter((manifest) => !intents.has(manifest));
}

/** The checkpoint that everything is under, where the policy trusts it. */
function checkpointUnder(
  checkpoint: Checkpoint,
  policy: TlogPolicy | undefined,
  { found, remarks }: Findings,
): CertificateReport["checkpoint"] {
  if (!policy) {
    remarks.push(
      "nobody's signature of the log was checked, since no --policy was given: anybody can have made this file",
    );
    return null;
  }
  const { log, witnesses, isMet } = judgeCheckpoint(checkpoint, policy);
  const doubtful = witnesses.find(({ at }) => at === null);
  if (doubtful) found(null, "cosignature", `the cosignature of the witness ${doubtful.name} does not hold`);
  if (log === undefined) found(null, "signature", "its checkpoint is not signed by a log of the policy");
  else if (!isMet) found(null, "cosignature", "its checkpoint lacks the witnesses that the policy asks for");
  if (doubtful || log === undefined || !isMet) return null;
  const witnessed_by = witnesses.map(({ name, at }) => ({ name, at: new Date(at! * 1000).toISOString() }));
  return { length: checkpoint.length, signed_by: log, witnessed_by };
}

const text = (value: unknown): string | null => asText(value) ?? null;

const stepOf = ({ entry, detail }: RecordedEntry, status: string, key: string | null): Step => ({
  entry: entry.id,
  at: entry.timestamp,
  event: entry.eventType,
  decision: detail["emergency"] === true ? "approved_emergency" : text(detail["verdict"] ?? detail["decision"]),
  name: text(detail[entry.eventType === "change_proposed" ? "proposer" : "approver"]) ?? text(detail["actor"]),
  authenticated: text(detail["authenticated"]),
  note: text(detail["note"]),
  status,
  key,
  manifest_hash: text(detail["manifest_hash"]),
});
