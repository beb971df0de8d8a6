/** Finds what blocks an advance that the numbers allow: an advance is judged as an apply is. */
import { AppError } from "../../kit/errors.ts";
import { findLastFreeze } from "../freeze.ts";
import { requireInsideMandate } from "../mandates/check_apply.ts";
import { describeMove, findMove } from "../locations.ts";
import { listPromotionHolds } from "../promotion.ts";
import { filterProvenConsents } from "../proven_consents.ts";
import { isEmergencyApproved } from "../rules/break_glass.ts";
import { listHolds, requireNoHold } from "../rules/hold.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { findStagesProblem } from "../rules/stages_rule.ts";
import { requireConsented } from "../rules/state_machine.ts";
import { requireSchemas } from "../rules/value_limits.ts";
import type { Transaction } from "../transaction.ts";
import { validateValue } from "../validate_value.ts";
import { findUnprovenAction } from "./unproven_action.ts";

/**
 * Returns the error of an advance under today's intent and configuration: 403 `forbidden_target`, `consent_incomplete`,
 * `proof_invalid`, 400 `value_not_allowed`, 409 `target_moved`, `promotion_not_ready`, `frozen`, `outside_window`; undefined if
 * nothing blocks it.
 */
export async function findHold(transaction: Transaction, record: ChangeRecord): Promise<AppError | undefined> {
  const { product, ledger, now } = transaction;
  const { intent } = product;
  const { policy } = intent;
  const { change } = record;
  const { change_id } = change;
  const proven = await filterProvenConsents(transaction, record);
  const rejection = await catchError(async () => {
    requireConsented(proven, intent);
    await requireInsideMandate(transaction, proven);
  });
  const consentProblem = rejection ?? (await findUnprovenAction(transaction, record));
  if (consentProblem) return consentProblem;
  const notAllowed = await catchError(() => requireSchemas(change, policy, validateValue));
  if (notAllowed) return notAllowed;
  const problem = findStagesProblem(change, policy.stages);
  if (problem !== undefined)
    return new AppError("value_not_allowed", `the stages of ${change_id}: ${problem}`, { change_id });
  // The spelling of targets matters only to an adapter that locates them.
  const moved = findMove(product.adapter, change, product.adapter?.locate && (await ledger.respell(change)));
  if (moved) return new AppError("target_moved", describeMove(moved), { change_id, places: moved });
  // Break-glass skips promotion, freeze and windows.
  if (isEmergencyApproved(proven, intent)) return undefined;
  const holds = [
    ...(await listPromotionHolds(transaction, change)),
    ...listHolds(policy, await findLastFreeze(transaction), now, change),
  ];
  return catchError(() => requireNoHold(holds));
}

/** Returns the `AppError` that a judgement throws; other errors are faults and are thrown. */
async function catchError(judge: () => void | Promise<void>): Promise<AppError | undefined> {
  try {
    await judge();
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}
