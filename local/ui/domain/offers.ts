/** What may be done with a change, and why the rest may not: nothing that is refused is hidden. */
import { matchesPattern, sameName as asCompared } from "../../../lib/governance/rules/names.ts";
import type { Action, ChangeDetail, Policy, Status } from "../core/api_types.ts";
import { counted } from "../core/format.ts";

/** One thing to do; `refused` says why it cannot be done now. */
export interface Offer {
  action: Action;
  label: string;
  refused: string | null;
}

export const ACTION_LABEL: Readonly<Record<Action, string>> = {
  approve: "Approve",
  deny: "Deny",
  apply: "Apply",
  rollback: "Roll back",
  withdraw: "Withdraw",
  revoke: "Take consent back",
};

const ORDER: readonly Action[] = ["approve", "apply", "rollback", "deny", "withdraw", "revoke"];

/** Whether two names are the same to the service. */
export const sameName = (a: string | null, b: string): boolean => a !== null && asCompared(a) === asCompared(b);

/** Everything that can be asked of a change, in the order of its life. */
export function offersOf(change: ChangeDetail, name: string, policy: Policy | undefined): Offer[] {
  return ORDER.map((action) => ({
    action,
    label: ACTION_LABEL[action],
    refused: change.allowed_actions.includes(action)
      ? refusedHere(action, change, name, policy)
      : refusedByStatus(action, change.status, change),
  }));
}

/** Whether this person could move a pending change on. */
export const mayApprove = (change: ChangeDetail, name: string, policy: Policy | undefined): boolean =>
  change.allowed_actions.includes("approve") && refusedHere("approve", change, name, policy) === null;

function refusedHere(action: Action, change: ChangeDetail, name: string, policy: Policy | undefined): string | null {
  const named = name !== "";
  const approvers = policy?.approvers;
  const outsider =
    named && approvers !== undefined && !approvers.some((one) => sameName(one, name)) && !owns(change, name, policy);
  const own = named && sameName(change.proposer, name);
  switch (action) {
    case "approve":
      if (named && hasApproved(change, name))
        return `You have approved it; it has ${change.approvals.length} of ${counted(change.required_approvers, "consent")}.`;
      if (outsider) return "You are not among the intent's approvers.";
      return own && policy?.self_approval === false ? "You proposed it, and the intent forbids self-approval." : null;
    case "deny":
      return outsider ? "You are not among the intent's approvers." : null;
    case "withdraw":
      return named && change.proposer !== null && !own
        ? `Only ${change.proposer}, who proposed it, may withdraw it.`
        : null;
    case "revoke":
      return named && !hasApproved(change, name) ? "You have not approved it." : null;
    case "apply":
    case "rollback": {
      const blocking = change.gates.filter(
        ({ gate, state }) => state === "block" && (action === "apply" || gate === "operation"),
      );
      return blocking.length === 0 ? null : `${blocking.map(({ message }) => message).join("; ")}.`;
    }
  }
}

const hasApproved = (change: ChangeDetail, name: string): boolean =>
  change.approvals.some(({ approver }) => sameName(approver, name));

const owns = ({ target }: ChangeDetail, name: string, policy: Policy | undefined): boolean =>
  policy?.owners?.some(
    ({ targets, approvers }) =>
      approvers.some((one) => sameName(one, name)) && targets.some((pattern) => matchesPattern(target, pattern)),
  ) ?? false;

function refusedByStatus(action: Action, status: Status, change: ChangeDetail): string {
  if (status === "denied") return `It was ${change.resolution ?? "denied"}; propose it again.`;
  if (status === "rolled_back") return "It was rolled back; propose it again.";
  if (action === "rollback") return "Only an applied change can be rolled back.";
  if (action === "apply")
    return status === "applied"
      ? "It is applied already."
      : `It has ${change.approvals.length} of ${counted(change.required_approvers, "consent")}.`;
  if (action === "revoke" && status !== "applied") return "Nobody has approved it.";
  return status === "applied" ? "It is applied; only a rollback undoes it." : "It is approved already.";
}
