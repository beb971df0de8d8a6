/** Proposals that start from a change: revisions, repetitions and promotions, and the relations between changes. */
import { hasNoValue } from "../../../lib/changes/rules/list_entries.ts";
import { isSameTarget } from "../../../lib/changes/rules/target_key.ts";
import { isOpenChange } from "../../../lib/changes/rules/current_state.ts";
import { findSupersedeProblem } from "../../../lib/changes/rules/supersede.ts";
import type { AuditEntry, ChangeDetail, RelatedChange } from "../core/api_types.ts";
import type { Draft } from "./draft.ts";
import { readFailedResults } from "./plan.ts";
import { isRollingOut } from "./rollout.ts";

/** A proposal that starts from a change. */
export interface FollowUp {
  label: "Revise" | "Propose again" | "Propose what it holds now" | "Promote";
  /** The draft starts with the current value of the host product; absent: with that of the change. */
  take?: "held";
  /** Field of the address that names the change; absent: `supersedes`. */
  by?: "promotes";
}

/** Lists the proposals that a change can start; none once its content is erased. */
export function listFollowUps(change: ChangeDetail): FollowUp[] {
  const { status, drift, erased } = change;
  if (erased) return [];
  if (isOpenChange(status)) return [{ label: "Revise" }];
  if (status === "denied" || status === "rolled_back") return [{ label: "Propose again" }];
  if (!drift) return isPromotable(change) ? [{ label: "Promote", by: "promotes" }] : [];
  // `null`: the target has no value, so there is none to propose.
  return drift.held_digest === null ? [] : [{ label: "Propose what it holds now", take: "held" }];
}

/** Returns true where all targets still have the values of a change, for all users; `holds`: another change's value is there. */
const isPromotable = (change: ChangeDetail): boolean =>
  change.status === "applied" &&
  !hasNoValue(change) &&
  !isRollingOut(change) &&
  listRelated(change, "holds").length === 0 &&
  readFailedResults(change).every(({ target_holds }) => target_holds === undefined);

/** Describes the effect of a new proposal on the change that it supersedes. */
export function describeFollowUp({ status, drift }: ChangeDetail, take: FollowUp["take"]): string {
  if (isOpenChange(status)) return "Revises";
  return status === "applied" && drift && take === "held"
    ? "Keeps what the host product holds instead of"
    : "Proposes again";
}

/** Explains why the draft cannot supersede a change; undefined if it can. */
export const findDraftSupersedeProblem = (change: ChangeDetail, { tenant_id, target }: Draft): string | undefined =>
  findSupersedeProblem(change, { tenant_id: tenant_id.trim(), target: target.trim() });

/** Returns true if a change blocks the draft under an intent that allows one live change for each target. */
export const isBlockingDraft = (change: ChangeDetail, { tenant_id, target }: Draft): boolean =>
  isOpenChange(change.status) && isSameTarget(change, { tenant_id: tenant_id.trim(), target: target.trim() });

export const listRelated = ({ related }: ChangeDetail, relation: RelatedChange["relations"][number]): RelatedChange[] =>
  related.filter(({ relations }) => relations.includes(relation));

/** Returns true if a change is live although a change that supersedes it is live or applied. */
export const isSupersededButOpen = (change: ChangeDetail): boolean =>
  isOpenChange(change.status) &&
  listRelated(change, "superseded_by").some(({ status }) => isOpenChange(status) || status === "applied");

/** Returns true if an entry may concern a change: it is about this, a related or no change, names it, or proposes for its target. */
export function isRelevantEntry(
  { change_id, detail, tenant, event_type }: AuditEntry,
  id: string,
  shownChange?: ChangeDetail,
): boolean {
  if (change_id === id || change_id === "" || detail.includes(id)) return true;
  if (shownChange?.related.some((other) => other.change_id === change_id)) return true;
  return (
    event_type === "change_proposed" &&
    tenant === shownChange?.tenant_id &&
    detail.includes(JSON.stringify(shownChange.target))
  );
}
