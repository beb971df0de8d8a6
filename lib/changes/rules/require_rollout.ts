/** Checks that an action on a rollout is possible. */
import { AppError } from "../../kit/errors.ts";
import type { Change } from "./change.ts";
import type { Intent } from "./intent.ts";
import { isRollingOut } from "./rollout_state.ts";
import { listAllowedActions } from "./transitions.ts";

/** Requires that a change is being rolled out and is at this step. Errors: 400 `illegal_transition`. */
export function requireRollout(change: Change, step: number, intent: Intent): void {
  const { change_id, status, exposure } = change;
  if (isRollingOut(change) && exposure!.step === step) return;
  const message =
    !isRollingOut(change) || !exposure
      ? `${change_id} is ${status}, and not being rolled out in steps`
      : `the rollout of ${change_id} stands at step ${exposure.step}, and not at ${step}; read it again before deciding`;
  throw createRejection(change, message, intent);
}

/** Creates the error for an action that a rollout does not allow now: 400 `illegal_transition`. */
export const createStageRejection = (
  change: Change,
  reason: string,
  { product }: { product: { intent: Intent } },
): AppError =>
  createRejection(change, `the rollout of ${change.change_id} cannot do that now: ${reason}`, product.intent);

const createRejection = (change: Change, message: string, intent: Intent): AppError =>
  new AppError("illegal_transition", message, {
    change_id: change.change_id,
    current_status: change.status,
    ...(change.exposure && { exposure: change.exposure }),
    allowed: listAllowedActions(change, intent),
  });
