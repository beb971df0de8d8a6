/** Statements of decisions, built from the shown content, so that the reader signs exactly that content. */
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { canonicalContent } from "../../../lib/changes/rules/content.ts";
import { createChangeFacts, type Decision, statementText } from "../../../lib/changes/rules/statement.ts";
import type { ServiceAction } from "../../../lib/changes/rules/service_action.ts";
import type { AuditPage, ChangeDetail } from "../core/api_types.ts";
import { get, NotSentError } from "../core/api.ts";

/** A text to sign, and its hash, which a passkey signs. */
export interface Statement {
  text: string;
  challenge: Uint8Array<ArrayBuffer>;
}

/** A decision or action that can be signed. */
export interface Signable {
  /** Changes with each stated fact. */
  key: string;
  /** Makes the statement for an intent and a time. Errors: `NotSentError`. */
  makeStatement(manifest_hash: string, at: string): Promise<Statement>;
}

interface DecisionFacts {
  decision: Decision;
  approver: string;
  note: string;
  verdict?: string | undefined;
  /** Item of a late note. */
  item?: string | undefined;
  /** Current step of the rollout, for an action on it, which `action` names. */
  step?: number | undefined;
  action?: string | undefined;
  /** Digests of the current values of the change's targets. */
  seen?: readonly string[] | undefined;
  /** Rolls back although the current value was set outside Countersign. */
  over_drift?: true | undefined;
}

/** Makes a decision on a change signable; rejects a digest that does not match the shown content. */
export function makeSignableDecision(change: ChangeDetail, decisionFacts: DecisionFacts): Signable {
  const { digest } = change;
  const facts = createChangeFacts(decisionFacts.decision, change);
  return {
    key: JSON.stringify([facts, decisionFacts]),
    async makeStatement(manifest_hash, at) {
      const origin = change.audit_entries[0]?.origin;
      if (origin === undefined) throw new NotSentError("The log has no entry of this change, so it cannot be signed.");
      if (portableSha256(canonicalContent(change)) !== digest)
        throw new NotSentError(
          "The content on this page does not match the change's digest. Do not sign; report it to your operator.",
        );
      return toStatement(statementText({ origin, ...facts, ...decisionFacts, manifest_hash, at }));
    },
  };
}

interface ActionFacts {
  decision: ServiceAction;
  actor: string;
  note: string;
  until?: string | undefined;
  /** Values of a feed, by KPI. */
  kpis?: Readonly<Record<string, number>> | undefined;
}

/** Makes an action on the service signable; the log's origin is read from the service. */
export const makeSignableAction = (facts: ActionFacts): Signable => ({
  key: JSON.stringify(facts),
  async makeStatement(manifest_hash, at) {
    const { origin } = await get<AuditPage>("api/product/audit", { limit: 1 });
    return toStatement(statementText({ origin, ...facts, manifest_hash, at }));
  },
});

/** Returns a text with the hash that a passkey signs. */
export const toStatement = (text: string): Statement => ({ text, challenge: sha256(utf8ToBytes(text)) });
