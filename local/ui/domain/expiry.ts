/** The expiry of waiting changes in words. */
import { findDeadline } from "../../../lib/changes/rules/current_state.ts";
import type { Change, Policy } from "../core/api_types.ts";
import { formatDuration } from "../core/format.ts";

const SOON_MS = 12 * 3_600_000;

/** Describes when a waiting change expires; undefined if the intent sets no limit. `soon`: within twelve hours. */
export function describeExpiry(
  change: Change,
  policy: Policy | undefined,
  now: number,
): { text: string; soon: boolean } | undefined {
  const deadline = policy && findDeadline(change, policy);
  return deadline === undefined ? undefined : describeTimeLeft(change.status, deadline, now);
}

/** Describes the time left of a waiting change; both times in milliseconds since the epoch. */
export function describeTimeLeft(
  status: Change["status"],
  deadline: number,
  now: number,
): { text: string; soon: boolean } {
  const ends = status === "approved" ? "lapses" : "expires";
  const left = deadline - now;
  return left <= 0
    ? { text: `${ends} now`, soon: true }
    : { text: `${ends} in ${formatDuration(left)}`, soon: left < SOON_MS };
}
