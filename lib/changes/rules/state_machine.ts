/** The state machine: `decide` returns the event of a command, or rejects the command. Pure. */
import { AppError, invalidField } from "../../kit/errors.ts";
import { type Actor, POLICY_EXPIRY } from "./actor.ts";
import {
  countEmergencyConsents,
  isEmergencyApproved,
  requireEmergencyApprover,
  requireReviewer,
} from "./break_glass.ts";
import { isReviewDue } from "./current_state.ts";
import type { Change, Status } from "./change.ts";
import { contentDigest } from "./content.ts";
import { requireErasable, redactContent } from "./erasure.ts";
import { requireRevoker, describeRevokeRights } from "./revoke_rights.ts";
import type { Command, Context, NewEvent, Operation } from "./command.ts";
import { requireGroups } from "./idp_groups.ts";
import type { Intent } from "./intent.ts";
import { makeLateNote } from "./late_note.ts";
import { mandateApproverName } from "./mandate.ts";
import { normalizeName } from "./names.ts";
import {
  listMissingConsents,
  listMissingOrdinaryConsents,
  countQuorum,
  type MissingConsent,
} from "./missing_consents.ts";
import { requireAllowedTarget, requireApprover, requireDecider, listValidApprovals } from "./policy.ts";
import { propose } from "./propose.ts";
import { requireSignature } from "./require_signature.ts";
import { isSignedAsRequired } from "./signing.ts";
import type { SignatureResult } from "./require_signature.ts";
import { requireRollout } from "./require_rollout.ts";
import { type LifecycleAction, listAllowedActions, requireTransition } from "./transitions.ts";

/** Returns the event of a command. Errors: `AppError` if the state table, the intent or the change forbids it. */
export function decide(change: Change | undefined, command: Command, context: Context): NewEvent {
  if (command.type === "propose") return propose(command, context);
  if (!change) throw new TypeError(`there is no change to ${command.type}`);
  const { intent } = context;
  const common = { digest: change.digest, manifest_hash: context.manifest_hash, ...context.actor };
  switch (command.type) {
    case "succeed": {
      const status = requireTransition(change, command.operation, intent);
      const event_type = command.operation === "apply" ? "change_applied" : "change_rolled_back";
      return { event_type, detail: { status, target: change.target, ...command.circumstance, ...common } };
    }
    case "fail": {
      requireTransition(change, command.operation, intent);
      const event_type = command.operation === "apply" ? "change_apply_failed" : "change_rollback_failed";
      return { event_type, detail: { status: change.status, ...command.circumstance, ...common } };
    }
    case "rebuild":
      return { event_type: "record_rebuilt", detail: { status: change.status, fields: command.fields, ...common } };
    case "drift":
      requireTransition(change, "rollback", intent);
      return { event_type: "change_drifted", detail: { status: change.status, ...command.circumstance, ...common } };
    case "restore":
      requireTransition(change, "rollback", intent);
      return {
        event_type: "value_restored",
        detail: { status: change.status, target: change.target, ...command.circumstance, ...common },
      };
    case "stage": {
      requireRollout(change, command.step, intent);
      const { event, step, circumstance } = command;
      const event_type = `stage_${event}` as const;
      return { event_type, detail: { status: change.status, step, ...circumstance, ...common } };
    }
    case "mandate": {
      const { approval, target_owner, seen } = command;
      const status = requireTransition(change, "approve", intent);
      const approver = mandateApproverName(approval.mandate_id);
      const facts = { decision: "approved", status, approver, note: "", mandate: approval, target_owner };
      return { event_type: "consent_decision", detail: { ...facts, ...(seen && { seen }), ...common } };
    }
    case "check_release":
      return { event_type: "release_checked", detail: { status: change.status, ...command.circumstance, ...common } };
    case "stop_automation": {
      const { code, reason } = command;
      return { event_type: "automation_stopped", detail: { status: change.status, code, reason, ...common } };
    }
    case "review":
      return {
        event_type: "emergency_reviewed",
        detail: { ...decideReview(change, command, context), ...common, ...createSignatureFacts(command, context) },
      };
    case "note":
      return {
        event_type: "note_added",
        detail: { ...makeLateNote(change, command, intent), ...common, ...createSignatureFacts(command, context) },
      };
    case "erase": {
      requireErasable(change, command, intent);
      const content = redactContent(change);
      const remaining_digest = contentDigest(content, context.sha256);
      const detail = {
        status: change.status,
        note: command.note,
        remaining_digest,
        ...common,
        ...createSignatureFacts(command, context),
      };
      return { event_type: "content_erased", detail, content };
    }
    default:
      return {
        event_type: "consent_decision",
        detail: { ...decideConsent(change, command, context), ...common, ...createSignatureFacts(command, context) },
      };
  }
}

/** Requires that an operation may begin. Before an apply, consents are checked again under the current intent. */
export function requireOperable(change: Change, operation: Operation, intent: Intent): void {
  requireTransition(change, operation, intent);
  if (operation === "apply") requireConsented(change, intent);
}

/**
 * Requires that today's intent allows a change and has all its consents. Errors: 403 `forbidden_target`, `consent_incomplete`.
 */
export function requireConsented(change: Change, intent: Intent): void {
  const { change_id } = change;
  requireAllowedTarget(change, intent.policy, () => ({ change_id, allowed: listActionsWithoutApply(change, intent) }));
  const missing = listMissingConsents(change, intent);
  if (missing.length === 0) return;
  const missingTexts = missing.map(({ rule, count }) => `${count} more for ${rule}`).join(", ");
  const alternative = missing.some(({ unreachable }) => unreachable)
    ? `, which nobody is left to give; ${describeRevokeRights(change, intent)}`
    : "";
  const message = `consents are missing under today's intent: ${missingTexts}${alternative}`;
  throw new AppError("consent_incomplete", message, {
    change_id,
    missing,
    allowed: listActionsWithoutApply(change, intent),
  });
}

/** Lists the actions that remain for a change whose apply is rejected. */
export const listActionsWithoutApply = (change: Change, intent: Intent): LifecycleAction[] =>
  listAllowedActions(change, intent).filter((action) => action !== "apply");

const createSignatureFacts = (command: Consent | Review | LateNote | Erasure, { intent, actor }: Context): object =>
  command.type === "expire" || command.type === "lapse" ? {} : requireSignature(command, intent.policy, actor);

/** Requires that a dry run of an operation is possible: of an apply also before consent, so that approvers see its effect. */
export function requireDryRunnable(change: Change, operation: Operation, intent: Intent): void {
  if (operation === "rollback" || change.status !== "pending_consent") requireTransition(change, operation, intent);
  if (operation === "apply") requireAllowedTarget(change, intent.policy);
}

/** The rules and the actor of a decision. */
type DecisionContext = Pick<Context, "intent" | "actor">;

type Erasure = Extract<Command, { type: "erase" }>;
type Review = Extract<Command, { type: "review" }>;
type LateNote = Extract<Command, { type: "note" }>;
type Consent = Extract<Command, { type: "approve" | "deny" | "withdraw" | "revoke" | "expire" | "lapse" }>;

function decideConsent(change: Change, command: Consent, { intent, actor }: Context): object {
  // An approved change accepts emergency consents until these approve it too: only they let it pass windows and a freeze.
  const isEmergencyAfterApproval = command.type === "approve" && command.emergency && change.status === "approved";
  const next =
    isEmergencyAfterApproval && !isEmergencyApproved(change, intent)
      ? change.status
      : requireTransition(change, command.type, intent);
  // A further consent during a rollout does not change the status.
  const status = change.status === "applied" ? change.status : next;
  // After the approval, an entry states the status before the decision, which the decision alone does not show.
  const from = change.status === "approved" || change.status === "applied" ? { from: change.status } : {};
  if (command.type === "expire") {
    const consents = change.approvals.length === 0 ? "no consent" : "not enough consents";
    const note = `${consents} within ${intent.policy.consent_ttl_hours} hours`;
    return { decision: "expired", status, approver: POLICY_EXPIRY, note };
  }
  if (command.type === "lapse") {
    const note = `not applied within ${intent.policy.approval_ttl_hours} hours`;
    return { decision: "lapsed", status, ...from, approver: POLICY_EXPIRY, note };
  }
  const decisionContext = { intent, actor };
  if (command.type === "approve" && command.emergency)
    return { ...decideEmergencyApproval(change, command, decisionContext), ...from };
  if (command.type === "approve") return { ...decideApproval(change, command, status, decisionContext), ...from };
  const { name, note } = command;
  if (command.type === "deny") {
    requireDecider(change, name, intent);
    requireGroups(name, actor, intent);
    return { decision: "denied", status, approver: name, note };
  }
  if (command.type === "revoke") {
    requireRevoker(change, name, intent);
    requireGroups(name, actor, intent);
    return { decision: "revoked", status, ...from, approver: name, note };
  }
  // A change without a proposer may be withdrawn by any person; an agent may withdraw only its own.
  const isOwnProposal =
    change.proposer === null ? actor.authenticated !== "agent" : normalizeName(change.proposer) === normalizeName(name);
  if (!isOwnProposal) {
    const allowed = change.proposer === null ? "a person" : `${change.proposer}, who proposed this change,`;
    throw new AppError("not_the_proposer", `only ${allowed} may withdraw it`);
  }
  return { decision: "withdrawn", status, approver: name, note };
}

/** Decides on one more consent; the change is approved once enough distinct people have consented. */
function decideApproval(
  change: Change,
  { name, note, target_owner, seen, signature }: Extract<Consent, { type: "approve" }>,
  statusIfApproved: Status,
  { intent, actor }: DecisionContext,
): object {
  // A change that is approved already, or is being rolled out, keeps its status with further consents.
  const keepsStatus = change.status === statusIfApproved;
  const missingBefore = countMissing(listMissingOrdinaryConsents(change, intent));
  // Under a new, less strict intent a waiting change may lack no consent: any further consent then approves it.
  const isAnyConsentEnough = !keepsStatus && missingBefore === 0;
  // A person whose earlier consent no longer counts may consent again.
  if (!isAnyConsentEnough && hasConsented(change, name, intent))
    throw new AppError("already_decided", `${name} has approved this change already`, {
      current_status: change.status,
    });
  requireApprover(change, name, intent);
  requireGroups(name, actor, intent);
  // `at` has no effect on the count.
  const consent = { approver: name, note, at: "", ...pickKey(signature), ...pickGroups(actor) };
  const consentedChange = { ...change, approvals: [...change.approvals, consent] };
  const { received, needed } = countQuorum(consentedChange, intent);
  const detail = {
    decision: "approved",
    status: change.status,
    approver: name,
    note,
    ...(seen && { seen }),
    progress: `${received} of ${needed}`,
  };
  const missing = listMissingOrdinaryConsents(consentedChange, intent);
  // A consent without a required signature counts for no rule; `requireSignature` rejects it afterwards.
  const isSigned = isSignedAsRequired({ approver: name, ...pickKey(signature) }, intent.policy.signing);
  if (isSigned && !isAnyConsentEnough && countMissing(missing) === missingBefore)
    throw new AppError("not_an_approver", `no rule asks for a consent of ${name} to this change any more`);
  if (!keepsStatus && missing.length > 0) return detail;
  // During a rollout the change itself owns its target, so no other owner is recorded.
  return { ...detail, status: statusIfApproved, ...(statusIfApproved !== "applied" && { target_owner }) };
}

/** Counts the consents that rules still lack. */
const countMissing = (rules: readonly MissingConsent[]): number => rules.reduce((sum, { count }) => sum + count, 0);

/** Returns the id of the key that signed a consent, as its approval records it. */
const pickKey = (signature: SignatureResult | undefined): { key?: string } =>
  signature && "key" in signature ? { key: signature.key.id } : {};

/** Returns the groups of a consent's token, as its approval records them. */
const pickGroups = ({ idp }: Actor): { idp?: string[] } => (idp ? { idp: [...idp] } : {});

const hasConsented = (change: Change, name: string, intent: Intent, inEmergency = false): boolean =>
  listValidApprovals(change, intent).some(
    ({ approver, emergency = false }) => emergency === inEmergency && normalizeName(approver) === normalizeName(name),
  );

/**
 * Decides on an emergency consent, which counts for no other quorum; the change is approved once enough emergency approvers
 * have consented.
 */
function decideEmergencyApproval(
  change: Change,
  { name, note, target_owner, seen, signature }: Extract<Consent, { type: "approve" }>,
  { intent, actor }: DecisionContext,
): object {
  if (note.trim() === "") throw invalidField("note", "is required of an emergency consent");
  requireEmergencyApprover(change, name, intent);
  requireGroups(name, actor, intent);
  const before = countEmergencyConsents(change, intent)!;
  // If a new intent needs fewer consents, enough may have been given: any further consent then approves the change.
  if (before.received < before.needed && hasConsented(change, name, intent, true))
    throw new AppError("already_decided", `${name} has approved this emergency already`, {
      current_status: change.status,
    });
  const approvals = [
    ...change.approvals,
    { approver: name, note, at: "", emergency: true as const, ...pickKey(signature), ...pickGroups(actor) },
  ];
  const { received, needed } = countEmergencyConsents({ ...change, approvals }, intent)!;
  const detail = {
    decision: "approved",
    emergency: true,
    status: change.status,
    approver: name,
    note,
    ...(seen && { seen }),
    progress: `${received} of ${needed}`,
  };
  if (received < needed || change.status === "applied") return detail;
  return { ...detail, status: "approved", target_owner, review_hours: intent.policy.break_glass!.review_hours };
}

function decideReview(change: Change, { name, note, verdict }: Review, { intent, actor }: DecisionContext): object {
  const { change_id, status } = change;
  if (!isReviewDue(change))
    throw new AppError(
      "illegal_transition",
      `cannot review ${change_id}: it has no emergency consent that waits for a review`,
      {
        change_id,
        current_status: status,
        allowed: listAllowedActions(change, intent),
      },
    );
  requireReviewer(change, name, intent);
  requireGroups(name, actor, intent);
  return { status, verdict, approver: name, note };
}
