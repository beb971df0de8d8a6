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
}

/** What a detail says. */
export type Detail = Readonly<Record<string, unknown>>;

const DECISIONS: Readonly<Record<string, string>> = {
  approved: "approve",
  denied: "deny",
  withdrawn: "withdraw",
  revoked: "revoke",
};

/** Checks the proofs of entries one after another; without a policy only the log says whose the keys are. */
export function proofsIn(policy: Policy | undefined) {
  const proofs: Proofs = { verified: 0, as_named: 0, not_checked: 0 };
  /** By manifest hash: the ids of keys by name, as the log tells them. */
  const named = new Map<string, Map<string, unknown[]>>();

  const learn = ({ manifest_hash, principals }: Detail): void => {
    const stated = Object.entries(Object(principals) as Record<string, { keys?: unknown[] }>);
    named.set(String(manifest_hash), new Map(stated.map(([name, { keys = [] }]) => [sameName(name), keys])));
  };

  /** Why a proof does not hold, if it does not. */
  const judge = (entry: Entry, detail: Detail): string | undefined => {
    const decided = statementOf(entry, detail);
    if (!decided || detail["statement"] !== decided.statement) return "its statement is not of this entry";
    const { statement, approver } = decided;
    const proof = Object(detail["proof"]) as Detail;
    const isPasskey = proof["type"] === "webauthn";
    const signer = isPasskey ? undefined : sshSignerOf(statement, proof);
    if (isPasskey ? !isAssertionOf(statement, proof) : signer === undefined) return "its proof is not of its statement";
    if (policy) {
      const keys = policy.get(sameName(approver)) ?? [];
      const isOwn = keys.some((key) =>
        isPasskey ? isSignedByPasskey(proof, key) : String(key["public_key"]).split(" ")[1] === signer,
      );
      if (!isOwn) return `the policy lists no key of ${approver} that made its proof`;
      proofs.verified++;
      return undefined;
    }
    const keys = named.get(String(detail["manifest_hash"]))?.get(sameName(approver)) ?? [];
    const id = signer === undefined ? detail["key"] : fingerprint(signer);
    if (id !== detail["key"] || !keys.includes(id)) return `the log does not name its key as one of ${approver}`;
    if (isPasskey) proofs.not_checked++;
    else proofs.as_named++;
    return undefined;
  };

  return {
    proofs,
    /** What does not hold of an entry's proof. */
    check(entry: Entry, line: number): Finding | undefined {
      const isIntent = entry.eventType === "intent_in_force";
      if (!isIntent && !entry.detail.includes('"proof":')) return undefined;
      const detail = detailOf(entry);
      if (isIntent) learn(detail);
      const message = detail["proof"] === undefined ? undefined : judge(entry, detail);
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

/** What had to be signed for this entry; the time alone is taken from what was. */
function statementOf(entry: Entry, detail: Detail): { statement: string; approver: string } | undefined {
  const isProposal = entry.eventType === "change_proposed";
  const emergency = detail["emergency"] === true ? "approve_emergency" : undefined;
  const decision = isProposal ? "propose" : (emergency ?? DECISIONS[String(detail["decision"])]);
  const approver = detail[isProposal ? "proposer" : "approver"];
  let at: unknown;
  try {
    ({ at } = JSON.parse(String(detail["statement"])) as Detail);
  } catch {
    return undefined;
  }
  if (decision === undefined || typeof approver !== "string") return undefined;
  const { digest, manifest_hash, note = "" } = detail;
  const change_id = isProposal ? undefined : decoded(entry.changeId);
  const facts = { approver, at, change_id, decision, digest, manifest_hash, note, origin: decoded(entry.origin) };
  return { statement: JSON.stringify({ ...facts, v: "countersign-consent/1" }), approver };
}

const fingerprint = (blob: string): string =>
  `SHA256:${createHash("sha256").update(Buffer.from(blob, "base64")).digest("base64").replaceAll("=", "")}`;
