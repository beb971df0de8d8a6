/** Checks that a target has the value that it had when consent was given. */
import { AppError } from "../../kit/errors.ts";
import type { Policy } from "./intent.ts";

/** The newest applied change of the target of a change; of a plan those of its entries, in their order. */
export type TargetOwner = string | null | readonly (string | null)[];

/** Whose change a target holds: at the last approval, where the log says it, and now. */
export interface TargetOwners {
  before: TargetOwner | undefined;
  now: TargetOwner;
}

/** Returns how the target changed since the consent, in a sentence; undefined where it did not. */
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

/** 409 `target_moved` where the intent says that such a consent does not carry. */
export function requireUnmovedTarget(owners: TargetOwners, policy: Policy, details?: () => object): void {
  const moved = describeMovedTarget(owners);
  if (moved === undefined || policy.on_stale === "report") return;
  const message = `${moved}; revoke this change, and propose it again`;
  throw new AppError("target_moved", message, { target_owner: owners, ...details?.() });
}
