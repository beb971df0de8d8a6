/** What a person signs: a text that says who decided what, about which content, in which log and under which rules. */
import { base64UrlOf } from "../../kit/base64.ts";
import type { Sha256 } from "../../kit/platform.ts";

/** What can be signed. */
export const DECISIONS = ["approve", "approve_emergency", "deny", "revoke", "review", "withdraw", "propose"] as const;
export type Decision = (typeof DECISIONS)[number];

/** What a statement says beside its version. */
export interface StatementFacts {
  /** Of the log. */
  origin: string;
  /** Absent in a proposal, which has none yet. */
  change_id?: string | undefined;
  digest: string;
  decision: Decision;
  approver: string;
  note: string;
  manifest_hash: string;
  /** RFC 3339, UTC. */
  at: string;
}

/** The statement: RFC 8785 JSON, which for members that are all text is JSON with the names in order. */
export function statementText(facts: StatementFacts): string {
  const statement = { v: "countersign-consent/1", ...facts };
  return JSON.stringify(statement, Object.keys(statement).sort());
}

/** When a statement says it was made; undefined when it says nothing of the kind. */
export function statedAt(statement: string): string | undefined {
  try {
    const { at } = JSON.parse(statement) as { at?: unknown };
    return typeof at === "string" ? at : undefined;
  } catch {
    return undefined;
  }
}

/** SHA-256 of the statement in base64url: what a passkey is asked to sign. */
export const challengeOf = (statement: string, sha256: Sha256): string =>
  base64UrlOf(Uint8Array.from(sha256(statement).match(/../g)!, (byte) => parseInt(byte, 16)));
