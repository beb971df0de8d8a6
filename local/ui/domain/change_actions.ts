/** What can be done with a change: how it is called, where it is sent, and what of it is signed. */
import type { Action, ChangeDetail } from "../core/api_types.ts";
import type { Fields } from "../core/api.ts";
import type { Decision } from "../../../lib/changes/rules/statement.ts";

/** The service's actions, and what it takes beside them. */
export type ChangeAction =
  Action | "hold" | "resume" | "advance" | "restore" | "approve_emergency" | "accept_emergency" | "reject_emergency";

/** What a console must know of it. */
interface Facts {
  label: string;
  /** The title of its dialog, where that is not the label with "this change?". */
  asks?: string;
  path: string;
  /** The field that names the person. */
  person?: "approver" | "proposer" | "actor";
  /** Whoever does it is named where that is known, and may add a note. */
  acts?: true;
  /** The decision in the statement that is signed. */
  decision?: Decision;
  /** What is sent with it each time. */
  fields?: Fields;
  explained: string;
  done: string;
  /** In a statement, after the person's name. */
  says: string;
  noteHint?: string;
  noteRequired?: true;
  look?: "danger" | "secondary";
}

const CONVINCED = "What convinced you? It stays on record.";
const WHY_NOT = "Why not? The proposer will read it.";

export const CHANGE_ACTIONS: Readonly<Record<ChangeAction, Facts>> = {
  approve: {
    label: "Approve",
    path: "api/product/approve",
    person: "approver",
    decision: "approve",
    explained: "Your consent is given to exactly this content, and stands in the audit log under your name.",
    done: "Your consent is recorded.",
    says: "approves",
    noteHint: CONVINCED,
  },
  deny: {
    label: "Deny",
    path: "api/product/deny",
    person: "approver",
    decision: "deny",
    explained: "One denial is final. The proposer can propose it again.",
    done: "Your denial is recorded.",
    says: "denies",
    noteHint: WHY_NOT,
    look: "danger",
  },
  withdraw: {
    label: "Withdraw",
    path: "api/product/withdraw",
    person: "proposer",
    decision: "withdraw",
    explained: "The proposal is taken back and closed.",
    done: "The change is withdrawn.",
    says: "withdraws the proposal",
    noteHint: "Why? It stays on record.",
    look: "secondary",
  },
  revoke: {
    label: "Take consent back",
    asks: "Take your consent back?",
    path: "api/product/revoke",
    person: "approver",
    decision: "revoke",
    explained: "Your consent is taken back, and the change is closed. The proposer can propose it again.",
    done: "Your consent is taken back, and the change is closed.",
    says: "takes their consent back",
    noteHint: WHY_NOT,
    look: "danger",
  },
  apply: {
    label: "Apply",
    path: "api/product/apply",
    acts: true,
    decision: "apply",
    noteHint: "Why now? It stays on record.",
    explained: "The change is carried to the host product now, and verified there.",
    done: "The change is applied and verified.",
    says: "applies",
  },
  rollback: {
    label: "Roll back",
    path: "api/product/rollback",
    acts: true,
    decision: "rollback",
    noteHint: "Why? It stays on record.",
    explained: "What was there before comes back, unless a later change has taken the place.",
    done: "The change is rolled back.",
    says: "rolls back",
    look: "danger",
  },
  hold: {
    label: "Hold",
    asks: "Hold this rollout?",
    path: "api/product/stage",
    person: "actor",
    decision: "stage",
    fields: { action: "hold" },
    explained:
      "It takes no further step until it is resumed. It is still rolled back where a KPI is worse than allowed.",
    done: "The rollout is held.",
    says: "holds the rollout",
    noteHint: "Why? It stays on record.",
    look: "secondary",
  },
  resume: {
    label: "Resume",
    asks: "Resume this rollout?",
    path: "api/product/stage",
    person: "actor",
    decision: "stage",
    fields: { action: "resume" },
    explained: "It takes its next step when the numbers allow it.",
    done: "The rollout goes on.",
    says: "resumes the rollout",
    noteHint: "What did you look at? It stays on record.",
  },
  advance: {
    label: "Next step",
    asks: "Take the next step?",
    path: "api/product/stage",
    person: "actor",
    decision: "stage",
    fields: { action: "advance" },
    explained: "More users get the new value now.",
    done: "The rollout took its next step.",
    says: "takes the next step of the rollout",
    noteHint: "What convinced you? It stays on record.",
  },
  restore: {
    label: "Restore the consented value",
    asks: "Restore the consented value?",
    path: "api/product/restore",
    acts: true,
    decision: "restore",
    noteHint: "Who changed it, and why is it set again? It stays on record.",
    explained: "Sets the consented value again, over what was set outside Countersign. It needs no new consent.",
    done: "The consented value is restored.",
    says: "restores the consented value",
  },
  approve_emergency: {
    label: "Approve as an emergency",
    asks: "Approve this change as an emergency?",
    path: "api/product/approve",
    person: "approver",
    decision: "approve_emergency",
    fields: { emergency: "true" },
    explained: "Skips the usual approvals, freezes and change windows; someone else reviews it later.",
    done: "Your emergency consent is recorded, and will be reviewed.",
    says: "approves as an emergency",
    noteHint: "What is the emergency? The review will ask.",
    noteRequired: true,
    look: "danger",
  },
  accept_emergency: {
    label: "Justified",
    asks: "Was the emergency consent right?",
    path: "api/product/review",
    person: "approver",
    decision: "review",
    fields: { verdict: "accepted" },
    explained: "You say that the emergency consent was right. The review is over.",
    done: "Your review is recorded: justified.",
    says: "accepts the emergency consent",
    noteHint: "What did you look at? It stays on record.",
    look: "secondary",
  },
  reject_emergency: {
    label: "Not justified",
    asks: "Was the emergency consent wrong?",
    path: "api/product/review",
    person: "approver",
    decision: "review",
    fields: { verdict: "not_accepted" },
    explained: "You say that the emergency consent was not right. The review is over; the change stays as it is.",
    done: "Your review is recorded: not justified.",
    says: "does not accept the emergency consent",
    noteHint: "What was wrong? It stays on record.",
    look: "danger",
  },
};

/** The fields that it sends. */
export function makeFields(
  action: ChangeAction,
  { change_id, exposure }: Pick<ChangeDetail, "change_id" | "exposure">,
  name: string,
  note: string,
): Fields {
  const { person, acts, fields, decision } = CHANGE_ACTIONS[action];
  const said = note === "" ? undefined : note;
  const known = name === "" ? undefined : name;
  return {
    change_id,
    ...(person && { [person]: name, note: said }),
    ...(acts && { actor: known, note: said }),
    ...(decision === "stage" && { step: String(exposure?.step) }),
    ...fields,
  };
}
