/** Holds the proofs that an export carries against the decisions that they are of. */
import { createHash } from "node:crypto";
import type { Finding } from "./chain.ts";
import type { Entry } from "./line.ts";
import { type Policy, sameName } from "./policy.ts";
import { isAssertionOf, isSignedByPasskey, sshSignerOf } from "./signatures.ts";

/** How many signed decisions hold, and by whose word the key is the approver's. */
export interface Proofs {
  /** By the policy's. */
  verified: number;
  /** By the log's own: it names the key, and whoever wrote the log could have named another. */
  as_named: number;
  /** The key is not in the export. */
  not_checked: number;
  /** Not signed, by a name for which the policy lists keys and the log none. */
  unsigned: number;
}

/** What a detail says. */
export type Detail = Readonly<Record<string, unknown>>;

const DECISIONS: Readonly<Record<string, string>> = {
  approved: "approve",
  denied: "deny",
  withdrawn: "withdraw",
  revoked: "revoke",
};

/** What else is signed, by event type. */
const OTHERS: Readonly<Record<string, string>> = {
  change_proposed: "propose",
  emergency_reviewed: "review",
  service_frozen: "freeze",
  service_unfrozen: "unfreeze",
  clock_accepted: "accept_clock",
  loss_accepted: "accept_loss",
  content_erased: "erase",
};

/** Acts on the service itself, and erasures: their statements name an actor. */
const ACTS: ReadonlySet<string> = new Set(["freeze", "unfreeze", "accept_clock", "accept_loss", "erase"]);

/** What a trusted proxy's word is enough for. */
const MAY_BE_UNSIGNED: ReadonlySet<string> = new Set(["propose", "withdraw"]);

/** Checks the proofs of entries one after another; without a policy only the log says whose the keys are. */
export function proofsIn(policy: Policy | undefined) {
  const proofs: Proofs = { verified: 0, as_named: 0, not_checked: 0, unsigned: 0 };
  /** By manifest hash: the ids of keys by name, as the log tells them. */
  const named = new Map<string, Map<string, unknown[]>>();
  let anyKeys = policy !== undefined;

  const learn = ({ manifest_hash, principals }: Detail): void => {
    const stated = Object.entries(Object(principals) as Detail).map(([name, one]) => [name, keysIn(one)] as const);
    named.set(manifestIn({ manifest_hash }), new Map(stated.map(([name, keys]) => [sameName(name), keys])));
    anyKeys ||= stated.some(([, keys]) => keys.length > 0);
  };

  const namedKeys = (detail: Detail, name: string): unknown[] =>
    named.get(manifestIn(detail))?.get(sameName(name)) ?? [];

  /** Why a decision had to be signed that is not. */
  const judgeUnsigned = (entry: Entry, detail: Detail): string | undefined => {
    const { decision = "propose", by } = decisionOf(entry, detail);
    if (MAY_BE_UNSIGNED.has(decision) || typeof by !== "string") return undefined;
    if (namedKeys(detail, by).length > 0) return `${by} has keys in the intent of this entry, and did not sign it`;
    if (policy && (policy.get(sameName(by)) ?? []).length > 0) proofs.unsigned++;
    return undefined;
  };

  /** Why a proof does not hold, if it does not. */
  const judge = (entry: Entry, detail: Detail): string | undefined => {
    const stated = statementOf(entry, detail);
    if (!stated || detail["statement"] !== stated.statement) return "its statement is not of this entry";
    const { statement, by } = stated;
    const proof = Object(detail["proof"]) as Detail;
    const isPasskey = proof["type"] === "webauthn";
    const signer = isPasskey ? undefined : sshSignerOf(statement, proof);
    if (isPasskey ? !isAssertionOf(statement, proof) : signer === undefined) return "its proof is not of its statement";
    if (detail["authenticated"] === "signature" && signer !== undefined && !isHeld(signer))
      return "it says that a person was verified, and its key signs by itself";
    if (policy) {
      const keys = policy.get(sameName(by)) ?? [];
      const own = keys.find((key) =>
        isPasskey ? isSignedByPasskey(proof, key) : String(key["public_key"]).split(" ")[1] === signer,
      );
      if (!own) return `the policy lists no key of ${by} that made its proof`;
      if (fingerprint(signer ?? String(own["public_key"])) !== detail["key"])
        return "its key is not the one that made its proof";
      proofs.verified++;
      return undefined;
    }
    const keys = namedKeys(detail, by);
    const id = signer === undefined ? detail["key"] : fingerprint(signer);
    if (id !== detail["key"] || !keys.includes(id)) return `the log does not name its key as one of ${by}`;
    if (isPasskey) proofs.not_checked++;
    else proofs.as_named++;
    return undefined;
  };

  return {
    proofs,
    /** What does not hold of an entry's proof. */
    check(entry: Entry, line: number): Finding | undefined {
      const isIntent = entry.eventType === "intent_in_force";
      const maySign = anyKeys && (entry.eventType === "consent_decision" || Object.hasOwn(OTHERS, entry.eventType));
      if (!isIntent && !maySign && !entry.detail.includes('"proof":')) return undefined;
      const detail = detailOf(entry);
      if (isIntent) learn(detail);
      const message = (detail["proof"] === undefined ? judgeUnsigned : judge)(entry, detail);
      return message === undefined ? undefined : { line, entry: entry.id, rule: "proof", message };
    },
  };
}

/** Text is one character a byte until it is needed. */
export const decoded = (text: string): string => Buffer.from(text, "latin1").toString();

/** The detail of an entry; one that cannot be read says nothing. */
export function detailOf({ detail }: Entry): Detail {
  try {
    return Object(JSON.parse(decoded(detail))) as Detail;
  } catch {
    return {};
  }
}

/** Which intent a detail names; what is no text names none. */
export const manifestIn = ({ manifest_hash }: Detail): string =>
  typeof manifest_hash === "string" ? manifest_hash : "undefined";

function keysIn(principal: unknown): unknown[] {
  const { keys } = Object(principal) as Detail;
  return Array.isArray(keys) ? keys : [];
}

/** Which decision an entry tells of, and whose. */
function decisionOf({ eventType }: Entry, detail: Detail): { decision?: string | undefined; by: unknown } {
  const other = Object.hasOwn(OTHERS, eventType) ? OTHERS[eventType] : undefined;
  if (other === "propose") return { decision: other, by: detail["proposer"] };
  if (other !== undefined) return { decision: other, by: detail[other === "review" ? "approver" : "actor"] };
  const decision = DECISIONS[String(detail["decision"])];
  const isUrgent = decision === "approve" && detail["emergency"] === true;
  return { decision: isUrgent ? "approve_emergency" : decision, by: detail["approver"] };
}

/** What had to be signed for this entry; the time alone is taken from what was. */
function statementOf(entry: Entry, detail: Detail): { statement: string; by: string } | undefined {
  const { decision, by } = decisionOf(entry, detail);
  let at: unknown;
  try {
    ({ at } = JSON.parse(String(detail["statement"])) as Detail);
  } catch {
    return undefined;
  }
  if (decision === undefined || typeof by !== "string") return undefined;
  const { digest, manifest_hash, note = "", verdict, until, length, head } = detail;
  const shared = { v: "countersign-consent/1", origin: decoded(entry.origin), decision, note, manifest_hash, at };
  const isAct = ACTS.has(decision);
  const change_id = decision === "propose" ? undefined : decoded(entry.changeId);
  const own = decision === "erase" ? { change_id, digest } : decision === "accept_loss" ? { length, head } : {};
  const facts = isAct
    ? { ...shared, actor: by, until: until ?? undefined, ...own }
    : { ...shared, approver: by, change_id, digest, verdict: decision === "review" ? verdict : undefined };
  return { statement: JSON.stringify(facts, Object.keys(facts).sort()), by };
}

/** Whether an SSH key is kept by a security key, which asks for its person. */
const isHeld = (blob: string): boolean => Buffer.from(blob, "base64").toString("latin1", 4, 7) === "sk-";

const fingerprint = (blob: string): string =>
  `SHA256:${createHash("sha256").update(Buffer.from(blob, "base64")).digest("base64").replaceAll("=", "")}`;
