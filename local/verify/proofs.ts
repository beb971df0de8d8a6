/** Verifies the signatures (`proof`) of the decisions in an export. */
import type { Finding } from "./chain.ts";
import { decodeUtf8 } from "./entry_detail.ts";
import { type JsonObject, isObject, isIntegerAtLeast, parseObject, stringOrUndefined } from "./json.ts";
import type { Entry } from "./line.ts";
import { fingerprint, type KeysByName, normalizeName } from "./policy.ts";
import { matchesAssertion, isSignedByPasskey, findSshSigner } from "./signatures.ts";
import { MANDATE_DECISIONS, mandateStatement } from "./mandate_statement.ts";
import { createIntentRegistry, type Principals } from "./named_keys.ts";

/** Counts of decisions that are signed, by the source of the approver's keys, or that should be signed. */
export interface Proofs {
  /** Valid, with a key that the policy lists. */
  verified: number;
  /** Valid, with a key that only the log names: its writer could have named another. */
  as_named: number;
  /** Not verified, since the export does not contain the key. */
  not_checked: number;
  /** Not signed, although the policy lists keys of the approver; the log lists none. */
  unsigned: number;
}

/** The `decision` in the signed statement, by that of a `consent_decision`; undefined: the service itself decided. */
const DECISIONS: ReadonlyMap<unknown, string | undefined> = new Map([
  ["approved", "approve"],
  ["denied", "deny"],
  ["withdrawn", "withdraw"],
  ["revoked", "revoke"],
  ["expired", undefined],
  ["lapsed", undefined],
]);

/** The `decision` in the statements of other events, by event type. */
const SIGNED_EVENTS: ReadonlyMap<string, string> = new Map([
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

/** Events whose detail must be readable, since it determines the state of a change or who may decide. */
const DECIDING_EVENTS: ReadonlySet<string> = new Set([
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

/** The `action` in the statement of a rollout's step, by event type. */
const STAGE_ACTIONS: ReadonlyMap<string, string> = new Map([
  ["stage_advanced", "advance"],
  ["stage_held", "hold"],
  ["stage_resumed", "resume"],
]);

/** Decisions whose statement names an `actor` instead of an `approver`. */
const SERVICE_ACTIONS: ReadonlySet<string> = new Set([
  "freeze",
  "unfreeze",
  "accept_clock",
  "accept_loss",
  "erase",
  "feed_kpis",
]);

/** Decisions that need no signature: a trusted proxy vouches for them, or only some intents require one. */
const MAY_BE_UNSIGNED: ReadonlySet<string> = new Set(["propose", "withdraw", "apply", "rollback", "feed_kpis"]);

/** The facts of proposals that a consent also signs, by change id. */
export type Proposals = Map<string, ProposalFacts>;
export interface ProposalFacts {
  /** Target system and key of each value. */
  places: unknown;
  /** When the change applies by itself; undefined: it does not. */
  apply_when: unknown;
}

/** Reads the facts of a proposal that a consent also signs. */
export const readProposal = ({ places, apply_when }: JsonObject): ProposalFacts => ({ places, apply_when });

/** Creates a check that takes the entries of a log in their order; without a policy only the log says whose keys they are. */
export function createProofCheck(policy: KeysByName | undefined, proposals: Proposals = new Map()) {
  const proofs: Proofs = { verified: 0, as_named: 0, not_checked: 0, unsigned: 0 };
  const intents = createIntentRegistry();

  /** Explains why an unsigned decision had to be signed; undefined where it need not. Counts it if only the policy lists keys. */
  const findMissingProof = (entry: Entry, detail: JsonObject): string | undefined => {
    // A decision of the service itself may be unsigned, like a proposal.
    const { decision = "propose", by } = readDecision(entry, detail);
    if (MAY_BE_UNSIGNED.has(decision) || by === undefined) return undefined;
    if (intents.listKeys(detail, by).length > 0) return `its intent lists keys of ${by}, but it has no signature`;
    if ((policy?.get(normalizeName(by)) ?? []).length > 0) proofs.unsigned++;
    return undefined;
  };

  /** Explains why a proof is invalid; counts it and returns undefined where it is valid. */
  const findProofProblem = (entry: Entry, detail: JsonObject): string | undefined => {
    const stated = buildStatement(entry, detail, proposals.get(decodeUtf8(entry.changeId)));
    if (!stated || detail["statement"] !== stated.statement) return "its statement does not match the entry";
    const { statement, by } = stated;
    const proof = isObject(detail["proof"]) ? detail["proof"] : {};
    const isPasskey = proof["type"] === "webauthn";
    const signer = isPasskey ? undefined : findSshSigner(statement, proof);
    const isValid = isPasskey ? matchesAssertion(statement, proof) : signer !== undefined;
    if (!isValid) return "its proof is not a valid signature of its statement";
    if (detail["authenticated"] === "signature" && signer && !isOfSecurityKey(signer))
      return "its authenticated is signature, but its key can sign without its owner";
    if (policy) {
      const signingKey = (policy.get(normalizeName(by)) ?? []).find((key) =>
        signer ? key.type === "ssh" && key.public_key.equals(signer) : isSignedByPasskey(proof, key),
      );
      if (!signingKey) return `its proof was made by no key that the policy lists for ${by}`;
      if (signingKey.id !== detail["key"]) return "its key is not the key that made its proof";
      proofs.verified++;
      return undefined;
    }
    const id = signer ? fingerprint(signer) : detail["key"];
    if (id !== detail["key"] || !intents.listKeys(detail, by).some((one) => one === id))
      return `its key is not one that the log lists for ${by}`;
    if (isPasskey) proofs.not_checked++;
    else proofs.as_named++;
    return undefined;
  };

  return {
    proofs,
    /** Returns the principals that an intent's entry names, by its manifest hash. */
    findPrincipals: (manifest: string): Principals | undefined => intents.findPrincipals(manifest),
    /** Returns what is invalid in an entry's proof or decision. */
    check(entry: Entry, line: number): Finding | undefined {
      if (!DECIDING_EVENTS.has(entry.eventType) && !entry.detail.includes('"proof":')) return undefined;
      const createFinding = (rule: Finding["rule"], message: string | undefined): Finding | undefined =>
        message === undefined ? undefined : { line, entry: entry.id, rule, message };
      const detail = parseObject(decodeUtf8(entry.detail));
      const problem = findDetailProblem(entry, detail);
      if (!detail || problem !== undefined) return createFinding("form", problem);
      if (entry.eventType === "change_proposed" && !proposals.has(decodeUtf8(entry.changeId)))
        proposals.set(decodeUtf8(entry.changeId), readProposal(detail));
      if (entry.eventType === "intent_in_force") return createFinding("intent", intents.addIntent(entry.id, detail));
      const findProblem = detail["proof"] === undefined ? findMissingProof : findProofProblem;
      return createFinding("proof", findProblem(entry, detail));
    },
  };
}

/** Explains why a detail does not show what its entry decides; `detail`: undefined where it is no JSON object. */
export function findDetailProblem({ eventType }: Entry, detail: JsonObject | undefined): string | undefined {
  if (!DECIDING_EVENTS.has(eventType)) return undefined;
  if (!detail) return "its detail is not a JSON object, so its decision cannot be read";
  if (
    eventType === "consent_decision" &&
    !(DECISIONS.has(detail["decision"]) && stringOrUndefined(detail["approver"]) !== undefined)
  )
    return "its detail lacks a valid decision or approver";
  return undefined;
}

/** Returns the `decision` in an entry's statement, and who made it. */
function readDecision(
  { eventType }: Entry,
  detail: JsonObject,
): { decision?: string | undefined; by: string | undefined } {
  const eventDecision = SIGNED_EVENTS.get(eventType);
  if (eventDecision === "propose") return { decision: eventDecision, by: stringOrUndefined(detail["proposer"]) };
  if (eventDecision !== undefined)
    return {
      decision: eventDecision,
      by: stringOrUndefined(detail[eventDecision === "review" ? "approver" : "actor"]),
    };
  const decision = eventType === "consent_decision" ? DECISIONS.get(detail["decision"]) : undefined;
  const isEmergency = decision === "approve" && detail["emergency"] === true;
  return { decision: isEmergency ? "approve_emergency" : decision, by: stringOrUndefined(detail["approver"]) };
}

/**
 * Builds the statement that had to be signed for an entry; only `at`, and the step of a hold, are taken from the signed one.
 * `proposal`: facts of the change's proposal.
 */
function buildStatement(
  entry: Entry,
  detail: JsonObject,
  proposal: ProposalFacts | undefined,
): { statement: string; by: string } | undefined {
  const { decision, by } = readDecision(entry, detail);
  const { at, step } = parseObject(stringOrUndefined(detail["statement"]) ?? "") ?? {};
  if (decision === undefined || by === undefined || at === undefined) return undefined;
  const { manifest_hash, note = "", values: kpis } = detail;
  const shared = { v: "countersign-consent/1", origin: decodeUtf8(entry.origin), decision, note, manifest_hash, at };
  if (MANDATE_DECISIONS.has(entry.eventType)) {
    const statement = mandateStatement({ ...shared, approver: by }, detail);
    return statement === undefined ? undefined : { statement, by };
  }
  const facts: Record<string, unknown> = SERVICE_ACTIONS.has(decision)
    ? { ...shared, actor: by, ...listServiceFacts(decision, entry, detail) }
    : { ...shared, approver: by, ...listChangeFacts(decision, entry, detail, { proposal, signedStep: step }) };
  if (!Object.entries(facts).every(([name, fact]) => isFact(name, fact))) return undefined;
  const names = [...Object.keys(facts), ...PLACE_MEMBERS, ...Object.keys(isObject(kpis) ? kpis : {})].sort();
  // The names select the members at every level, and put them in order.
  return { statement: JSON.stringify(facts, names), by };
}

/** Lists the members of a statement that only an action of the service has. */
function listServiceFacts(decision: string, { changeId }: Entry, detail: JsonObject): JsonObject {
  const { digest, length, head, values: kpis } = detail;
  const actionFacts = {
    erase: { change_id: decodeUtf8(changeId), digest },
    accept_loss: { length, head },
    feed_kpis: { kpis },
  }[decision];
  // A freeze without an end records `until` as null, and its statement lacks the member.
  return { until: detail["until"] ?? undefined, ...actionFacts };
}

/** Lists the members of a statement that only a decision on a change has. `signedStep`: the step in the signed statement. */
function listChangeFacts(
  decision: string,
  { eventType, changeId }: Entry,
  detail: JsonObject,
  { proposal, signedStep }: { proposal: ProposalFacts | undefined; signedStep: unknown },
): JsonObject {
  const { digest, verdict, item, over_drift, seen } = detail;
  const change_id = decision === "propose" ? undefined : decodeUtf8(changeId);
  const decisionFacts = { review: { verdict }, note: { item }, rollback: { over_drift } }[decision];
  const action = STAGE_ACTIONS.get(eventType);
  // The statement of a hold may name any step that was reached.
  const isReached = action === "hold" && isIntegerAtLeast(signedStep, 0) && signedStep <= Number(detail["step"]);
  const stageFacts = decision === "stage" && { action, step: isReached ? signedStep : detail["step"] };
  // Only a consent signs the proposal's facts, and the digests of the values that its approver saw (`seen`).
  const isConsent = decision === "approve" || decision === "approve_emergency";
  return { change_id, digest, ...decisionFacts, ...stageFacts, ...(isConsent && { ...proposal, seen }) };
}

/** Checks that a member of a statement is text, or of the type that its name requires; undefined: it is left out. */
const isFact = (name: string, fact: unknown): boolean =>
  fact === undefined || typeof fact === "string" || FACT_TYPES.get(name)?.(fact) === true;

/** Members of an element of `places`; no statement has a member of the same name. */
const PLACE_MEMBERS = ["tenant_id", "target", "system", "place"];

const arePlaces = (places: unknown): boolean =>
  Array.isArray(places) &&
  places.every((one) => isObject(one) && Object.keys(one).every((name) => PLACE_MEMBERS.includes(name))) &&
  places.every((one: JsonObject) => PLACE_MEMBERS.every((name) => typeof one[name] === "string"));

const areNumbers = (values: unknown): boolean =>
  isObject(values) && Object.values(values).every((value) => Number.isFinite(value));

const areTexts = (values: unknown): boolean =>
  Array.isArray(values) && values.every((value) => typeof value === "string");

/** Types of the members of a statement that need not be text. */
const FACT_TYPES: ReadonlyMap<string, (fact: unknown) => boolean> = new Map([
  ["length", (fact) => isIntegerAtLeast(fact, 0)],
  ["step", (fact) => isIntegerAtLeast(fact, 0)],
  ["over_drift", (fact) => fact === true],
  ["kpis", areNumbers],
  ["places", arePlaces],
  ["seen", areTexts],
]);

/** Checks that an SSH key is in a security key, which asks its owner for a touch: its type begins with `sk-` after four bytes. */
const isOfSecurityKey = (blob: Buffer): boolean => blob.toString("latin1", 4, 7) === "sk-";
