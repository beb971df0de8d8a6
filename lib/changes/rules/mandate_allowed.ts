/** Checks a mandate against `policy.mandates`, and limits its bounds to those of the policy. Pure. */
import { AppError } from "../../kit/errors.ts";
import { DAY_MS } from "../../kit/days.ts";
import type { Policy } from "./intent.ts";
import type { MandateBounds } from "./mandate.ts";
import type { MandatesRule } from "./mandates_rule.ts";
import type { MandateRecord } from "./mandate_record.ts";
import { findPartlyOwned } from "./mandate_signers.ts";
import { isCovered } from "./target_pattern.ts";

/** Requires that the intent allows a mandate. Errors: 403 `mandate_not_allowed`. */
export function requireAllowedMandate(bounds: MandateBounds, policy: Policy, now: number): void {
  const { mandates } = policy;
  const reject = (message: string): never => {
    throw new AppError("mandate_not_allowed", message);
  };
  if (!mandates) return reject("the intent allows no mandates: it has no policy.mandates");
  const uncovered = bounds.targets.find((pattern) => !isCovered(pattern, mandates.targets));
  if (uncovered !== undefined)
    reject(`${uncovered} is not within policy.mandates.targets: ${mandates.targets.join(", ")}`);
  for (const bound of ["max_per_day", "max_open"] as const)
    if (bounds[bound] > mandates[bound]) reject(`${bound} is above ${mandates[bound]} of policy.mandates`);
  if (Date.parse(bounds.until) > now + mandates.max_days * DAY_MS)
    reject(`until is more than ${mandates.max_days} days from now, the max_days of policy.mandates`);
  const partlyOwned = findPartlyOwned(bounds, policy);
  if (partlyOwned)
    reject(
      `${partlyOwned.pattern} is owned in part, by the owners of ${partlyOwned.owned}; use patterns that they own wholly or not at all`,
    );
}

/** Effective bounds of a mandate: the smaller of its own and the policy's. */
export interface EffectiveBounds extends MandateBounds {
  from: string;
}

/** Returns the effective bounds under a policy. */
export function effectiveBounds({ bounds, created_at, signed_at }: MandateRecord, rule: MandatesRule): EffectiveBounds {
  const latestEnd = new Date(Date.parse(created_at) + rule.max_days * DAY_MS).toISOString();
  const validSince = signed_at ?? created_at;
  return {
    ...bounds,
    max_per_day: Math.min(bounds.max_per_day, rule.max_per_day),
    max_open: Math.min(bounds.max_open, rule.max_open),
    from: bounds.from !== undefined && bounds.from > validSince ? bounds.from : validSince,
    until: bounds.until < latestEnd ? bounds.until : latestEnd,
  };
}
