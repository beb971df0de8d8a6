/**
 * The state machine of a change. `decide` judges a command and says which event follows from it; `evolve` is the only place
 * that says what an event does, so that a stored record, a check of the log and a recount cannot differ. Pure.
 */
import { HOUR_MS } from "../../kit/days.ts";
import { AppError, invalidField } from "../../kit/errors.ts";
import { POLICY_EXPIRY } from "./actor.ts";
import { emergencyOf, isEmergency, isReviewDue, requireEmergencyApprover, requireReviewer } from "./break_glass.ts";
import type { Change, Status } from "./change.ts";
import type { Command, Context, Decided, Operation } from "./command.ts";
import type { ChangeEvent } from "./event.ts";
import type { Intent } from "./intent.ts";
import { sameName } from "./names.ts";
import { missingConsents, missingOrdinary, quorumOf, type Missing } from "./missing.ts";
import { refuseForbiddenTarget, requireApprover, requireDecider, standingApprovals } from "./policy.ts";
import { propose } from "./propose.ts";
import { signatureFacts } from "./require_signature.ts";
import { isSignedAsAsked, type Presented } from "./signing.ts";
import type { Applied, ChangeState, Lifecycle } from "./record.ts";

/** The state table of the specification, and what takes a consent back. */
const TABLE = {
  approve: { from: ["proposed", "pending_consent"], to: "approved" },
  deny: { from: ["pending_consent"], to: "denied" },
  withdraw: { from: ["pending_consent"], to: "denied" },
  expire: { from: ["pending_consent"], to: "denied" },
  lapse: { from: ["approved"], to: "denied" },
  apply: { from: ["approved"], to: "applied" },
  rollback: { from: ["applied"], to: "rolled_back" },
  revoke: { from: ["pending_consent", "approved"], to: "denied" },
} as const satisfies Record<string, { from: readonly Status[]; to: Status }>;

type Step = keyof typeof TABLE;

/** What may be asked of a change. */
export type Action = Exclude<Step, "expire" | "lapse">;

const isFrom = (step: Step, status: Status): boolean => (TABLE[step].from as readonly Status[]).includes(status);

const isAction = (step: Step): step is Action => step !== "expire" && step !== "lapse";

/** What may be asked of a change: what its status allows, and further consents while an approved one lacks some. */
export function allowedActions(change: Change, intent: Intent): Action[] {
  const may = (step: Step): boolean => {
    if (step === "approve" && change.status === "approved") return missingConsents(change, intent).length > 0;
    return isFrom(step, change.status) && (step !== "revoke" || change.approvals.length > 0);
  };
  return (Object.keys(TABLE) as Step[]).filter(isAction).filter(may);
}

/** The status that a step leads to; 400 `illegal_transition` where the change may not take it. */
function transition(change: Change, step: Step, intent: Intent): Status {
  const { change_id, status } = change;
  const allowed = allowedActions(change, intent);
  if (isAction(step) ? allowed.includes(step) : isFrom(step, status)) return TABLE[step].to;
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
  const { intent } = context;
  const told = { digest: change.digest, manifest_hash: context.manifest_hash, ...context.actor };
  switch (command.type) {
    case "succeed": {
      const status = transition(change, command.operation, intent);
      const event_type = command.operation === "apply" ? "change_applied" : "change_rolled_back";
      return { event_type, detail: { status, ...command.circumstance, ...told } };
    }
    case "fail": {
      transition(change, command.operation, intent);
      const event_type = command.operation === "apply" ? "change_apply_failed" : "change_rollback_failed";
      return { event_type, detail: { status: change.status, ...command.circumstance, ...told } };
    }
    case "drift":
      transition(change, "rollback", intent);
      return { event_type: "change_drifted", detail: { status: change.status, ...command.circumstance, ...told } };
    case "review":
      return { event_type: "emergency_reviewed", detail: { ...reviewOf(change, command, intent), ...told } };
    default:
      return {
        event_type: "consent_decision",
        detail: { ...consent(change, command, context), ...told, ...signed(command, context) },
      };
  }
}

/** Whether an operation may be begun; before an apply, consent is asked again under today's intent. */
export function requireOperable(change: Change, operation: Operation, intent: Intent): void {
  transition(change, operation, intent);
  if (operation === "rollback") return;
  refuseForbiddenTarget(change.target, intent.policy);
  const missing = missingConsents(change, intent);
  if (missing.length === 0) return;
  const lacks = missing.map(({ rule, count }) => `${count} more for ${rule}`).join(", ");
  throw new AppError("consent_incomplete", `consents are missing under today's intent: ${lacks}`, {
    change_id: change.change_id,
    missing,
  });
}

const signed = (command: Consent, { intent, actor }: Context): object =>
  command.type === "expire" || command.type === "lapse" ? {} : signatureFacts(command, intent.policy, actor);

/** Whether an operation may be rehearsed: an apply also before its consent, so that it can be seen what is consented to. */
export function requireRehearsable(change: Change, operation: Operation, intent: Intent): void {
  if (operation === "rollback" || change.status !== "pending_consent") transition(change, operation, intent);
  if (operation === "apply") refuseForbiddenTarget(change.target, intent.policy);
}

type Consent = Extract<Command, { type: "approve" | "deny" | "withdraw" | "revoke" | "expire" | "lapse" }>;

function consent(change: Change, command: Consent, { intent, actor }: Context): object {
  const isFurther = command.type === "approve" && command.emergency && change.status === "approved";
  const status = isFurther && !isEmergency(change, intent) ? change.status : transition(change, command.type, intent);
  const from = change.status === "approved" ? { from: change.status } : {};
  if (command.type === "expire") {
    const note = `no consent within ${intent.policy.consent_ttl_hours} hours`;
    return { decision: "expired", status, approver: POLICY_EXPIRY, note };
  }
  if (command.type === "lapse") {
    const note = `not applied within ${intent.policy.approval_ttl_hours} hours`;
    return { decision: "lapsed", status, ...from, approver: POLICY_EXPIRY, note };
  }
  if (command.type === "approve" && command.emergency)
    return { ...emergencyApproval(change, command, intent), ...from };
  if (command.type === "approve") return { ...approval(change, command, status, intent), ...from };
  const { name, note } = command;
  if (command.type === "deny") {
    requireDecider(change, name, intent);
    return { decision: "denied", status, approver: name, note };
  }
  if (command.type === "revoke") {
    if (!change.approvals.some(({ approver }) => sameName(approver) === sameName(name)))
      throw new AppError("not_an_approver", `${name} has not approved this change, and has nothing to take back`);
    return { decision: "revoked", status, ...from, approver: name, note };
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
  { name, note, target_owner, signature }: Extract<Consent, { type: "approve" }>,
  approved: Status,
  intent: Intent,
): object {
  // A consent that no longer counts does not keep its name from giving another.
  if (hasConsented(change, name, intent))
    throw new AppError("already_decided", `${name} has approved this change already`, {
      current_status: change.status,
    });
  requireApprover(change, name, intent);
  const after = { ...change, approvals: [...change.approvals, { approver: name, note, at: "", ...keyOf(signature) }] };
  const { given, needed } = quorumOf(after, intent);
  const decided = {
    decision: "approved",
    status: change.status,
    approver: name,
    note,
    progress: `${given} of ${needed}`,
  };
  const missing = missingOrdinary(after, intent);
  const isAsked = (rules: readonly Missing[]): number => rules.reduce((sum, { count }) => sum + count, 0);
  const isSigned = isSignedAsAsked({ approver: name, ...keyOf(signature) }, intent.policy.signing);
  if (isSigned && isAsked(missing) === isAsked(missingOrdinary(change, intent)))
    throw new AppError("not_an_approver", `no rule asks for a consent of ${name} to this change any more`);
  const isApproved = change.status === approved || missing.length === 0;
  return isApproved ? { ...decided, status: approved, target_owner } : decided;
}

/** The key under which a consent stands, as its approval will say it. */
const keyOf = (signature: Presented | undefined): { key?: string } =>
  signature && "key" in signature ? { key: signature.key.id } : {};

const hasConsented = (change: Change, name: string, intent: Intent, inEmergency = false): boolean =>
  standingApprovals(change, intent).some(
    ({ approver, emergency = false }) => emergency === inEmergency && sameName(approver) === sameName(name),
  );

/** A consent for an emergency counts for that alone; at the quorum of those whom the intent names for it the change is approved. */
function emergencyApproval(
  change: Change,
  { name, note, target_owner, signature }: Extract<Consent, { type: "approve" }>,
  intent: Intent,
): object {
  if (note.trim() === "") throw invalidField("note", "is required of an emergency consent");
  requireEmergencyApprover(change, name, intent);
  if (hasConsented(change, name, intent, true))
    throw new AppError("already_decided", `${name} has approved this emergency already`, {
      current_status: change.status,
    });
  const approvals = [
    ...change.approvals,
    { approver: name, note, at: "", emergency: true as const, ...keyOf(signature) },
  ];
  const { given, needed } = emergencyOf({ ...change, approvals }, intent)!;
  const decided = {
    decision: "approved",
    emergency: true,
    status: change.status,
    approver: name,
    note,
    progress: `${given} of ${needed}`,
  };
  if (given < needed) return decided;
  return { ...decided, status: "approved", target_owner, review_hours: intent.policy.break_glass!.review_hours };
}

function reviewOf(
  change: Change,
  { name, note, verdict }: Extract<Command, { type: "review" }>,
  intent: Intent,
): object {
  const { change_id, status } = change;
  if (!isReviewDue(change))
    throw new AppError("illegal_transition", `cannot review ${change_id}: no emergency consent of it waits for that`, {
      change_id,
      current_status: status,
      allowed: allowedActions(change, intent),
    });
  requireReviewer(change, name, intent);
  return { status, verdict, approver: name, note };
}

const STEP_OF_DECISION: ReadonlyMap<unknown, Step> = new Map([
  ["approved", "approve"],
  ["denied", "deny"],
  ["withdrawn", "withdraw"],
  ["expired", "expire"],
  ["revoked", "revoke"],
  ["lapsed", "lapse"],
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
  if (event_type === "emergency_reviewed") return reviewed(state, event);
  const isConsent = event_type === "consent_decision";
  const step = isConsent ? STEP_OF_DECISION.get(detail.decision) : OPERATION_OF_EVENT.get(event_type);
  if (!step || !mayFollow(step, change.status, event)) return undefined;
  const moved = isConsent ? consented(change, event) : operated(event);
  if (!moved) return undefined;
  return {
    change: { ...change, ...moved, revision: change.revision + 1 },
    audit: [...state.audit, id],
    applied: event_type === "change_applied" ? appliedBy(event) : state.applied,
    ...ownerSeen(state, event),
  };
}

function reviewed(state: ChangeState, { id, timestamp: at, detail }: ChangeEvent): ChangeState | undefined {
  const { change } = state;
  const { verdict, approver = null, note = null } = detail;
  if (!isReviewDue(change) || !verdict) return undefined;
  const review = { ...change.review!, verdict, approver, note, at };
  return { ...state, change: { ...change, review, revision: change.revision + 1 }, audit: [...state.audit, id] };
}

/** A decision on an approved change says so: no other is one. */
function mayFollow(step: Step, status: Status, { event_type, detail: { from } }: ChangeEvent): boolean {
  const isFurther = event_type === "consent_decision" && status === "approved";
  if (isFurther !== (from !== undefined)) return false;
  return isFrom(step, status) || (isFurther && step === "approve" && from === status);
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
  return { change, audit: [id], applied: null, ...(minor ? ownerSeen({}, { detail }) : {}) };
}

/** The intent may have asked for more consents than when the change was proposed; fewer never suffice. */
function consented(change: Lifecycle, { timestamp: at, detail }: ChangeEvent): Partial<Lifecycle> | undefined {
  const { decision, approver = null, note = null } = detail;
  const last = { approver, approval_note: note };
  if (decision !== "approved") return { ...last, status: "denied", resolution: decision!, decided_at: at };
  const signature = detail.key === undefined ? {} : { key: detail.key };
  const emergency = detail.emergency ? ({ emergency: true } as const) : {};
  const approvals = [
    ...change.approvals,
    { approver: approver ?? "", note: note ?? "", at, ...emergency, ...signature },
  ];
  const ordinary = approvals.filter((approval) => !approval.emergency).length;
  const { status = ordinary >= change.required_approvers ? "approved" : change.status } = detail;
  const given = { ...last, approvals, ...reviewBy(change, at, detail) };
  if (change.status === "approved") return status === "approved" ? given : undefined;
  if (status !== "approved") return given;
  if (ordinary < change.required_approvers && !given.review) return undefined;
  return { ...given, status: "approved", decided_at: at };
}

/** The review that an emergency's quorum makes due. */
function reviewBy(
  { review }: Lifecycle,
  at: string,
  { emergency, review_hours }: ChangeEvent["detail"],
): Pick<Lifecycle, "review"> {
  if (!emergency || review_hours === undefined || review?.verdict === null) return {};
  const due_at = new Date(Date.parse(at) + review_hours * HOUR_MS).toISOString();
  return { review: { due_at, verdict: null, approver: null, note: null, at: null } };
}

/** Whose change the target held at the last approval, as far as the log says it. */
function ownerSeen(state: Pick<ChangeState, "target_owner">, { detail }: Pick<ChangeEvent, "detail">) {
  const { target_owner = state.target_owner } = detail;
  return target_owner === undefined ? {} : { target_owner };
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
