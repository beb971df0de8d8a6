/** Levels of autonomy, after arXiv 2506.12469: the higher, the less a human had to do with what was decided. */
import { proposerKindOf } from "./actor.ts";
import type { Change } from "./change.ts";

export const LEVELS = ["L1", "L2", "L3", "L4", "L5"] as const;
export type Level = (typeof LEVELS)[number];

export const LEVEL_MEANINGS: Readonly<Record<Level, string>> = {
  L1: "a human proposed and a human decided",
  L2: "a human edited a model's draft and a human decided",
  L3: "a model or a peer proposed and a human decided on the proposal as it was",
  L4: "a standing rule of the intent decided: a minor change, an expiry, a guardrail's rollback",
  L5: "the host product changed with neither: drift; must be 0",
};

/** How long after a model's draft a human's proposal on the same tenant and target counts as an edit of it. */
export const EDIT_MS = 7 * 24 * 3600 * 1000;

/** The newest draft of a model on one tenant and target: `model_drafts/<place>`. */
export interface ModelDraft {
  change_id: string;
  at: string;
}

/** The level of a decision, by who proposed, who decided, and the newest draft of a model on the same place. */
export function levelOf(
  change: Pick<Change, "proposer" | "approver" | "created_at">,
  draft: ModelDraft | undefined,
): Level {
  if (change.approver?.startsWith("policy:")) return "L4";
  if (["model", "peer"].includes(proposerKindOf(change.proposer))) return "L3";
  const since = draft ? Date.parse(change.created_at) - Date.parse(draft.at) : -1;
  return since >= 0 && since <= EDIT_MS ? "L2" : "L1";
}
