/** The ways from a change to another in its place, and what a change tells of those. */
import { hasNoValue } from "../../../lib/changes/rules/list_entries.ts";
import { isSameTarget } from "../../../lib/changes/rules/target_key.ts";
import { isLive } from "../../../lib/changes/rules/current_state.ts";
import { findSupersedeProblem } from "../../../lib/changes/rules/supersede.ts";
import type { AuditEntry, ChangeDetail, Related } from "../core/api_types.ts";
import type { Draft } from "./draft.ts";
import { readFailedResults } from "./plan.ts";
import { isRollingOut } from "./rollout.ts";

/** A proposal that starts from a change, in its place or for another one; `take` says whose value it begins with. */
export interface FollowUp {
  label: "Revise" | "Propose again" | "Propose what it holds now" | "Promote";
  take?: "held";
  /** The field that names the change; absent: `supersedes`. */
  by?: "promotes";
}

/** The ways that a change leaves; none where its content is gone. */
export function listFollowUps(change: ChangeDetail): FollowUp[] {
  const { status, drift, erased } = change;
  if (erased) return [];
  if (isLive(status)) return [{ label: "Revise" }];
  if (status === "denied" || status === "rolled_back") return [{ label: "Propose again" }];
  if (!drift) return isPromotable(change) ? [{ label: "Promote", by: "promotes" }] : [];
  return drift.held_digest === null ? [] : [{ label: "Propose what it holds now", take: "held" }];
}

/** Returns true where the values of a change are what its targets have now, for all users. */
const isPromotable = (change: ChangeDetail): boolean =>
  change.status === "applied" &&
  !hasNoValue(change) &&
  !isRollingOut(change) &&
  listRelated(change, "holds").length === 0 &&
  readFailedResults(change).every(({ target_holds }) => target_holds === undefined);

/** Describes the effect of a new proposal on the change that it supersedes. */
export function describeFollowUp({ status, drift }: ChangeDetail, take: FollowUp["take"]): string {
  if (isLive(status)) return "Revises";
  return status === "applied" && drift && take === "held"
    ? "Keeps what the host product holds instead of"
    : "Proposes again";
}

/** Why what is typed would not take its place. */
export const findDraftSupersedeProblem = (of: ChangeDetail, { tenant_id, target }: Draft): string | undefined =>
  findSupersedeProblem(of, { tenant_id: tenant_id.trim(), target: target.trim() });

/** Returns whether it blocks the typed proposal, where the intent lets a target have one live change. */
export const isBlockingDraft = (of: ChangeDetail, { tenant_id, target }: Draft): boolean =>
  isLive(of.status) && isSameTarget(of, { tenant_id: tenant_id.trim(), target: target.trim() });

/** Returns the related changes with a relation. */
export const listRelated = ({ related }: ChangeDetail, relation: Related["relations"][number]): Related[] =>
  related.filter(({ relations }) => relations.includes(relation));

/** Returns whether a change that still waits is superseded by another, which waits too or is applied. */
export const isSupersededButOpen = (change: ChangeDetail): boolean =>
  isLive(change.status) &&
  listRelated(change, "superseded_by").some(({ status }) => isLive(status) || status === "applied");

/** Returns whether a log entry may concern a change: itself, its related changes, or a proposal for its target. */
export function isRelevantEntry(
  { change_id, detail, tenant, event_type }: AuditEntry,
  id: string,
  shown?: ChangeDetail,
): boolean {
  if (change_id === id || change_id === "" || detail.includes(id)) return true;
  if (shown?.related.some((one) => one.change_id === change_id)) return true;
  return (
    event_type === "change_proposed" && tenant === shown?.tenant_id && detail.includes(JSON.stringify(shown.target))
  );
}
