import type { Change, Policy } from "../core/api_types.ts";
import { span } from "../core/format.ts";

/** When a pending change runs out of time, where the intent sets a limit; `soon` within twelve hours. */
export function expiryOf(
  { status, created_at }: Change,
  policy: Policy | undefined,
  now: number,
): { text: string; soon: boolean } | undefined {
  if (status !== "pending_consent" || policy?.consent_ttl_hours === undefined) return undefined;
  const left = Date.parse(created_at) + policy.consent_ttl_hours * 3_600_000 - now;
  return left <= 0
    ? { text: "expires now", soon: true }
    : { text: `expires in ${span(left)}`, soon: left < 12 * 3_600_000 };
}
