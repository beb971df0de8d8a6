/** Whether a target holds what it held when consent was given. */
import { AppError } from "../../kit/errors.ts";
import type { Policy } from "./intent.ts";

/** Whose change a target holds: at the last approval, where the log says it, and now. */
export interface TargetOwners {
  before: string | null | undefined;
  now: string | null;
}

/** What became of the target since the consent, in a sentence; undefined where nothing did. */
export function targetMoved({ before, now }: TargetOwners): string | undefined {
  if (before === undefined || before === now) return undefined;
  if (now === null) return `${before}, which the target held at the consent, was rolled back since`;
  return `the target holds ${now} now, and held ${before === null ? "no change" : before} at the consent`;
}

/** 409 `target_moved` where the intent says that such a consent does not carry. */
export function refuseMovedTarget(owners: TargetOwners, policy: Policy, details?: () => object): void {
  const moved = targetMoved(owners);
  if (moved === undefined || policy.on_stale === "report") return;
  const message = `${moved}; revoke this change, and propose it again`;
  throw new AppError("target_moved", message, { target_owner: owners, ...details?.() });
}
