/** Actions on a change: labels, endpoints, signed statements, and the actions that the reader may take. */
import type { LifecycleAction, ChangeDetail } from "../core/api_types.ts";
import type { Fields } from "../core/api.ts";
import { type Decision, isConsentDecision } from "../../../lib/changes/rules/statement.ts";
import type { ActionForm } from "../parts/action_dialog.tsx";
import { makeSignableDecision } from "./statement.ts";
import { formatCount, endSentence, localizeTimes } from "../core/format.ts";
import { countApprovals } from "./sentences.ts";

/** Actions of the service. Some are variants of one endpoint: `hold`, `resume` and `advance` of `stage`. */
export type ChangeAction =
  | LifecycleAction
  | "hold"
  | "resume"
  | "advance"
  | "restore"
  | "approve_emergency"
  | "accept_emergency"
  | "reject_emergency";

interface ChangeActionForm extends ActionForm {
  decision: Decision;
  /** Shown once the action is recorded. */
  confirmation: string;
}

const NOTE_HINT = "Why? It stays on record.";
const CONSENT_HINT = "What convinced you? It stays on record.";
const REJECTION_HINT = "Why not? The proposer will read it.";

const VOTE = { person: "approver", noteHint: CONSENT_HINT } as const;
const ROLLOUT_STEP = { decision: "stage" } as const;
const REVIEW = { decision: "review", person: "approver" } as const;

export const CHANGE_ACTIONS: Readonly<Record<ChangeAction, ChangeActionForm>> = {
  approve: {
    ...VOTE,
    label: "Approve",
    title: "Approve this change?",
    decision: "approve",
    explanation: "You consent to exactly this content. The audit log records it under your name.",
    confirmation: "Your consent is recorded.",
    says: "approves",
  },
  deny: {
    ...VOTE,
    label: "Deny",
    title: "Deny this change?",
    decision: "deny",
    explanation: "One denial is final. The proposer can propose it again.",
    confirmation: "Your denial is recorded.",
    says: "denies",
    noteHint: REJECTION_HINT,
    style: "danger",
  },
  withdraw: {
    label: "Withdraw",
    title: "Withdraw this change?",
    person: "proposer",
    decision: "withdraw",
    explanation: "The proposal is taken back and closed.",
    confirmation: "The change is withdrawn.",
    says: "withdraws the proposal",
    noteHint: NOTE_HINT,
    style: "secondary",
  },
  revoke: {
    ...VOTE,
    label: "Take consent back",
    title: "Take your consent back?",
    decision: "revoke",
    explanation: "Your consent is taken back, and the change is closed. The proposer can propose it again.",
    confirmation: "Your consent is taken back, and the change is closed.",
    says: "takes their consent back",
    noteHint: REJECTION_HINT,
    style: "danger",
  },
  apply: {
    label: "Apply",
    title: "Apply this change?",
    decision: "apply",
    isNameless: true,
    explanation: "Sets the value on the host product now, and verifies it there.",
    confirmation: "The change is applied and verified.",
    says: "applies",
    noteHint: "Why now? It stays on record.",
  },
  rollback: {
    label: "Roll back",
    title: "Roll back this change?",
    decision: "rollback",
    isNameless: true,
    explanation: "Restores the value from before, unless a later change has set the target.",
    confirmation: "The change is rolled back.",
    says: "rolls back",
    noteHint: NOTE_HINT,
    style: "danger",
  },
  hold: {
    ...ROLLOUT_STEP,
    label: "Hold",
    title: "Hold this rollout?",
    fields: { action: "hold" },
    explanation:
      "It takes no further step until it is resumed. It is still rolled back where a KPI is worse than allowed.",
    confirmation: "The rollout is held.",
    says: "holds the rollout",
    noteHint: NOTE_HINT,
    style: "secondary",
  },
  resume: {
    ...ROLLOUT_STEP,
    label: "Resume",
    title: "Resume this rollout?",
    fields: { action: "resume" },
    explanation: "It takes its next step when the numbers allow it.",
    confirmation: "The rollout goes on.",
    says: "resumes the rollout",
    noteHint: CONSENT_HINT,
  },
  advance: {
    ...ROLLOUT_STEP,
    label: "Next step",
    title: "Take the next step?",
    fields: { action: "advance" },
    explanation: "More users get the new value now.",
    confirmation: "The rollout took its next step.",
    says: "takes the next step of the rollout",
    noteHint: CONSENT_HINT,
  },
  restore: {
    label: "Restore the consented value",
    title: "Restore the consented value?",
    decision: "restore",
    explanation: "Sets the consented value again, over what was set outside Countersign. It needs no new consent.",
    confirmation: "The consented value is restored.",
    says: "restores the consented value",
    noteHint: "Who changed it, and why is it set again? It stays on record.",
  },
  approve_emergency: {
    label: "Approve as an emergency",
    title: "Approve this change as an emergency?",
    path: "api/product/approve",
    person: "approver",
    decision: "approve_emergency",
    fields: { emergency: "true" },
    explanation: "Skips the usual approvals, freezes and change windows; someone else reviews it later.",
    confirmation: "Your emergency consent is recorded, and will be reviewed.",
    says: "approves as an emergency",
    noteHint: "What is the emergency? The review will ask.",
    isNoteRequired: true,
    style: "danger",
  },
  accept_emergency: {
    ...REVIEW,
    label: "Justified",
    title: "Was the emergency consent right?",
    fields: { verdict: "accepted" },
    explanation: "You say that the emergency consent was right. The review is over.",
    confirmation: "Your review is recorded: justified.",
    says: "accepts the emergency consent",
    noteHint: CONSENT_HINT,
    style: "secondary",
  },
  reject_emergency: {
    ...REVIEW,
    label: "Not justified",
    title: "Was the emergency consent wrong?",
    fields: { verdict: "not_accepted" },
    explanation: "You say that the emergency consent was not right. The review is over; the change stays as it is.",
    confirmation: "Your review is recorded: not justified.",
    says: "does not accept the emergency consent",
    noteHint: "What was wrong? It stays on record.",
    style: "danger",
  },
};

/** Lists the digests of the shown values of the targets, which a consent records; undefined for other decisions. */
const listSeenDigests = (decision: Decision, { seen }: ChangeDetail): string[] | undefined =>
  isConsentDecision(decision) ? seen?.map(({ digest }) => digest) : undefined;

/** Returns the fields of an action on the shown change; a consent records the current values of its targets. */
export function makeActionFields(action: ChangeAction, change: ChangeDetail, over_drift?: true): Fields {
  const { decision } = CHANGE_ACTIONS[action];
  const seen = listSeenDigests(decision, change);
  return {
    change_id: change.change_id,
    ...(decision === "stage" && { step: String(change.exposure?.step) }),
    ...(seen && { seen: JSON.stringify(seen) }),
    ...(over_drift && { over_drift: "true" }),
  };
}

/** Returns the statement of an action on a change, to be signed by a person. */
export const makeSignable =
  (action: ChangeAction, change: ChangeDetail, over_drift?: true) =>
  ({ name, note }: { name: string; note: string }) => {
    const { decision, fields } = CHANGE_ACTIONS[action];
    return makeSignableDecision(change, {
      decision,
      approver: name,
      note,
      verdict: fields?.["verdict"],
      ...(decision === "stage" && { step: change.exposure?.step, action: fields?.["action"] }),
      seen: listSeenDigests(decision, change),
      over_drift,
    });
  };

/** Lists the allowed actions in the order of the service, without a restore, which is offered next to the drift. */
export const listAllowedActions = ({ caller }: ChangeDetail): ChangeAction[] =>
  caller!.may.flatMap((action): ChangeAction[] => {
    if (action === "review") return ["accept_emergency", "reject_emergency"];
    return action === "restore" ? [] : [action];
  });

const BLOCKED_TITLES: Partial<Record<string, string>> = {
  approve: "Can't approve",
  apply: "Can't apply yet",
  rollback: "Can't roll back yet",
  restore: "Can't restore",
  review: "Can't review",
};

/** Lists the blocked actions with the reasons; then, while approvals are missing, how many no longer count. */
export function listObstacles(change: ChangeDetail): [title: string, reason: string][] {
  const possibleApprovers = [...new Set(change.missing.flatMap(({ of }) => of))].join(" or ");
  const blocked = change.caller!.may_not.flatMap(({ action, reasons }): [string, string][] => {
    const title = BLOCKED_TITLES[action];
    const hint = action === "approve" && possibleApprovers !== "" ? ` It can be approved by ${possibleApprovers}.` : "";
    return title ? [[title, endSentence(localizeTimes(reasons.join("; "))) + hint]] : [];
  });
  if (change.status !== "approved" && change.status !== "pending_consent") return blocked;
  const { received, more } = countApprovals(change);
  // An emergency consent is no part of the quorum.
  const uncounted = change.approvals.filter(({ emergency }) => !emergency).length - received;
  if (more === 0 || uncounted <= 0) return blocked;
  const count = formatCount(uncounted, "approval does", "approvals do");
  return [...blocked, ["Not counted", `${count} not count under the intent in force.`]];
}
