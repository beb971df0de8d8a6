/** The rule `policy.apply_when`: by a person, once approved, or at a scheduled time. */
import * as z from "zod";
import { POLICY_APPLY_WHEN } from "./approver_name.ts";
import { list } from "./fields.ts";

/** Values of `policy.apply_when`. */
const MODES = ["manual", "approved", "scheduled"] as const;

/** The field `policy.apply_when`. */
export const applyWhenRuleSchema = () =>
  list(z.enum(MODES, `must be one of ${MODES.join(", ")}`))
    .default(["manual"])
    .describe(
      "When proposals may be applied: manual, by themselves once approved, or scheduled for a time; manual is always possible.",
    );

/** Explains why `policy.permissions.apply` prevents automatic applies; undefined if it does not, or the policy allows none. */
export function findAutomationProblem({
  apply_when,
  permissions,
}: {
  apply_when: readonly string[];
  permissions: { apply?: readonly string[] | undefined };
}): string | undefined {
  // Without a list, everybody may apply, the service too.
  if (permissions.apply?.includes(POLICY_APPLY_WHEN) ?? true) return undefined;
  if (apply_when.every((mode) => mode === "manual")) return undefined;
  return `must list ${POLICY_APPLY_WHEN}, since policy.apply_when lets changes apply by themselves`;
}
