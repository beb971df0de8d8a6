/** The gates of a change: every condition that an apply checks, in words. */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import { isEmergencyApproved, listReviewers } from "./break_glass.ts";
import { isOpenChange, isReviewDue } from "./current_state.ts";
import type { Change } from "./change.ts";
import type { OperationState } from "./command.ts";
import { describeRevokeRights } from "./revoke_rights.ts";
import type { Intent } from "./intent.ts";
import { findCoveredTarget } from "./list_entries.ts";
import { findApprovingMandate, isApprovedByMandate } from "./mandate_approval.ts";
import { listMissingConsents, QUORUM, countQuorum } from "./missing_consents.ts";
import type { Hold } from "./hold.ts";
import type { GuardrailEvidence } from "./guardrail.ts";
import { listPermittedNames } from "./permissions.ts";
import { type ChangesInForce, describeMovedTarget } from "./stale_target.ts";

export const gateSchema = once(() =>
  z
    .object({
      gate: z
        .enum([
          "consent",
          "permission",
          "deadline",
          "owners",
          "forbidden_target",
          "value_not_allowed",
          "target_conflict",
          "target_moved",
          "review",
          "freeze",
          "window",
          "promotion",
          "operation",
          "guardrail",
          "reversible",
          "automation_stopped",
        ])
        .describe("Requirement on the change."),
      state: z.enum(["pass", "block", "warn"]).describe("Whether it passes, blocks the apply, or only warns."),
      message: z.string().meta({ description: "Why, in a sentence.", examples: ["1 of 2 consents"] }),
    })
    .describe("A condition between a change and its apply, with its current state."),
);
export type Gate = z.infer<ReturnType<typeof gateSchema>>;

/** Input of the gates of a change. */
export interface GateInput {
  intent: Intent;
  /** Why it is too late to approve or apply the change. */
  overdue?: string | undefined;
  /** Other open changes of the same tenant and target. */
  conflicts: readonly string[];
  /** An operation on the change that is under way or unresolved. */
  operation?: OperationState | undefined;
  /** The targets of a plan that the unresolved operation is about. */
  unresolved_targets?: readonly string[] | undefined;
  /** An operation of another change on the same target. */
  other_operation?: { change_id: string; state: OperationState } | undefined;
  guardrail?: GuardrailEvidence | undefined;
  /** Why the intent does not allow the value, in words. */
  not_allowed?: string | undefined;
  /** Only for an approved change. */
  changesInForce?: ChangesInForce | undefined;
  /** The freeze, windows and promotion rules that block the apply now. */
  holds: readonly Hold[];
}

/** Lists the gates of a change under today's intent. */
export function listGates(change: Change, input: GateInput): Gate[] {
  const { intent, guardrail } = input;
  const gates = isOpenChange(change.status)
    ? [...listConsentGates(change, intent), ...listValueGates(change, input), ...listApplyGates(change, input)]
    : [];
  if (isReviewDue(change)) {
    const reviewers = listReviewers(change, intent);
    const noReviewer =
      reviewers?.length === 0 ? "; nobody may under today's intent, which has to name somebody else" : "";
    gates.push(warn("review", `an emergency consent is to be reviewed by ${change.review!.due_at}${noReviewer}`));
  }
  gates.push(...listPermissionGates(change, intent), ...listOperationGates(input));
  if (guardrail) {
    const { kpi, regression, max_regression } = guardrail;
    const comparison = `${kpi} is worse by ${regression} than at the apply`;
    gates.push(warn("guardrail", `${comparison}; the intent allows ${max_regression}`));
  }
  return gates;
}

const pass = (gate: Gate["gate"], message: string): Gate => ({ gate, state: "pass", message });
const block = (gate: Gate["gate"], message: string): Gate => ({ gate, state: "block", message });
const warn = (gate: Gate["gate"], message: string): Gate => ({ gate, state: "warn", message });

/** Lists the gates of the quorum and of the owners. */
function listConsentGates(change: Change, intent: Intent): Gate[] {
  const missing = listMissingConsents(change, intent);
  const describeUnreachable = (rule: string): string =>
    missing.some((consent) => consent.rule === rule && consent.unreachable)
      ? `; too few are left who may, and ${describeRevokeRights(change, intent)}`
      : "";
  const ownerGates = missing
    .filter(({ rule }) => rule !== QUORUM)
    .map(({ rule, count, of }) => {
      const demand = `${count} more of ${of.join(", ") || "nobody who may"} must consent: ${rule}`;
      return block("owners", demand + describeUnreachable(rule));
    });
  return [createQuorumGate(change, intent, describeUnreachable(QUORUM)), ...ownerGates];
}

function createQuorumGate(change: Change, intent: Intent, unreachable: string): Gate {
  if (isEmergencyApproved(change, intent)) return pass("consent", "approved in an emergency");
  if (isApprovedByMandate(change, intent.policy))
    return pass("consent", `approved by mandate ${findApprovingMandate(change)}`);
  const { received, needed } = countQuorum(change, intent);
  if (needed === 0) return pass("consent", "a minor change: the intent's own consent");
  const message = `${received} of ${needed} ${needed === 1 ? "consent" : "consents"}${unreachable}`;
  return received >= needed ? pass("consent", message) : block("consent", message);
}

/** Lists the gates of the time limit, the target and the value. */
function listValueGates(change: Change, { intent, overdue, not_allowed, conflicts }: GateInput): Gate[] {
  const gates = overdue === undefined ? [] : [block("deadline", overdue)];
  const forbidden = findCoveredTarget(change, { targets: intent.policy.forbidden_targets });
  const closers = describeRevokeRights(change, intent);
  if (forbidden === undefined) gates.push(pass("forbidden_target", "the intent does not forbid this target"));
  else gates.push(block("forbidden_target", `${forbidden} is under the intent's forbidden_targets; ${closers}`));
  if (not_allowed !== undefined) gates.push(block("value_not_allowed", `${not_allowed}; ${closers}`));
  if (conflicts.length > 0)
    gates.push(warn("target_conflict", `other live changes on this target: ${conflicts.join(", ")}`));
  return gates;
}

/** Lists the gates of freezes, windows, a moved target, a stopped automatic apply and an irreversible change. */
function listApplyGates(change: Change, { intent, holds, changesInForce }: GateInput): Gate[] {
  const createHold = isEmergencyApproved(change, intent) ? warn : block;
  const gates = holds.map(({ gate, message }) => createHold(gate, message));
  const moved = changesInForce && describeMovedTarget(changesInForce);
  if (moved !== undefined)
    gates.push(
      intent.policy.on_stale === "report"
        ? warn("target_moved", moved)
        : block("target_moved", `${moved}; ${describeRevokeRights(change, intent)}, and it is proposed again`),
    );
  if (change.automation_stopped)
    gates.push(warn("automation_stopped", `it no longer applies by itself: ${change.automation_stopped.reason}`));
  if (!change.reversible) gates.push(warn("reversible", "the proposer says it cannot be undone"));
  return gates;
}

function listPermissionGates({ status }: Change, intent: Intent): Gate[] {
  if (!isOpenChange(status) && status !== "applied") return [];
  const operation = status === "applied" ? "rollback" : "apply";
  const permitted = listPermittedNames(operation, intent);
  if (!permitted) return [];
  const action = operation === "apply" ? "apply it" : "roll it back";
  return [pass("permission", `only ${permitted.join(", ")} may ${action}`)];
}

function listOperationGates({ operation, unresolved_targets, other_operation }: GateInput): Gate[] {
  const gates: Gate[] = [];
  const describeUnresolved = (subject: string): string =>
    `the host has not said how the last operation left ${subject}; it is asked again in each cycle`;
  if (operation === "running") gates.push(block("operation", "an operation on the host is under way"));
  else if (operation) gates.push(block("operation", describeUnresolved(unresolved_targets?.join(", ") ?? "it")));
  if (!other_operation) return gates;
  const otherChange = `${other_operation.change_id}, which is on the same target`;
  const isRunning = other_operation.state === "running";
  const message = isRunning ? `an operation on ${otherChange}, is under way` : describeUnresolved(otherChange);
  return [...gates, block("operation", message)];
}
