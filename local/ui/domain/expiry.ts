import { findDeadline } from "../../../lib/changes/rules/in_force.ts";
import type { Change, Policy } from "../core/api_types.ts";
import { span } from "../core/format.ts";

const SOON_MS = 12 * 3_600_000;

/** When a waiting change runs out of time, where the intent sets a limit; `soon` within twelve hours. */
export function describeExpiry(
  change: Change,
  policy: Policy | undefined,
  now: number,
): { text: string; soon: boolean } | undefined {
  const over = policy && findDeadline(change, policy);
  return over === undefined ? undefined : timeLeft(change.status, over, now);
}

/** How long a change that waits still has; both moments in milliseconds since the epoch. */
export function timeLeft(status: Change["status"], over: number, now: number): { text: string; soon: boolean } {
  const ends = status === "approved" ? "lapses" : "expires";
  const left = over - now;
  return left <= 0 ? { text: `${ends} now`, soon: true } : { text: `${ends} in ${span(left)}`, soon: left < SOON_MS };
}
