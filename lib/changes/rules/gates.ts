/** The gates of a change: every condition that an apply checks, in words. */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import { isEmergencyApproved, listReviewers } from "./break_glass.ts";
import { isLive, isReviewDue } from "./current_state.ts";
import type { Change } from "./change.ts";
import type { OperationState } from "./command.ts";
import { describeClosers } from "./closing.ts";
import type { Intent } from "./intent.ts";
import { findCoveredTarget } from "./list_entries.ts";
import { findApprovingMandate, isApprovedByMandate } from "./mandate_approval.ts";
import { listMissingConsents, QUORUM, countQuorum } from "./missing.ts";
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
  /** Other live changes of the same tenant and target. */
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
  owners?: ChangesInForce | undefined;
  /** Conditions that block every apply. */
  holds: readonly Hold[];
}

/** Lists the gates of a change under today's intent. */
export function listGates(
  change: Change,
  {
    intent,
    overdue,
    conflicts,
    operation,
    unresolved_targets,
    other_operation,
    guardrail,
    not_allowed,
    owners,
    holds,
  }: GateInput,
): Gate[] {
  const { policy } = intent;
  const gates: Gate[] = [];
  const add = (gate: Gate["gate"], state: Gate["state"], message: string) => gates.push({ gate, state, message });
  const { status } = change;
  const { received, needed } = countQuorum(change, intent);
  const missing = listMissingConsents(change, intent);
  const unreachable = (rule: string): string =>
    missing.some((one) => one.rule === rule && one.unreachable)
      ? `; too few are left who may, and ${describeClosers(change, intent)}`
      : "";
  if (isLive(status)) {
    if (isEmergencyApproved(change, intent)) add("consent", "pass", "approved in an emergency");
    else if (isApprovedByMandate(change, policy))
      add("consent", "pass", `approved by mandate ${findApprovingMandate(change)}`);
    else if (needed === 0) add("consent", "pass", "a minor change: the intent's own consent");
    else
      add(
        "consent",
        received >= needed ? "pass" : "block",
        `${received} of ${needed} ${needed === 1 ? "consent" : "consents"}${unreachable(QUORUM)}`,
      );
    for (const { rule, count, of } of missing.filter(({ rule }) => rule !== QUORUM))
      add(
        "owners",
        "block",
        `${count} more of ${of.join(", ") || "nobody who may"} must consent: ${rule}${unreachable(rule)}`,
      );
    if (overdue !== undefined) add("deadline", "block", overdue);
    const forbidden = findCoveredTarget(change, { targets: policy.forbidden_targets });
    if (forbidden !== undefined)
      add(
        "forbidden_target",
        "block",
        `${forbidden} is under the intent's forbidden_targets; ${describeClosers(change, intent)}`,
      );
    else add("forbidden_target", "pass", "the intent does not forbid this target");
    if (not_allowed !== undefined)
      add("value_not_allowed", "block", `${not_allowed}; ${describeClosers(change, intent)}`);
    if (conflicts.length > 0)
      add("target_conflict", "warn", `other live changes on this target: ${conflicts.join(", ")}`);
    for (const { gate, message } of holds) add(gate, isEmergencyApproved(change, intent) ? "warn" : "block", message);
    const moved = owners && describeMovedTarget(owners);
    if (moved !== undefined)
      if (policy.on_stale === "report") add("target_moved", "warn", moved);
      else add("target_moved", "block", `${moved}; ${describeClosers(change, intent)}, and it is proposed again`);
    if (change.automation_stopped)
      add("automation_stopped", "warn", `it no longer applies by itself: ${change.automation_stopped.reason}`);
    if (!change.reversible) add("reversible", "warn", "the proposer says it cannot be undone");
  }
  if (isReviewDue(change)) {
    const reviewers = listReviewers(change, intent);
    const noReviewer =
      reviewers?.length === 0 ? "; nobody may under today's intent, which has to name somebody else" : "";
    add("review", "warn", `an emergency consent is to be reviewed by ${change.review!.due_at}${noReviewer}`);
  }
  const next = change.status === "applied" ? "rollback" : "apply";
  const permitted = isLive(status) || status === "applied" ? listPermittedNames(next, intent) : undefined;
  if (permitted)
    add("permission", "pass", `only ${permitted.join(", ")} may ${next === "apply" ? "apply it" : "roll it back"}`);
  if (operation === "running") add("operation", "block", "an operation on the host is under way");
  else if (operation)
    add(
      "operation",
      "block",
      `the host has not said how the last operation left ${unresolved_targets?.join(", ") ?? "it"}; it is asked again in each cycle`,
    );
  if (other_operation)
    add(
      "operation",
      "block",
      other_operation.state === "running"
        ? `an operation on ${other_operation.change_id}, which is on the same target, is under way`
        : `the host has not said how the last operation left ${other_operation.change_id}, which is on the same target; it is asked again in each cycle`,
    );
  if (guardrail) {
    const { kpi, regression, max_regression } = guardrail;
    const allowed = `the intent allows ${max_regression}`;
    add("guardrail", "warn", `${kpi} is worse by ${regression} than at the apply; ${allowed}`);
  }
  return gates;
}
