/** What a person signs: a text that says who decided what, about which content, in which log and under which rules. */
import { base64UrlOf } from "../../kit/base64.ts";
import { canonicalJson } from "../../kit/canonical_json.ts";
import type { Sha256 } from "../../kit/platform.ts";
import type { Change, ValuePlace } from "./change.ts";

const CONSENT_DECISIONS = ["approve", "approve_emergency", "deny", "revoke"] as const;
/** Signed decisions on a change. */
export const DECISIONS = [...CONSENT_DECISIONS, "review", "withdraw", "propose", "note"] as const;
export type Decision = (typeof DECISIONS)[number];

/** What can be signed of the service itself. */
export const ACTS = ["freeze", "unfreeze", "accept_clock", "accept_loss", "erase"] as const;
export type Act = (typeof ACTS)[number];

/** What every statement says beside its version. */
interface Facts {
  /** Of the log. */
  origin: string;
  note: string;
  manifest_hash: string;
  /** RFC 3339, UTC. */
  at: string;
}

/** What the statement of a decision on a change says. */
export interface StatementFacts extends Facts {
  /** Absent in a proposal, which has none yet. */
  change_id?: string | undefined;
  digest: string;
  decision: Decision;
  approver: string;
  /** Of a review. */
  verdict?: string | undefined;
  /** Item of a late note. */
  item?: string | undefined;
  /** The places of the values that a consent is given to. */
  places?: readonly ValuePlace[] | undefined;
  /** Digests of what the places held, as the approver saw them. */
  seen?: readonly string[] | undefined;
}

/** Returns true for a decision that consents to a change. */
export const isConsent = (decision: Decision | Act | undefined): boolean =>
  decision === "approve" || decision === "approve_emergency";

/** Returns what the statement of a decision says of a change. */
export const changeFacts = (
  decision: Decision,
  { change_id, digest, places }: Pick<Change, "change_id" | "digest" | "places">,
): Pick<StatementFacts, "change_id" | "digest" | "places"> => ({
  change_id,
  digest,
  ...(isConsent(decision) && places && { places }),
});

/** What the statement of an act on the service says. */
export interface ActFacts extends Facts {
  decision: Act;
  actor: string;
  /** Of a freeze that ends by itself. */
  until?: string | undefined;
  /** The end of the log that it goes on from, in an accepted loss. */
  length?: number | undefined;
  head?: string | undefined;
  /** Of an erasure: whose content, and which. */
  change_id?: string | undefined;
  digest?: string | undefined;
}

/** Whose statement it is. */
export const statedBy = (facts: Pick<StatementFacts, "approver"> | Pick<ActFacts, "actor">): string =>
  "actor" in facts ? facts.actor : facts.approver;

/** Returns the statement as RFC 8785 JSON. */
export const statementText = (facts: StatementFacts | ActFacts): string =>
  canonicalJson({ v: "countersign-consent/1", ...facts });

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
