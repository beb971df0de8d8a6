/** Checks at each use of a change that it still lies inside its mandate, if its approval depends on the mandate alone. */
import { AppError } from "../../kit/errors.ts";
import { readRecordedBases, type SystemReading } from "../judge_values.ts";
import { isEmergencyApproved } from "../rules/break_glass.ts";
import type { Change } from "../rules/change.ts";
import { findApprovingMandate, isMandateApproval, isApprovedByMandate } from "../rules/mandate_approval.ts";
import { effectiveBounds } from "../rules/mandate_allowed.ts";
import { findBoundViolation } from "../rules/mandate_bounds.ts";
import { listMissingConsents, listMissingOrdinaryConsents } from "../rules/missing_consents.ts";
import { listActionsWithoutApply } from "../rules/state_machine.ts";
import type { ChangeRecord } from "../rules/record.ts";
import type { StepBase } from "../rules/value_limits.ts";
import type { Transaction } from "../transaction.ts";
import { findRecentRollback, findValueViolation, judgeLimits, judgeSchema } from "./approve_change.ts";
import { type MandateSources, readMandate } from "./read_mandate.ts";
import { listSystems } from "./systems.ts";

/** Facts by which the steps of a change are judged before it is applied. */
interface ApplyValues {
  /** Values read from target systems, where the log does not show them; undefined: nothing was read. */
  readings: readonly SystemReading[] | undefined;
  /** Numbers that the proposal recorded for such targets. */
  recorded: readonly StepBase[];
}

type MandateContext = Pick<Transaction, "product" | "at" | "ledger" | "evidence"> & { tx: MandateSources["tx"] };

/**
 * Requires that a change still lies inside its mandate, if its approval depends on the mandate alone. With `applyValues`, steps and
 * recent rollbacks are judged too; an applied change has made its step, so it is judged without them. Returns the numbers of targets
 * whose value no applied change set; the apply records them as `step_base`. Errors: 403 `consent_incomplete`.
 */
export async function requireInsideMandate(
  transaction: MandateContext,
  change: Change,
  applyValues?: ApplyValues,
): Promise<readonly StepBase[] | undefined> {
  const { intent } = transaction.product;
  const { violation, step_base } = await findMandateViolation(transaction, change, applyValues);
  if (!violation) return step_base;
  const { change_id } = change;
  const withoutMandate = deactivateMandateConsent(change);
  const missing = listMissingConsents(withoutMandate, intent);
  throw new AppError(
    "consent_incomplete",
    `${change_id} no longer lies inside mandate ${findApprovingMandate(change)}, so people must approve it: ${violation.message}`,
    { change_id, missing, allowed: listActionsWithoutApply(withoutMandate, intent) },
  );
}

/** Returns the change with the consent of its mandate flagged as inactive, if the change now lies outside the mandate. */
export async function dropInvalidMandate(
  transaction: MandateContext,
  change: Change,
  record: ChangeRecord,
): Promise<Change> {
  if (change.status !== "approved" || findApprovingMandate(change) === undefined) return change;
  const recorded = await readRecordedBases(transaction.ledger, record);
  // No target system is asked here: the numbers that the proposal recorded suffice.
  const { violation } = await findMandateViolation(transaction, change, { readings: undefined, recorded });
  return violation ? deactivateMandateConsent(change) : change;
}

const deactivateMandateConsent = (change: Change): Change => ({
  ...change,
  approvals: change.approvals.map((approval) =>
    isMandateApproval(approval) ? { ...approval, inactive: true as const } : approval,
  ),
});

/** Finds the bound of its mandate that a change violates now, if only the mandate approved it. */
async function findMandateViolation(
  transaction: MandateContext,
  change: Change,
  applyValues: ApplyValues | undefined,
): Promise<{ violation?: { message: string } | undefined; step_base?: readonly StepBase[] | undefined }> {
  const { product, at, evidence } = transaction;
  const { intent } = product;
  const { policy } = intent;
  const needsMandate = !isEmergencyApproved(change, intent) && listMissingOrdinaryConsents(change, intent).length > 0;
  if (!isApprovedByMandate(change, policy) || !needsMandate) return {};
  // The approval names the mandate, so the log is searched even if the mandate's record is missing.
  const mandate = await readMandate(transaction, findApprovingMandate(change)!, { isNamed: true });
  if (!mandate) return { violation: { message: "The mandate is not in the log." } };
  const bounds = effectiveBounds(mandate, policy.mandates!);
  const facts = { at, rule: policy.mandates!, stages: policy.stages, places: change.places };
  const values = applyValues
    ? await judgeLimits(transaction, change, bounds, applyValues)
    : judgeSchema(change, bounds);
  const violation =
    findBoundViolation(toStatedChange(change), mandate, bounds, { ...facts, systems: listSystems(product.adapter) }) ??
    (applyValues && (await findRecentRollback(evidence, change, at))) ??
    findValueViolation(values);
  return { violation, step_base: values.step_base };
}

const toStatedChange = (change: Change) => ({
  ...change,
  affected_users: change.affected_users ?? undefined,
  proposer: change.proposer ?? undefined,
});
