/** What stands between a change and its apply, in words; nothing is hidden that apply will ask. */
import * as z from "zod";
import type { Change } from "./change.ts";
import type { Policy } from "./intent.ts";
import { matchesAny } from "./names.ts";
import { standingApprovals } from "./policy.ts";
import type { GuardrailEvidence } from "./guardrail.ts";

export const gateSchema = z.object({
  gate: z.enum(["consent", "forbidden_target", "target_conflict", "operation", "guardrail", "reversible"]),
  /** `warn` blocks nothing. */
  state: z.enum(["pass", "block", "warn"]),
  message: z.string(),
});
export type Gate = z.infer<typeof gateSchema>;

/** What the gates of a change are judged by. */
export interface Circumstances {
  policy: Policy;
  /** Other live changes of the same tenant and target. */
  conflicts: readonly string[];
  /** An operation on the host is under way. */
  under_operation: boolean;
  guardrail?: GuardrailEvidence | undefined;
}

/** The gates of a change as they stand now. */
export function gatesOf(change: Change, { policy, conflicts, under_operation, guardrail }: Circumstances): Gate[] {
  const gates: Gate[] = [];
  const live = change.status === "pending_consent" || change.status === "approved";
  if (live) {
    gates.push(consentGate(change, policy));
    const forbidden = matchesAny(change.target, policy.forbidden_targets);
    gates.push({
      gate: "forbidden_target",
      state: forbidden ? "block" : "pass",
      message: forbidden
        ? `${change.target} is under the intent's forbidden_targets`
        : "the intent does not forbid this target",
    });
    if (conflicts.length > 0)
      gates.push({
        gate: "target_conflict",
        state: "warn",
        message: `other live changes on this target: ${conflicts.join(", ")}`,
      });
    if (!change.reversible)
      gates.push({ gate: "reversible", state: "warn", message: "the proposer says it cannot be undone" });
  }
  if (under_operation)
    gates.push({ gate: "operation", state: "block", message: "an operation on the host is under way" });
  if (guardrail)
    gates.push({
      gate: "guardrail",
      state: "warn",
      message: `${guardrail.kpi} is worse by ${guardrail.regression} than at the apply; the intent allows ${guardrail.max_regression}`,
    });
  return gates;
}

function consentGate(change: Change, policy: Policy): Gate {
  const needed = change.required_approvers;
  if (needed === 0) return { gate: "consent", state: "pass", message: "a minor change: the intent's own consent" };
  const standing = standingApprovals(change, policy).length;
  return {
    gate: "consent",
    state: standing >= needed ? "pass" : "block",
    message: `${standing} of ${needed} ${needed === 1 ? "consent" : "consents"}`,
  };
}
