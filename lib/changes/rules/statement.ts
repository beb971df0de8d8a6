/** The statement that a person signs: the decision, the content, the log and the intent. */
import { canonicalJson } from "../../kit/canonical_json.ts";
import type { Change } from "./change.ts";
import type { StageFacts } from "./stage_action.ts";

/** Signed decisions on a change; `SERVICE_ACTIONS` lists the others. */
// prettier-ignore
export const DECISIONS = [
  "approve", "approve_emergency", "deny", "revoke", "review", "withdraw", "propose", "note", "stage",
  "apply", "rollback", "restore",
] as const;
export type Decision = (typeof DECISIONS)[number];

/** The facts in every statement. */
export interface CommonFacts {
  /** Origin of the log. */
  origin: string;
  note: string;
  manifest_hash: string;
  /** Time of the signature, RFC 3339, UTC. */
  at: string;
}

/** The facts in the statement of a decision on a change. A consent also states where and when the values are set. */
export interface StatementFacts extends CommonFacts, Partial<Pick<Change, "places" | "apply_when"> & StageFacts> {
  /** Absent in a proposal, which has none yet. */
  change_id?: string | undefined;
  digest: string;
  decision: Decision;
  approver: string;
  /** Verdict of a review. */
  verdict?: string | undefined;
  /** Item of a late note. */
  item?: string | undefined;
  /** A rollback over a value that another program set. */
  over_drift?: true | undefined;
  /** Digests of the values that the approver saw. */
  seen?: readonly string[] | undefined;
}

/** Returns true for a decision that consents to a change. */
export const isConsentDecision = (decision: string | undefined): boolean =>
  decision === "approve" || decision === "approve_emergency";

/** Returns the facts about a change in the statement of a decision. */
export const createChangeFacts = (
  decision: Decision,
  { change_id, digest, places, apply_when }: Pick<Change, "change_id" | "digest" | "places" | "apply_when">,
): Pick<StatementFacts, "change_id" | "digest" | "places" | "apply_when"> => ({
  change_id,
  digest,
  ...(isConsentDecision(decision) && { places, apply_when }),
});

/** Returns the statement as RFC 8785 JSON. */
export const statementText = <Facts extends CommonFacts>(facts: Facts): string =>
  canonicalJson({ v: "countersign-consent/1", ...facts });

/** Returns the time that a statement states; undefined without one, and for a text that is no JSON. */
export function parseStatementTime(statement: string): string | undefined {
  try {
    const { at } = JSON.parse(statement) as { at?: unknown };
    return typeof at === "string" ? at : undefined;
  } catch {
    return undefined;
  }
}
