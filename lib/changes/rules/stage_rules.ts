/** Checks a person's action on a rollout: the state of the rollout, and the person. */
import { AppError } from "../../kit/errors.ts";
import type { Actor } from "./actor.ts";
import type { Change } from "./change.ts";
import { hasGroups, requireGroups } from "./idp_groups.ts";
import type { Intent } from "./intent.ts";
import { requirePermission } from "./permissions.ts";
import { isForbiddenSelfApproval, isDecider, requireApprover } from "./policy.ts";
import type { ChangeRecord } from "./record.ts";
import { createStageRejection } from "./require_rollout.ts";
import type { StageAction } from "./stage_action.ts";

/** Requires that the state of a rollout allows an action. Errors: 400 `illegal_transition`. */
export function requireStageOpen(
  action: StageAction,
  { change, rollout }: Pick<ChangeRecord, "change" | "rollout">,
  intent: Intent,
): void {
  const reject = (reason: string): never => {
    throw createStageRejection(change, reason, { product: { intent } });
  };
  const step = change.exposure!.step;
  const { stopped, by_hand, mismatch } = rollout!;
  switch (action) {
    case "hold":
      if (stopped !== undefined) reject("its rule ordered its rollback, which no hold stops");
      if (by_hand !== undefined) reject("it is held by a person already");
      return;
    case "resume":
      if (stopped !== undefined) reject("its rule ordered its rollback");
      if (by_hand === undefined && !mismatch) reject("nobody holds it, and it has no mismatch");
      return;
    case "advance":
      if (change.stages!.steps[step]!.advance !== "manual") reject(`its step ${step} is not manual`);
  }
}

/**
 * Requires a person who may take an action on a rollout. Errors: 403 `not_permitted`, `not_an_approver`,
 * `self_approval_forbidden`.
 */
export function requireStagePerson(
  action: StageAction,
  change: Change,
  { claimed, name, intent }: { claimed: Actor; name: string; intent: Intent },
): void {
  if (action !== "hold") {
    requireApprover(change, name, intent);
    return requireGroups(name, claimed, intent);
  }
  const canDecideHere = isDecider(change, name, intent) && hasGroups(name, claimed.idp, intent);
  if (canDecideHere && !isForbiddenSelfApproval(change, name, intent.policy)) return;
  // A hold is safe: a person who may freeze the service or roll back may also hold a rollout.
  try {
    requirePermission("freeze", claimed, intent);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    requirePermission("rollback", claimed, intent);
  }
}
