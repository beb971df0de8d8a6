/** Verifies the proofs in an export against the decisions that they are of. */
import type { Finding } from "./chain.ts";
import { decoded } from "./detail.ts";
import { type Detail, isObject, isWhole, parseObject, parseJson, asText } from "./json.ts";
import type { Entry } from "./line.ts";
import { fingerprint, type Policy, sameName } from "./policy.ts";
import { matchesAssertion, isSignedByPasskey, findSshSigner } from "./signatures.ts";
import { MANDATE_DECISIONS, mandateStatement } from "./mandate_statement.ts";
import { named, type Principals } from "./named_keys.ts";

/** How many signed decisions are valid, and by whose word the key is the approver's. */
export interface Proofs {
  /** By the policy's. */
  verified: number;
  /** By the log's own: it names the key, and the writer of the log could have named another. */
  as_named: number;
  /** The key is not in the export. */
  not_checked: number;
  /** Not signed, by a name for which the policy lists keys and the log none. */
  unsigned: number;
}

/** Decisions of `consent_decision`, and what is signed for each; undefined: the service itself decided. */
const DECISIONS: ReadonlyMap<unknown, string | undefined> = new Map([
  ["approved", "approve"],
  ["denied", "deny"],
  ["withdrawn", "withdraw"],
  ["revoked", "revoke"],
  ["expired", undefined],
  ["lapsed", undefined],
]);

/** Other signed statements, by event type. */
const OTHERS: ReadonlyMap<string, string> = new Map([
  ["change_proposed", "propose"],
  ["emergency_reviewed", "review"],
  ["service_frozen", "freeze"],
  ["service_unfrozen", "unfreeze"],
  ["clock_accepted", "accept_clock"],
  ["loss_accepted", "accept_loss"],
  ["content_erased", "erase"],
  ["note_added", "note"],
  ["value_restored", "restore"],
  ["change_applied", "apply"],
  ["change_apply_failed", "apply"],
  ["change_rolled_back", "rollback"],
  ["change_rollback_failed", "rollback"],
  ["kpi_refreshed", "feed_kpis"],
  ["stage_advanced", "stage"],
  ["stage_held", "stage"],
  ["stage_resumed", "stage"],
  ...MANDATE_DECISIONS,
]);

/** Events whose detail must be readable: the state of a change, or who may decide, follows from it. */
const DECIDING: ReadonlySet<string> = new Set([
  "change_proposed",
  "emergency_reviewed",
  "service_frozen",
  "service_unfrozen",
  "clock_accepted",
  "loss_accepted",
  "content_erased",
  "note_added",
  "consent_decision",
  "value_restored",
  "automation_stopped",
  "stage_advanced",
  "stage_held",
  "stage_resumed",
  "stage_stopped",
  "change_applied",
  "change_rolled_back",
  "intent_in_force",
  ...MANDATE_DECISIONS.keys(),
]);

/** Acts on a rollout, by event type. */
const STAGE_ACTIONS: ReadonlyMap<string, string> = new Map([
  ["stage_advanced", "advance"],
  ["stage_held", "hold"],
  ["stage_resumed", "resume"],
]);

/** Actions on the service itself, and erasures: their statements name an actor. */
const ACTS: ReadonlySet<string> = new Set(["freeze", "unfreeze", "accept_clock", "accept_loss", "erase", "feed_kpis"]);

/** Decisions that a trusted proxy's word is enough for, or that only some intents want signed. */
const MAY_BE_UNSIGNED: ReadonlySet<string> = new Set(["propose", "withdraw", "apply", "rollback", "feed_kpis"]);

/** The facts of proposals that consents also sign, by change id. */
export type Proposals = Map<string, ProposalFacts>;
export interface ProposalFacts {
  places: unknown;
  apply_when: unknown;
}

/** Returns the facts of a proposal's detail that consents also sign. */
export const readProposal = ({ places, apply_when }: Detail): ProposalFacts => ({ places, apply_when });

/** Checks the proofs of entries one after another; without a policy only the log says whose the keys are. */
export function createProofCheck(policy: Policy | undefined, proposals: Proposals = new Map()) {
  const proofs: Proofs = { verified: 0, as_named: 0, not_checked: 0, unsigned: 0 };
  const intents = named();

  /** Explains why a decision had to be signed that is not. */
  const judgeUnsigned = (entry: Entry, detail: Detail): string | undefined => {
    const { decision = "propose", by } = decisionOf(entry, detail);
    if (MAY_BE_UNSIGNED.has(decision) || by === undefined) return undefined;
    if (intents.keysOf(detail, by).length > 0) return `${by} has keys in the intent of this entry, and did not sign it`;
    if ((policy?.get(sameName(by)) ?? []).length > 0) proofs.unsigned++;
    return undefined;
  };

  /** Explains why a proof is not valid, if it is not. */
  const judge = (entry: Entry, detail: Detail): string | undefined => {
    const stated = statementOf(entry, detail, proposals.get(decoded(entry.changeId)));
    if (!stated || detail["statement"] !== stated.statement) return "its statement is not of this entry";
    const { statement, by } = stated;
    const proof = isObject(detail["proof"]) ? detail["proof"] : {};
    const isPasskey = proof["type"] === "webauthn";
    const signer = isPasskey ? undefined : findSshSigner(statement, proof);
    if (isPasskey ? !matchesAssertion(statement, proof) : signer === undefined)
      return "its proof is not of its statement";
    if (detail["authenticated"] === "signature" && signer && !isOfSecurityKey(signer))
      return "it says that a person was verified, and its key signs by itself";
    if (policy) {
      const own = (policy.get(sameName(by)) ?? []).find((key) =>
        signer ? key.type === "ssh" && key.public_key.equals(signer) : isSignedByPasskey(proof, key),
      );
      if (!own) return `the policy lists no key of ${by} that made its proof`;
      if (own.id !== detail["key"]) return "its key is not the one that made its proof";
      proofs.verified++;
      return undefined;
    }
    const id = signer ? fingerprint(signer) : detail["key"];
    if (id !== detail["key"] || !intents.keysOf(detail, by).some((one) => one === id))
      return `the log does not name its key as one of ${by}`;
    if (isPasskey) proofs.not_checked++;
    else proofs.as_named++;
    return undefined;
  };

  return {
    proofs,
    /** Returns the principals that an intent's entry names, by its manifest hash. */
    principalsOf: (manifest: string): Principals | undefined => intents.principalsOf(manifest),
    /** Finds what is invalid in an entry's proof or decision. */
    check(entry: Entry, line: number): Finding | undefined {
      if (!DECIDING.has(entry.eventType) && !entry.detail.includes('"proof":')) return undefined;
      const finding = (rule: Finding["rule"], message: string | undefined): Finding | undefined =>
        message === undefined ? undefined : { line, entry: entry.id, rule, message };
      const detail = parseObject(decoded(entry.detail));
      const unclear = whyUnclear(entry, detail);
      if (!detail || unclear !== undefined) return finding("form", unclear);
      if (entry.eventType === "change_proposed" && !proposals.has(decoded(entry.changeId)))
        proposals.set(decoded(entry.changeId), readProposal(detail));
      if (entry.eventType === "intent_in_force") return finding("intent", intents.learn(entry.id, detail));
      return finding("proof", (detail["proof"] === undefined ? judgeUnsigned : judge)(entry, detail));
    },
  };
}

/** Explains why nobody can tell what an entry decides, if that is so; `detail`: undefined where it is no JSON object. */
export function whyUnclear({ eventType }: Entry, detail: Detail | undefined): string | undefined {
  if (!DECIDING.has(eventType)) return undefined;
  if (!detail) return "its detail is no JSON object, so that nobody can tell what it decides";
  if (
    eventType === "consent_decision" &&
    !(DECISIONS.has(detail["decision"]) && asText(detail["approver"]) !== undefined)
  )
    return "its detail does not say what was decided, and by whom";
  return undefined;
}

/** The decision that an entry records, and whose it is. */
function decisionOf({ eventType }: Entry, detail: Detail): { decision?: string | undefined; by: string | undefined } {
  const other = OTHERS.get(eventType);
  if (other === "propose") return { decision: other, by: asText(detail["proposer"]) };
  if (other !== undefined) return { decision: other, by: asText(detail[other === "review" ? "approver" : "actor"]) };
  const decision = eventType === "consent_decision" ? DECISIONS.get(detail["decision"]) : undefined;
  const isUrgent = decision === "approve" && detail["emergency"] === true;
  return { decision: isUrgent ? "approve_emergency" : decision, by: asText(detail["approver"]) };
}

/**
 * Makes the statement that had to be signed for this entry; only the time is taken from the signed one. `proposal`: facts of the
 * change.
 */
function statementOf(
  entry: Entry,
  detail: Detail,
  proposal: ProposalFacts | undefined,
): { statement: string; by: string } | undefined {
  const { decision, by } = decisionOf(entry, detail);
  let at: unknown;
  let step: unknown;
  try {
    const signed = parseJson(asText(detail["statement"]) ?? "");
    ({ at, step } = isObject(signed) ? signed : {});
  } catch {
    return undefined;
  }
  if (decision === undefined || by === undefined || at === undefined) return undefined;
  const { digest, manifest_hash, note = "", verdict, item, length, head, seen, over_drift, values: kpis } = detail;
  const shared = { v: "countersign-consent/1", origin: decoded(entry.origin), decision, note, manifest_hash, at };
  if (MANDATE_DECISIONS.has(entry.eventType)) {
    const statement = mandateStatement({ ...shared, approver: by }, detail);
    return statement === undefined ? undefined : { statement, by };
  }
  const change_id = decision === "propose" ? undefined : decoded(entry.changeId);
  const until = detail["until"] ?? undefined;
  const own = { erase: { change_id, digest }, accept_loss: { length, head }, feed_kpis: { kpis } }[decision] ?? {};
  const ofDecision = { review: { verdict }, note: { item }, rollback: { over_drift } }[decision] ?? {};
  const action = STAGE_ACTIONS.get(entry.eventType);
  // A hold may name any step reached so far.
  const isReached = action === "hold" && isWhole(step, 0) && step <= Number(detail["step"]);
  const ofStage = decision === "stage" && { action, step: isReached ? step : detail["step"] };
  const isConsent = decision === "approve" || decision === "approve_emergency";
  const facts: Record<string, unknown> = ACTS.has(decision)
    ? { ...shared, actor: by, until, ...own }
    : {
        ...shared,
        approver: by,
        change_id,
        digest,
        ...ofDecision,
        ...ofStage,
        ...(isConsent && { ...proposal, seen }),
      };
  const isFact = ([name, fact]: [string, unknown]): boolean =>
    fact === undefined ||
    typeof fact === "string" ||
    ((name === "length" || name === "step") && isWhole(fact, 0)) ||
    (name === "over_drift" && fact === true) ||
    (name === "kpis" && areNumbers(fact)) ||
    (name === "places" && arePlaces(fact)) ||
    (name === "seen" && Array.isArray(fact) && fact.every((one) => typeof one === "string"));
  if (!Object.entries(facts).every(isFact)) return undefined;
  const names = [...Object.keys(facts), ...PLACE, ...Object.keys(isObject(kpis) ? kpis : {})].sort();
  return { statement: JSON.stringify(facts, names), by };
}

/** Members of a place; none of them is a member of a statement. */
const PLACE = ["tenant_id", "target", "system", "place"];

const arePlaces = (places: unknown): boolean =>
  Array.isArray(places) &&
  places.every((one) => isObject(one) && Object.keys(one).every((name) => PLACE.includes(name))) &&
  places.every((one: Detail) => PLACE.every((name) => typeof one[name] === "string"));

const areNumbers = (values: unknown): boolean =>
  isObject(values) && Object.values(values).every((value) => Number.isFinite(value));

/** Checks that an SSH key is stored in a security key, which asks for its person. */
const isOfSecurityKey = (blob: Buffer): boolean => blob.toString("latin1", 4, 7) === "sk-";
