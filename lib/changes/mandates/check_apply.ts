/** Judges again, at each use of a change that a mandate alone approved, whether it still lies inside. */
import { AppError } from "../../kit/errors.ts";
import { readRecordedBases, type SystemReading } from "../judge_values.ts";
import { isEmergencyApproved } from "../rules/break_glass.ts";
import type { Change } from "../rules/change.ts";
import { findApprovingMandate, isMandateApproval, isApprovedByMandate } from "../rules/mandate_approval.ts";
import { effectiveBounds } from "../rules/mandate_allowed.ts";
import { findBoundViolation } from "../rules/mandate_bounds.ts";
import { listMissingConsents, listMissingOrdinaryConsents } from "../rules/missing.ts";
import { allowedInstead } from "../rules/state_machine.ts";
import type { ChangeRecord } from "../rules/record.ts";
import type { StepBase } from "../rules/value_limits.ts";
import type { Transaction } from "../transaction.ts";
import { findRecentRollback, findValueBreach, judgeLimits, judgeSchema } from "./approve_change.ts";
import { type MandateSources, readMandate } from "./read_mandate.ts";
import { listSystems } from "./systems.ts";

/** Values that are judged at an apply. */
interface InsideValues {
  readings: readonly SystemReading[] | undefined;
  recorded: readonly StepBase[];
}

type Judging = Pick<Transaction, "product" | "at" | "ledger" | "evidence"> & { tx: MandateSources["tx"] };

/**
 * Requires that a change whose only consent is a mandate's lies inside it at the moment of the transaction; its steps are judged
 * where values are given. Returns the numbers that its target holds which no change of ours has set. Errors: 403 `consent_incomplete`.
 */
export async function requireInside(
  transaction: Judging,
  change: Change,
  given?: InsideValues,
): Promise<readonly StepBase[] | undefined> {
  const { intent } = transaction.product;
  const { breach, step_base } = await findMandateBreach(transaction, change, given);
  if (!breach) return step_base;
  const { change_id } = change;
  const without = withoutMandate(change);
  const missing = listMissingConsents(without, intent);
  throw new AppError(
    "consent_incomplete",
    `${change_id} no longer lies inside mandate ${findApprovingMandate(change)}, so people must approve it: ${breach.message}`,
    { change_id, missing, allowed: allowedInstead(without, intent) },
  );
}

/** Returns the change as people decide on it: without the consent of a mandate outside of which it lies now. */
export async function asInside(transaction: Judging, change: Change, record: ChangeRecord): Promise<Change> {
  if (change.status !== "approved" || findApprovingMandate(change) === undefined) return change;
  const recorded = await readRecordedBases(transaction.ledger, record);
  const { breach } = await findMandateBreach(transaction, change, { readings: undefined, recorded });
  return breach ? withoutMandate(change) : change;
}

const withoutMandate = (change: Change): Change => ({
  ...change,
  approvals: change.approvals.map((one) => (isMandateApproval(one) ? { ...one, inactive: true as const } : one)),
});

/** Returns why a change that a mandate alone approved lies outside it now. */
async function findMandateBreach(
  transaction: Judging,
  change: Change,
  given: InsideValues | undefined,
): Promise<{ breach?: { message: string } | undefined; step_base?: readonly StepBase[] | undefined }> {
  const { product, at, evidence } = transaction;
  const { intent } = product;
  const { policy } = intent;
  if (
    !isApprovedByMandate(change, policy) ||
    isEmergencyApproved(change, intent) ||
    listMissingOrdinaryConsents(change, intent).length === 0
  )
    return {};
  const mandate = await readMandate(transaction, findApprovingMandate(change)!, Infinity, true);
  if (!mandate) return { breach: { message: "It is not in the log." } };
  const bounds = effectiveBounds(mandate, policy.mandates!);
  const facts = { at, rule: policy.mandates!, stages: policy.stages, places: change.places };
  const values = given ? await judgeLimits(transaction, change, bounds, given) : judgeSchema(change, bounds);
  const breach =
    findBoundViolation(asStated(change), mandate, bounds, { ...facts, systems: listSystems(product.adapter) }) ??
    (given && (await findRecentRollback(evidence, change, at))) ??
    findValueBreach(values);
  return { breach, step_base: values.step_base };
}

const asStated = (change: Change) => ({
  ...change,
  affected_users: change.affected_users ?? undefined,
  proposer: change.proposer ?? undefined,
});
