/** What may be done with a change, and why the rest may not: nothing that is refused is hidden. */
import { isReviewDue } from "../../../lib/changes/rules/in_force.ts";
import { sameName as asCompared } from "../../../lib/changes/rules/names.ts";
import { findCovered } from "../../../lib/changes/rules/list_entries.ts";
import type { Action, ChangeDetail, Policy, ShownKeys, Status } from "../core/api_types.ts";
import { counted, ended, readable } from "../core/format.ts";
import { type ChangeAction, CHANGE_ACTIONS } from "./change_actions.ts";
import { keysOf } from "./keys.ts";
import { asPlain, ownersMissing, quorumOf } from "./sentences.ts";

/** One thing to do; `refused` says why it cannot be done now. */
export interface Offer {
  action: ChangeAction;
  label: string;
  refused: string | null;
}

/** What the intent says of who may do what. */
export interface Rules {
  policy?: Policy | undefined;
  keys?: ShownKeys | undefined;
}

const ORDER: readonly Action[] = ["approve", "apply", "rollback", "deny", "withdraw", "revoke"];

/** Whether two names are the same to the service. */
export const sameName = (a: string | null, b: string): boolean => a !== null && asCompared(a) === asCompared(b);

/** Everything that can be asked of a change, in the order of its life; what is for an emergency, only when there is one. */
export function offersOf(change: ChangeDetail, name: string, rules: Rules): Offer[] {
  const ordinary = ORDER.map((action) => ({
    action: action,
    label: CHANGE_ACTIONS[action].label,
    refused: change.allowed_actions.includes(action)
      ? refusedHere(action, change, name, rules)
      : refusedByStatus(action, change.status, change),
  }));
  const ofEmergency = emergencyOffers(change, name, rules);
  // Whether it was right is asked first.
  return isReviewDue(change) ? [...ofEmergency, ...ordinary] : [...ordinary, ...ofEmergency];
}

function emergencyOffers(change: ChangeDetail, name: string, rules: Rules): Offer[] {
  const offer = (action: ChangeAction, refused: string | null): Offer => ({
    action,
    label: CHANGE_ACTIONS[action].label,
    refused,
  });
  const { policy } = rules;
  const own = name !== "" && isOwn(change, name) && policy?.self_approval === false;
  const consented = change.approvals.some(({ emergency, approver }) => emergency && sameName(approver, name));
  if (isReviewDue(change)) {
    const hadPart = own || consented;
    const refused = hadPart
      ? "You had a part in this change, and somebody else reviews it."
      : isOutsider(change, name, policy)
        ? "You are not among the intent's approvers."
        : unsignable(name, rules);
    return [offer("accept_emergency", refused), offer("reject_emergency", refused)];
  }
  const open = change.status === "pending_consent" || (change.status === "approved" && change.review === undefined);
  if (!open || !mayInEmergency(name, rules)) return [];
  const refused = consented
    ? "You have approved this emergency already."
    : own
      ? ownOf(change)
      : unsignable(name, rules);
  return [offer("approve_emergency", refused)];
}

/** Who asked a model for its draft is a proposer too. */
const isOwn = ({ proposer, asked_by = null }: ChangeDetail, name: string): boolean =>
  sameName(proposer, name) || sameName(asked_by, name);

const ownOf = ({ asked_by }: ChangeDetail): string =>
  asked_by
    ? "You asked the model for it, and the intent forbids self-approval."
    : "You proposed it, and the intent forbids self-approval.";

function refusedHere(action: Action, change: ChangeDetail, name: string, rules: Rules): string | null {
  const { policy } = rules;
  const named = name !== "";
  const outsider = isOutsider(change, name, policy);
  const own = named && sameName(change.proposer, name);
  switch (action) {
    case "approve":
      if (named && change.approvals.some(({ approver, emergency }) => !emergency && sameName(approver, name)))
        return `You have approved it; it has ${consentsOf(change)}.`;
      if (outsider) return "You are not among the intent's approvers.";
      if (named && isOwn(change, name) && policy?.self_approval === false) return ownOf(change);
      return unsignable(name, rules);
    case "deny":
      return outsider ? "You are not among the intent's approvers." : unsignable(name, rules);
    case "withdraw":
      return named && change.proposer !== null && !own
        ? `Only ${change.proposer}, who proposed it, may withdraw it.`
        : null;
    case "revoke":
      if (named && !hasApproved(change, name) && !isClosable(change, name, rules)) return "You have not approved it.";
      return unsignable(name, rules);
    case "apply":
    case "rollback": {
      const blocking = change.gates.filter(
        ({ gate, state }) => state === "block" && (action === "apply" || gate === "operation"),
      );
      return blocking.length === 0 ? null : ended(readable(blocking.map(({ message }) => message).join("; ")));
    }
  }
}

/** Whether it is approved, and nobody who approved it can decide today: then whoever may decide closes it. */
const isClosable = (change: ChangeDetail, name: string, rules: Rules): boolean =>
  change.status === "approved" &&
  !isOutsider(change, name, rules.policy) &&
  change.approvals.every(
    ({ approver, emergency }) =>
      unsignable(approver, rules) !== null ||
      (isOutsider(change, approver, rules.policy) && !(emergency && mayInEmergency(approver, rules))),
  );

const mayInEmergency = (name: string, { policy }: Rules): boolean =>
  policy?.break_glass?.approvers.some((one) => sameName(one, name)) ?? false;

/** Why a consent of this person could not count: it would have to be signed, and they have nothing to sign with. */
const unsignable = (name: string, { policy, keys }: Rules): string | null =>
  name !== "" && policy?.signed_only && keysOf(name, keys).length === 0
    ? "Only signed decisions count here, and the intent lists no key of yours."
    : null;

const isOutsider = (change: ChangeDetail, name: string, policy: Policy | undefined): boolean =>
  name !== "" &&
  policy?.approvers !== undefined &&
  !policy.approvers.some((one) => sameName(one, name)) &&
  !owns(change, name, policy);

const hasApproved = (change: ChangeDetail, name: string): boolean =>
  change.approvals.some(({ approver }) => sameName(approver, name));

const owns = (change: ChangeDetail, name: string, policy: Policy | undefined): boolean =>
  policy?.owners?.some(
    (rule) => rule.approvers.some((one) => sameName(one, name)) && findCovered(change, rule) !== undefined,
  ) ?? false;

function refusedByStatus(action: Action, status: Status, change: ChangeDetail): string {
  if (status === "denied") return `It was ${change.resolution ?? "denied"}; propose it again.`;
  if (status === "rolled_back") return "It was rolled back; propose it again.";
  const over = change.gates.find(({ gate }) => gate === "deadline");
  if (over && status === "pending_consent" && action === "approve") return ended(readable(over.message));
  if (action === "rollback") return "Only an applied change can be rolled back.";
  if (action === "apply") return status === "applied" ? "It is applied already." : `It has ${consentsOf(change)}.`;
  if (action === "revoke" && status !== "applied") return "Nobody has approved it.";
  return status === "applied" ? "It is applied; only a rollback undoes it." : "It is approved already.";
}

/** "1 of 2 consents", what was given and does not count today, and which owners must still consent. */
function consentsOf(change: ChangeDetail): string {
  const { given, needed, more } = quorumOf(change);
  const lost = more > 0 ? change.approvals.filter(({ emergency }) => !emergency).length - given : 0;
  const uncounted =
    lost > 0
      ? [`${lost} that ${lost === 1 ? "was given does" : "were given do"} not count under the intent in force`]
      : [];
  return [`${given} of ${counted(needed, "consent")}`, ...uncounted, ...ownersMissing(change).map(asPlain)].join("; ");
}
