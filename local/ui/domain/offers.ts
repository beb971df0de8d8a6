/** Actions that a change offers to a reader, by the answers of the service. The service decides, and says why it rejects one. */
import { isLive, isReviewDue } from "../../../lib/changes/rules/in_force.ts";
import { sameName as asCompared } from "../../../lib/changes/rules/names.ts";
import type { Action, ChangeDetail, Policy } from "../core/api_types.ts";
import { counted, ended, readable } from "../core/format.ts";
import type { ChangeAction } from "./change_actions.ts";
import { isRollingOut } from "./rollout.ts";
import { quorumOf } from "./sentences.ts";

const ORDER: readonly Action[] = ["approve", "apply", "rollback", "deny", "withdraw", "revoke"];

/** Compares two names as the service does. */
export const sameName = (a: string | null | undefined, b: string): boolean =>
  a !== null && a !== undefined && asCompared(a) === asCompared(b);

/** Lists what this reader can do, in the order of a change's life; an open question is answered first. */
export function listOffers(change: ChangeDetail, name: string, policy: Policy | undefined): ChangeAction[] {
  const ordinary = ORDER.filter(
    (action) => change.allowed_actions.includes(action) && isOffered(action, change, name, policy),
  );
  if (isReviewDue(change))
    return hadPart(change, name) ? ordinary : ["accept_emergency", "reject_emergency", ...ordinary];
  if (isRollingOut(change)) return [...listStageActions(change, name, policy), ...ordinary];
  const isOpen = change.status === "pending_consent" || (change.status === "approved" && change.review === undefined);
  const isNamed = policy?.break_glass?.approvers.some((one) => sameName(one, name)) ?? false;
  const hasDone = change.approvals.some(({ approver, emergency }) => emergency && sameName(approver, name));
  return isOpen && isNamed && !hasDone && !(hadPart(change, name) && policy?.self_approval === false)
    ? [...ordinary, "approve_emergency"]
    : ordinary;
}

/** Lists what can be done with a rollout that is under way. */
function listStageActions(change: ChangeDetail, name: string, policy: Policy | undefined): ChangeAction[] {
  const { stages, exposure } = change;
  const waits = exposure!.waits_for;
  if (waits === "rollback") return [];
  const mayGoOn = name === "" || (isDecider(name, policy) && !isOwn(change, name, policy));
  const isManual = stages?.steps[exposure!.step]?.advance === "manual" && waits === "manual";
  return [
    ...(mayGoOn && isManual ? ["advance" as const] : []),
    ...(mayGoOn && (waits === "by_hand" || waits === "mismatch") ? ["resume" as const] : []),
    ...(waits === "by_hand" ? [] : ["hold" as const]),
  ];
}

function isOffered(action: Action, change: ChangeDetail, name: string, policy: Policy | undefined): boolean {
  if (action === "apply" || action === "rollback")
    return listBlocking(action, change).length === 0 && (name === "" || isPermitted(action, name, policy));
  if (name === "") return true;
  const { proposer, approvals, missing } = change;
  switch (action) {
    case "approve":
      return !hasApproved(change, name) && isMissing(change, name) && !isOwn(change, name, policy);
    case "deny":
      // The answer does not say who can deny once the quorum is reached; the rules do, where the service shows them.
      return (
        hasApproved(change, name) ||
        isMissing(change, name) ||
        (!missing.some(({ rule }) => rule === QUORUM) && isDecider(name, policy))
      );
    case "withdraw":
      return proposer === null || sameName(proposer, name);
    case "revoke":
      // Another approver can close a change whose approvals no longer count.
      return hasApproved(change, name) || approvals.length === 0 || (missing.length > 0 && isMissing(change, name));
  }
}

const QUORUM = "required_approvers";

const isListed = (names: readonly string[] | undefined, name: string): boolean =>
  names?.some((one) => sameName(one, name)) ?? false;

const isDecider = (name: string, policy: Policy | undefined): boolean =>
  policy?.approvers === undefined ||
  isListed(policy.approvers, name) ||
  policy.owners.some(({ approvers }) => isListed(approvers, name));

/** Names that may apply, or roll back; undefined where no list says so. */
function permittedNames(action: "apply" | "rollback", policy: Policy | undefined): string[] | undefined {
  const names = policy?.permissions?.[action];
  return names && [...names, ...(action === "rollback" ? (policy?.break_glass?.approvers ?? []) : [])];
}

const isPermitted = (action: "apply" | "rollback", name: string, policy: Policy | undefined): boolean => {
  const names = permittedNames(action, policy);
  return names === undefined || isListed(names, name);
};

/** Checks that this would be a consent to one's own proposal, where the rules allow none. */
const isOwn = ({ proposer, asked_by }: ChangeDetail, name: string, policy: Policy | undefined): boolean =>
  policy?.self_approval === false && [proposer, asked_by].some((one) => sameName(one, name));

/** Checks that the service still waits for the consent of this person; an empty list means any person. */
const isMissing = ({ missing }: ChangeDetail, name: string): boolean =>
  missing.some(({ of, unreachable }) => (of.length === 0 ? !unreachable : of.some((one) => sameName(one, name))));

const hasApproved = ({ approvals }: ChangeDetail, name: string): boolean =>
  approvals.some(({ approver, emergency }) => !emergency && sameName(approver, name));

/** Checks that this person proposed the change, had it drafted, or approved it. */
const hadPart = ({ proposer, asked_by, approvals }: ChangeDetail, name: string): boolean =>
  [proposer, asked_by, ...approvals.map(({ approver }) => approver)].some((one) => sameName(one, name));

const listBlocking = (action: "apply" | "rollback", { gates }: ChangeDetail): string[] =>
  gates
    .filter(({ gate, state }) => state === "block" && (action === "apply" || gate === "operation"))
    .map(({ message }) => message);

/** Lists what this reader might expect to do and cannot, each with the reason. */
export function listObstacles(
  change: ChangeDetail,
  name: string,
  policy: Policy | undefined,
): [title: string, reason: string][] {
  const obstacles: [string, string][] = [];
  const may = new Set(listOffers(change, name, policy));
  if (change.status === "pending_consent" && name !== "" && !may.has("approve"))
    obstacles.push(["Can't approve", whyNotApprove(change, name, policy)]);
  const applies = isLive(change.status) && !may.has("apply");
  const blocking = applies ? listBlocking("apply", change) : listBlocking("rollback", change);
  if (blocking.length > 0)
    obstacles.push([applies ? "Can't apply yet" : "Can't roll back yet", ended(readable(blocking.join("; ")))]);
  const step = change.status === "applied" ? "rollback" : applies ? "apply" : undefined;
  if (step && name !== "" && !isPermitted(step, name, policy)) {
    const who = permittedNames(step, policy)!.join(" or ");
    obstacles.push(
      step === "apply"
        ? ["Can't apply", `It can be applied by ${who}.`]
        : ["Can't roll back", `It can be rolled back by ${who}.`],
    );
  }
  const { given, more } = quorumOf(change);
  const lost = change.approvals.filter(({ emergency }) => !emergency).length - given;
  if (isLive(change.status) && more > 0 && lost > 0)
    obstacles.push([
      "Not counted",
      `${counted(lost, "approval does", "approvals do")} not count under the intent in force.`,
    ]);
  if (isReviewDue(change) && hadPart(change, name))
    obstacles.push(["Can't review", "You had a part in this change; someone else reviews it."]);
  return obstacles;
}

function whyNotApprove(change: ChangeDetail, name: string, policy: Policy | undefined): string {
  if (hasApproved(change, name)) return "You have approved it.";
  if (isOwn(change, name, policy) && isMissing(change, name)) return "You proposed it.";
  if (!change.allowed_actions.includes("approve")) return "It is too late.";
  const names = [...new Set(change.missing.flatMap(({ of }) => of))];
  return names.length === 0 ? "Nobody who may is left." : `It can be approved by ${names.join(" or ")}.`;
}
