/** Ends what waited too long. */
import { certainNow } from "../changes/certain_time.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { expireDue } from "../changes/expiry.ts";
import { HOUR_MS } from "../kit/days.ts";
import { approvedBefore, pendingBefore } from "./overdue.ts";

/** Changes that are denied in one call, at most. */
const MAX_EXPIRED = 2000;

/** Denies changes whose time is certainly over, pending or approved, the oldest first, and returns how many. */
export async function expireOverdue(deps: ChangesDeps): Promise<number> {
  const { consent_ttl_hours: pending, approval_ttl_hours: approved } = deps.product!.intent.policy;
  const now = await certainNow(deps);
  const before = (hours: number) => now - hours * HOUR_MS;
  if (now === -Infinity) return 0;
  const [expired, lapsed] = await Promise.all([
    pending === undefined ? [] : pendingBefore(deps, before(pending), MAX_EXPIRED),
    approved === undefined ? [] : approvedBefore(deps, before(approved), MAX_EXPIRED),
  ]);
  const ids = [...expired, ...lapsed].map(({ id }) => id);
  return expireDue(deps, ids);
}
