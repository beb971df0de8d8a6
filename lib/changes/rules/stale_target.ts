/** Checks that a target still has the owner that it had at the consent. */
import { AppError } from "../../kit/errors.ts";
import type { Policy } from "./intent.ts";

/** The owner of a target: the id of its newest applied change; for a plan, one for each entry, in order. */
export type TargetOwner = string | null | readonly (string | null)[];

/** The owner of a target at the last approval, if the log records it, and now. */
export interface TargetOwners {
  before: TargetOwner | undefined;
  now: TargetOwner;
}

/** Describes how the owner of the target changed since the consent; undefined if it did not. */
export function describeMovedTarget({ before, now }: TargetOwners): string | undefined {
  if (before === undefined) return undefined;
  const [then, current] = [listOwners(before), listOwners(now)];
  const moved = current.findIndex((owner, index) => owner !== then[index]);
  return moved === -1 ? undefined : describeOwnerChange(then[moved] ?? null, current[moved]!);
}

const listOwners = (owner: TargetOwner): readonly (string | null)[] =>
  typeof owner === "object" && owner !== null ? owner : [owner];

function describeOwnerChange(before: string | null, now: string | null): string {
  if (now === null) return `${before}, which the target held at the consent, was rolled back since`;
  return `the target holds ${now} now, and held ${before === null ? "no change" : before} at the consent`;
}

/** Requires that the target has the owner of the consent, if the intent says `on_stale: block`. Errors: 409 `target_moved`. */
export function requireUnmovedTarget(owners: TargetOwners, policy: Policy, details?: () => object): void {
  const moved = describeMovedTarget(owners);
  if (moved === undefined || policy.on_stale === "report") return;
  const message = `${moved}; revoke this change, and propose it again`;
  throw new AppError("target_moved", message, { target_owner: owners, ...details?.() });
}
