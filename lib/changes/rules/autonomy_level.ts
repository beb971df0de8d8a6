/** Levels of autonomy, after arXiv 2506.12469: the higher the level, the less a human was involved in the decision. */
import { type Actor, POLICY_MINOR } from "./actor.ts";
import type { Change } from "./change.ts";
import { parseMandateName } from "./mandate.ts";

export const AUTONOMY_LEVELS = ["L1", "L2", "L3", "L4", "L5"] as const;
export type AutonomyLevel = (typeof AUTONOMY_LEVELS)[number];

export const AUTONOMY_LEVEL_MEANINGS: Readonly<Record<AutonomyLevel, string>> = {
  L1: "a human proposed and a human decided",
  L2: "a human edited a model's draft and a human decided",
  L3: "an agent, a model or a peer proposed and a human decided on the proposal as it was",
  L4: "a standing rule or a mandate decided: a minor change, a mandate's consent, a rollback by a guardrail or a rollout",
  L5: "the host product changed with neither: drift; must be 0",
};

/** How long after a model's draft a human's proposal on the same tenant and target counts as an edit of it. */
export const MAX_EDIT_AGE_MS = 7 * 24 * 3600 * 1000;

/** The newest draft of a model on one tenant and target: `tally_drafts/<target key>`. */
export interface ModelDraft {
  change_id: string;
  at: string;
}

/** Who decided, and how the name is known. */
export interface DecisionMaker {
  approver: string | null;
  /** How the name is known. */
  authenticated?: Actor["authenticated"] | undefined;
  /** True if the intent names principals: a name that is only claimed then proves nothing. */
  namesPrincipals: boolean;
}

/**
 * Returns the level of a decision from its proposer, its decision maker and the newest model draft on the same target.
 * `unattributed`: the intent names principals, and the proposer or the name of the decision maker is only claimed.
 * `null`: neither a person nor a rule for minor changes nor a mandate decided, as when a change expires or an agent
 * withdraws its own proposal.
 */
export function classifyAutonomy(
  change: Pick<Change, "proposer" | "proposer_kind" | "created_at">,
  { approver, authenticated, namesPrincipals }: DecisionMaker,
  draft: ModelDraft | undefined,
): AutonomyLevel | "unattributed" | null {
  if (approver?.startsWith("policy:")) return approver === POLICY_MINOR ? "L4" : null;
  if (parseMandateName(approver) !== undefined) return "L4";
  if (authenticated === "agent") return null;
  const kind = change.proposer_kind;
  if (["agent", "model", "peer"].includes(kind)) return "L3";
  if (namesPrincipals && (kind === "unknown" || isClaimed(authenticated))) return "unattributed";
  if (!draft) return "L1";
  const draftAge = Date.parse(change.created_at) - Date.parse(draft.at);
  return draftAge >= 0 && draftAge <= MAX_EDIT_AGE_MS ? "L2" : "L1";
}

/** Returns true for a name that nothing proves; any holder of the admin `token` may state any name. */
const isClaimed = (authenticated: DecisionMaker["authenticated"]): boolean =>
  authenticated === "token" || authenticated === "claimed" || !authenticated;
