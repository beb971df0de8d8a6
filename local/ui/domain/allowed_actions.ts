/** Actions on a change that the service allows or blocks for the reader. */
import type { ChangeDetail } from "../core/api_types.ts";
import { formatCount, endSentence, localizeTimes } from "../core/format.ts";
import type { ChangeAction } from "./change_actions.ts";
import { countApprovals } from "./sentences.ts";

/** Lists the allowed actions in the order of the service; a restore is offered next to the drift instead. */
export const listAllowedActions = ({ caller }: ChangeDetail): ChangeAction[] =>
  caller!.may.flatMap((action): ChangeAction[] =>
    action === "review" ? ["accept_emergency", "reject_emergency"] : action === "restore" ? [] : [action],
  );

const BLOCKED_TITLES: Partial<Record<string, string>> = {
  approve: "Can't approve",
  apply: "Can't apply yet",
  rollback: "Can't roll back yet",
  restore: "Can't restore",
  review: "Can't review",
};

/** Lists the blocked actions, each with the reason. */
export function listObstacles(change: ChangeDetail): [title: string, reason: string][] {
  const names = [...new Set(change.missing.flatMap(({ of }) => of))];
  const closed = change.caller!.may_not.flatMap(({ action, reasons }): [string, string][] => {
    const title = BLOCKED_TITLES[action];
    const approvers = action === "approve" && names.length > 0 ? ` It can be approved by ${names.join(" or ")}.` : "";
    const reason = endSentence(localizeTimes(reasons.join("; "))) + approvers;
    return title ? [[title, reason]] : [];
  });
  const { received, more } = countApprovals(change);
  const lost = change.approvals.filter(({ emergency }) => !emergency).length - received;
  if (change.status !== "approved" && change.status !== "pending_consent") return closed;
  const uncounted = `${formatCount(lost, "approval does", "approvals do")} not count under the intent in force.`;
  return more > 0 && lost > 0 ? [...closed, ["Not counted", uncounted]] : closed;
}
