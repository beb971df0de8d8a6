/**
 * The effect of an event on a change. It is defined here only, so that stored records, checks of the log and recounts
 * cannot differ. Pure.
 */
import { HOUR_MS } from "../../kit/days.ts";
import { isOpenChange, isReviewDue } from "./current_state.ts";
import { ERASED_FIELDS } from "./erasure.ts";
import { isMandateApproval } from "./mandate_approval.ts";
import { isDecided, listLateItems } from "./late_items.ts";
import type { Operation } from "./command.ts";
import { type ChangeEvent, isRolledBack } from "./event.ts";
import type { ApplyRecord, ChangeState, Lifecycle } from "./record.ts";
import { isSameTarget } from "./target_key.ts";
import { evolveStage, exposeStep, isRollingOut } from "./rollout_state.ts";
import { hasStep, type Step } from "./transitions.ts";

const STEP_BY_DECISION: ReadonlyMap<unknown, Step> = new Map([
  ["approved", "approve"],
  ["denied", "deny"],
  ["withdrawn", "withdraw"],
  ["expired", "expire"],
  ["revoked", "revoke"],
  ["lapsed", "lapse"],
]);

/** Operations by event. Drift and restores are possible only while a rollback is: while the change is applied. */
const OPERATION_BY_EVENT: ReadonlyMap<string, Operation> = new Map([
  ["change_applied", "apply"],
  ["change_apply_failed", "apply"],
  ["change_rolled_back", "rollback"],
  ["change_rollback_failed", "rollback"],
  ["change_drifted", "rollback"],
  ["value_restored", "rollback"],
]);

/** Returns the change after one more event; undefined if the event is impossible in this state. */
export function evolve(state: ChangeState | undefined, event: ChangeEvent): ChangeState | undefined {
  const { id, event_type, change_id, detail } = event;
  if (!state) return event_type === "change_proposed" ? createState(event) : undefined;
  const { change } = state;
  if (change_id !== change.change_id || (detail.digest ?? change.digest) !== change.digest) return undefined;
  if (event_type === "emergency_reviewed") return evolveReview(state, event);
  if (event_type === "content_erased") return evolveErasure(state, event);
  if (event_type === "note_added") return evolveNote(state, event);
  if (event_type === "automation_stopped") return evolveStop(state, event);
  if (event_type.startsWith("stage_")) return evolveStage(state, event);
  if (event_type === "record_rebuilt" || event_type === "release_checked")
    return { ...state, change: { ...change, revision: change.revision + 1 }, audit: [...state.audit, id] };
  const isConsent = event_type === "consent_decision";
  const step = isConsent ? STEP_BY_DECISION.get(detail.decision) : OPERATION_BY_EVENT.get(event_type);
  if (!step || !isPossibleStep(step, change, event)) return undefined;
  const changes = isConsent ? evolveConsent(change, event) : evolveOperation(state, event);
  if (!changes) return undefined;
  // After a rollback no user has the value.
  const { exposure: _, ...unexposed } = change;
  return {
    change: {
      ...(event_type === "change_rolled_back" ? unexposed : change),
      ...changes,
      revision: change.revision + 1,
    },
    audit: [...state.audit, id],
    applied: event_type === "change_applied" ? createApplied(event) : evolveApplied(state.applied, event),
    ...pickTargetOwner(state, event),
    ...(state.rollout && { rollout: state.rollout }),
  };
}

function evolveReview(state: ChangeState, { id, timestamp: at, detail }: ChangeEvent): ChangeState | undefined {
  const { change } = state;
  const { verdict, approver = null, note = null } = detail;
  if (!isReviewDue(change) || !verdict) return undefined;
  const review = { ...change.review!, verdict, approver, note, at };
  return { ...state, change: { ...change, review, revision: change.revision + 1 }, audit: [...state.audit, id] };
}

/** Adds a missing item; each item only once. The status stays. */
function evolveNote(state: ChangeState, { id, timestamp: at, detail }: ChangeEvent): ChangeState | undefined {
  const { change } = state;
  const { item, note, actor = null } = detail;
  if (!item || !note || !isDecided(change) || listLateItems(change).includes(item)) return undefined;
  const late_notes = [...(change.late_notes ?? []), { item, note, actor, at }];
  return { ...state, change: { ...change, late_notes, revision: change.revision + 1 }, audit: [...state.audit, id] };
}

/** Ends the automatic apply of an open change; the status stays. */
function evolveStop(
  state: ChangeState,
  { id, timestamp: at, detail: { reason } }: ChangeEvent,
): ChangeState | undefined {
  const { change } = state;
  if (!reason || change.automation_stopped || !isOpenChange(change.status)) return undefined;
  const automation_stopped = { at, reason };
  return {
    ...state,
    change: { ...change, automation_stopped, revision: change.revision + 1 },
    audit: [...state.audit, id],
  };
}

/** Erases the content of a decided change, once. The entry has the digest of the remaining content. */
function evolveErasure(state: ChangeState, { id, timestamp: at, detail }: ChangeEvent): ChangeState | undefined {
  const { change } = state;
  const { remaining_digest: digest } = detail;
  if (change.erased || digest === undefined || !["denied", "rolled_back", "applied"].includes(change.status))
    return undefined;
  const remainingFields = Object.entries(change).filter(
    ([field]) => !(ERASED_FIELDS as readonly string[]).includes(field),
  );
  const remaining = Object.fromEntries(remainingFields) as unknown as Lifecycle;
  return {
    ...state,
    change: { ...remaining, erased: { at, entry: id, digest }, revision: change.revision + 1 },
    audit: [...state.audit, id],
  };
}

/**
 * Returns true if the state table allows the step of an event. A decision on an approved change, or during a rollout, has a
 * `from`, the status before it; other events must not have one. The value of `from` is compared only for a further consent, a step
 * that is not in the table.
 */
function isPossibleStep(step: Step, change: Lifecycle, { event_type, detail: { from } }: ChangeEvent): boolean {
  const { status } = change;
  const isAfterApproval = event_type === "consent_decision" && (status === "approved" || isRollingOut(change));
  if (isAfterApproval !== (from !== undefined)) return false;
  return hasStep(step, status) || (isAfterApproval && step === "approve" && from === status);
}

function createState({ id, change_id, timestamp, detail }: ChangeEvent): ChangeState | undefined {
  const minor = detail.tier === "minor";
  const status = minor ? "approved" : "pending_consent";
  if (detail.status !== status || detail.digest === undefined) return undefined;
  const change: Lifecycle = {
    change_id,
    proposer_kind: detail.proposer_kind ?? "unknown",
    ...(detail.asked_by === undefined ? {} : { asked_by: detail.asked_by }),
    ...(detail.unstated === undefined ? {} : { unstated: detail.unstated }),
    ...(detail.tier_reason === undefined ? {} : { tier_reason: detail.tier_reason }),
    ...(detail.sets_nothing === undefined ? {} : { sets_nothing: detail.sets_nothing }),
    ...(detail.value_hint === undefined ? {} : { value_hint: detail.value_hint }),
    ...(detail.places === undefined ? {} : { places: detail.places }),
    ...(detail.seen === undefined ? {} : { seen_by_policy: detail.seen }),
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
  const { shares } = detail.stages ?? {};
  return {
    change,
    audit: [id],
    applied: null,
    ...(minor ? pickTargetOwner({}, { detail }) : {}),
    ...(shares && { rollout: { shares } }),
  };
}

/** Adds a decision. Later intents may require more consents than the proposal recorded, but never fewer. */
function evolveConsent(change: Lifecycle, { timestamp: at, detail }: ChangeEvent): Partial<Lifecycle> | undefined {
  const { decision, approver = null, note = null } = detail;
  const lastDecision = { approver, approval_note: note };
  if (decision !== "approved") return { ...lastDecision, status: "denied", resolution: decision!, decided_at: at };
  const evidence = {
    ...(detail.seen === undefined ? {} : { seen: detail.seen }),
    ...(detail.key === undefined ? {} : { key: detail.key }),
    ...(detail.idp === undefined ? {} : { idp: detail.idp }),
  };
  const emergency = detail.emergency ? ({ emergency: true } as const) : {};
  const approvals = [
    ...change.approvals,
    { approver: approver ?? "", note: note ?? "", at, ...emergency, ...evidence },
  ];
  const ordinaryCount = approvals.filter((approval) => !approval.emergency && !isMandateApproval(approval)).length;
  const isQuorumReached = ordinaryCount >= change.required_approvers;
  // An entry without a status approves by the quorum alone.
  const { status = isQuorumReached ? "approved" : change.status } = detail;
  const consented = { ...lastDecision, approvals, ...createReview(change, at, detail) };
  // A further consent, for example during a rollout, does not change the status.
  if (change.status === "approved" || change.status === "applied")
    return status === change.status ? consented : undefined;
  if (status !== "approved") return consented;
  // Without the quorum, only an emergency or a mandate approves.
  if (!isQuorumReached && !consented.review && !detail.mandate) return undefined;
  return { ...consented, status: "approved", decided_at: at };
}

/** Returns the review that an emergency's quorum makes due; empty without that quorum, or if a review is due already. */
function createReview(
  { review }: Lifecycle,
  at: string,
  { emergency, review_hours }: ChangeEvent["detail"],
): Pick<Lifecycle, "review"> {
  if (!emergency || review_hours === undefined || review?.verdict === null) return {};
  const due_at = new Date(Date.parse(at) + review_hours * HOUR_MS).toISOString();
  return { review: { due_at, verdict: null, approver: null, note: null, at: null } };
}

/** Picks the change in force on the target at the last approval, if the log records it. */
function pickTargetOwner(state: Pick<ChangeState, "target_owner">, { detail }: Pick<ChangeEvent, "detail">) {
  const { target_owner = state.target_owner } = detail;
  return target_owner === undefined ? {} : { target_owner };
}

function evolveOperation({ rollout }: ChangeState, { event_type, timestamp }: ChangeEvent): Partial<Lifecycle> {
  if (event_type === "change_applied") {
    const exposure = rollout && exposeStep(rollout, 0, timestamp);
    return { status: "applied", applied_at: timestamp, ...(exposure && { exposure }) };
  }
  if (event_type === "change_rolled_back") return { status: "rolled_back", rolled_back_at: timestamp };
  return {};
}

const createApplied = ({ id, timestamp, detail }: ChangeEvent): ApplyRecord => ({
  entry: id,
  at: timestamp,
  kpis: detail.kpis ?? {},
  ...pickReplaced(detail),
  ...(detail.sets && {
    sets: detail.sets.map((facts) => ({ tenant_id: facts.tenant_id, target: facts.target, ...pickReplaced(facts) })),
  }),
});

const pickReplaced = ({
  target_spelling,
  previous_digest,
}: Pick<ApplyRecord, "target_spelling" | "previous_digest">) => ({
  ...(target_spelling === undefined ? {} : { target_spelling }),
  ...(previous_digest === undefined ? {} : { previous_digest }),
});

/** Marks the targets of a plan that were rolled back although the rollback failed on others. */
function evolveApplied(
  applied: ApplyRecord | null,
  { event_type, timestamp, detail }: ChangeEvent,
): ApplyRecord | null {
  const rolledBack = event_type === "change_rollback_failed" ? detail.sets?.filter(isRolledBack) : undefined;
  if (!applied?.sets || !rolledBack?.length) return applied;
  const sets = applied.sets.map((target) =>
    target.rolled_back_at === undefined && rolledBack.some((key) => isSameTarget(key, target))
      ? { ...target, rolled_back_at: timestamp }
      : target,
  );
  return { ...applied, sets };
}
