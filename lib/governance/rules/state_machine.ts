/**
 * The state machine of a change. `decide` judges a command and says which event follows from it; `evolve` is the only place
 * that says what an event does, so that a stored record, a check of the log and a recount cannot differ. Pure.
 */
import { AppError } from "../../kit/errors.ts";
import { POLICY_EXPIRY } from "./actor.ts";
import type { Change, Status } from "./change.ts";
import type { Command, Context, Decided, Operation } from "./command.ts";
import type { ChangeEvent } from "./event.ts";
import type { Intent } from "./intent.ts";
import { sameName } from "./names.ts";
import { consentsNeeded, refuseForbiddenTarget, requireApprover, requireDecider, standingApprovals } from "./policy.ts";
import { propose } from "./propose.ts";
import { signatureFacts } from "./require_signature.ts";
import type { Applied, ChangeState, Lifecycle } from "./record.ts";

/** The state table of the specification. */
const TABLE = {
  approve: { from: ["proposed", "pending_consent"], to: "approved" },
  deny: { from: ["pending_consent"], to: "denied" },
  withdraw: { from: ["pending_consent"], to: "denied" },
  expire: { from: ["pending_consent"], to: "denied" },
  apply: { from: ["approved"], to: "applied" },
  rollback: { from: ["applied"], to: "rolled_back" },
} as const satisfies Record<string, { from: readonly Status[]; to: Status }>;

type Step = keyof typeof TABLE;

/** What may be asked of a change. */
export type Action = Exclude<Step, "expire">;

const isFrom = (step: Step, status: Status): boolean => (TABLE[step].from as readonly Status[]).includes(status);

/** The actions that a status allows. */
export const allowedActions = (status: Status): Action[] =>
  (Object.keys(TABLE) as Step[]).filter((step): step is Action => step !== "expire" && isFrom(step, status));

/** The status that a step leads to; 400 `illegal_transition` where the table has no such row. */
function transition({ change_id, status }: Change, step: Step): Status {
  if (isFrom(step, status)) return TABLE[step].to;
  const allowed = allowedActions(status);
  const next = allowed.length > 0 ? `it may be asked to ${allowed.join(", ")}` : "nothing further can be done with it";
  throw new AppError("illegal_transition", `cannot ${step} ${change_id}: it is ${status}; ${next}`, {
    change_id,
    current_status: status,
    allowed,
  });
}

/** Judges a command; throws `AppError` where the table, the intent or the change itself forbids it. */
export function decide(change: Change | undefined, command: Command, context: Context): Decided {
  if (command.type === "propose") return propose(command, context);
  if (!change) throw new TypeError(`there is no change to ${command.type}`);
  const told = { digest: change.digest, manifest_hash: context.manifest_hash, ...context.actor };
  switch (command.type) {
    case "succeed": {
      const status = transition(change, command.operation);
      const event_type = command.operation === "apply" ? "change_applied" : "change_rolled_back";
      return { event_type, detail: { status, ...command.circumstance, ...told } };
    }
    case "fail": {
      transition(change, command.operation);
      const event_type = command.operation === "apply" ? "change_apply_failed" : "change_rollback_failed";
      return { event_type, detail: { status: change.status, ...command.circumstance, ...told } };
    }
    case "drift":
      transition(change, "rollback");
      return { event_type: "change_drifted", detail: { status: change.status, ...command.circumstance, ...told } };
    default:
      return {
        event_type: "consent_decision",
        detail: { ...consent(change, command, context), ...told, ...signed(command, context) },
      };
  }
}

/** Whether an operation may be begun; before an apply, consent is asked again under today's intent. */
export function requireOperable(change: Change, operation: Operation, intent: Intent): void {
  transition(change, operation);
  if (operation === "rollback") return;
  refuseForbiddenTarget(change.target, intent.policy);
  const standing = standingApprovals(change, intent).length;
  const needed = consentsNeeded(change, intent.policy);
  if (standing >= needed) return;
  throw new AppError(
    "not_an_approver",
    `${standing} of ${needed} consents count under today's intent; propose the change again`,
    { change_id: change.change_id },
  );
}

const signed = (command: Consent, { intent, actor }: Context): object =>
  command.type === "expire" ? {} : signatureFacts(command, intent.policy, actor);

type Consent = Extract<Command, { type: "approve" | "deny" | "withdraw" | "expire" }>;

function consent(change: Change, command: Consent, { intent, actor }: Context): object {
  const status = transition(change, command.type);
  if (command.type === "expire") {
    const note = `no consent within ${intent.policy.consent_ttl_hours} hours`;
    return { decision: "expired", status, approver: POLICY_EXPIRY, note };
  }
  const { name, note } = command;
  if (command.type === "approve") return approval(change, command, status, intent);
  if (command.type === "deny") {
    requireDecider(name, intent);
    return { decision: "denied", status, approver: name, note };
  }
  // What nobody put their name to is nobody's: a person may take it back, an agent only what is its own.
  const own = change.proposer === null ? actor.authenticated !== "agent" : sameName(change.proposer) === sameName(name);
  if (!own) {
    const who = change.proposer === null ? "a person" : `${change.proposer}, who proposed this change,`;
    throw new AppError("not_the_proposer", `only ${who} may withdraw it`);
  }
  return { decision: "withdrawn", status, approver: name, note };
}

/** One more consent; the change is approved when enough distinct names have given theirs. */
function approval(
  change: Change,
  { name, note, target_owner }: Extract<Consent, { type: "approve" }>,
  approved: Status,
  intent: Intent,
): object {
  if (change.approvals.some(({ approver }) => sameName(approver) === sameName(name)))
    throw new AppError("already_decided", `${name} has approved this change already`, {
      current_status: change.status,
    });
  requireApprover(change, name, intent);
  const given = change.approvals.length + 1;
  const needed = consentsNeeded(change, intent.policy);
  const decided = {
    decision: "approved",
    status: change.status,
    approver: name,
    note,
    progress: `${given} of ${needed}`,
  };
  return given >= needed ? { ...decided, status: approved, target_owner } : decided;
}

const STEP_OF_DECISION: ReadonlyMap<unknown, Step> = new Map([
  ["approved", "approve"],
  ["denied", "deny"],
  ["withdrawn", "withdraw"],
  ["expired", "expire"],
]);

const OPERATION_OF_EVENT: ReadonlyMap<string, Operation> = new Map([
  ["change_applied", "apply"],
  ["change_apply_failed", "apply"],
  ["change_rolled_back", "rollback"],
  ["change_rollback_failed", "rollback"],
  ["change_drifted", "rollback"],
]);

/** The change after one more event; undefined where the event does not follow from those before it. */
export function evolve(state: ChangeState | undefined, event: ChangeEvent): ChangeState | undefined {
  const { id, event_type, change_id, detail } = event;
  if (!state) return event_type === "change_proposed" ? proposed(event) : undefined;
  const { change } = state;
  if (change_id !== change.change_id || (detail.digest ?? change.digest) !== change.digest) return undefined;
  const isConsent = event_type === "consent_decision";
  const step = isConsent ? STEP_OF_DECISION.get(detail.decision) : OPERATION_OF_EVENT.get(event_type);
  if (!step || !isFrom(step, change.status)) return undefined;
  const moved = isConsent ? consented(change, event) : operated(event);
  if (!moved) return undefined;
  return {
    change: { ...change, ...moved, revision: change.revision + 1 },
    audit: [...state.audit, id],
    applied: event_type === "change_applied" ? appliedBy(event) : state.applied,
  };
}

function proposed({ id, change_id, timestamp, detail }: ChangeEvent): ChangeState | undefined {
  const minor = detail.tier === "minor";
  const status = minor ? "approved" : "pending_consent";
  if (detail.status !== status || detail.digest === undefined) return undefined;
  const change: Lifecycle = {
    change_id,
    ...(detail.proposer_kind === undefined ? {} : { proposer_kind: detail.proposer_kind }),
    ...(detail.asked_by === undefined ? {} : { asked_by: detail.asked_by }),
    status,
    resolution: null,
    created_at: timestamp,
    approver: detail.approver ?? null,
    approval_note: null,
    approvals: [],
    required_approvers: detail.required_approvers ?? 1,
    decided_at: minor ? timestamp : null,
    applied_at: null,
    rolled_back_at: null,
    ...(detail.supersedes === undefined ? {} : { supersedes: detail.supersedes }),
    digest: detail.digest,
    revision: 1,
  };
  return { change, audit: [id], applied: null };
}

/** The intent may have asked for more consents than when the change was proposed; fewer never suffice. */
function consented(change: Lifecycle, { timestamp: at, detail }: ChangeEvent): Partial<Lifecycle> | undefined {
  const { decision, approver = null, note = null } = detail;
  const last = { approver, approval_note: note };
  if (decision !== "approved") return { ...last, status: "denied", resolution: decision!, decided_at: at };
  const signature = detail.key === undefined ? {} : { key: detail.key };
  const approvals = [...change.approvals, { approver: approver ?? "", note: note ?? "", at, ...signature }];
  const { status = approvals.length >= change.required_approvers ? "approved" : change.status } = detail;
  if (status !== "approved") return { ...last, approvals };
  if (approvals.length < change.required_approvers) return undefined;
  return { ...last, approvals, status: "approved", decided_at: at };
}

function operated({ event_type, timestamp }: ChangeEvent): Partial<Lifecycle> {
  if (event_type === "change_applied") return { status: "applied", applied_at: timestamp };
  if (event_type === "change_rolled_back") return { status: "rolled_back", rolled_back_at: timestamp };
  return {};
}

const appliedBy = ({ id, timestamp, detail: { kpis, previous_digest } }: ChangeEvent): Applied => ({
  entry: id,
  at: timestamp,
  kpis: kpis ?? null,
  ...(previous_digest === undefined ? {} : { previous_digest }),
});
