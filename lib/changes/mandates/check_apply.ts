/** Judges again, at each use of a change that a mandate alone approved, whether it still lies inside. */
import { AppError } from "../../kit/errors.ts";
import type { SystemReading } from "../judge_values.ts";
import { isEmergency } from "../rules/break_glass.ts";
import type { Change } from "../rules/change.ts";
import { approvingMandate, isByMandate, isMandated } from "../rules/mandate_approval.ts";
import { effectiveBounds } from "../rules/mandate_allowed.ts";
import { findBreach } from "../rules/mandate_inside.ts";
import { missingConsents, missingOrdinary } from "../rules/missing.ts";
import { allowedInstead } from "../rules/state_machine.ts";
import type { StepBase } from "../rules/value_limits.ts";
import type { Transaction } from "../transaction.ts";
import { findValueBreach, judgeLimits } from "./approve.ts";
import { readMandate } from "./read_mandate.ts";
import { listSystems } from "./systems.ts";

/** Values that are judged at an apply. */
interface InsideValues {
  readings: readonly SystemReading[] | undefined;
  recorded: readonly StepBase[];
}

/**
 * Requires that a change whose only consent is a mandate's lies inside it at the moment of the transaction; its values are judged
 * where they are given. Returns the numbers that its target holds which no change of ours has set. Errors: 403 `consent_incomplete`.
 */
export async function requireInside(
  transaction: Pick<Transaction, "product" | "at" | "ledger" | "tx" | "evidence">,
  change: Change,
  given?: InsideValues,
): Promise<readonly StepBase[] | undefined> {
  const { product, at } = transaction;
  const { intent } = product;
  const { policy } = intent;
  if (!isMandated(change, policy) || isEmergency(change, intent) || missingOrdinary(change, intent).length === 0)
    return undefined;
  const mandate = await readMandate(transaction, approvingMandate(change)!);
  const bounds = mandate && effectiveBounds(mandate, policy.mandates!);
  const facts = { at, rule: policy.mandates!, stages: policy.stages, places: change.places };
  const values = bounds && given ? await judgeLimits(transaction, change, bounds, given) : {};
  const breach = !mandate
    ? { message: "It is not in the log." }
    : (findBreach(asStated(change), mandate, bounds!, { ...facts, systems: listSystems(product.adapter) }) ??
      findValueBreach(values));
  if (!breach) return values.step_base;
  const { change_id } = change;
  const without = {
    ...change,
    approvals: change.approvals.map((one) => (isByMandate(one) ? { ...one, inactive: true as const } : one)),
  };
  const missing = missingConsents(without, intent);
  throw new AppError(
    "consent_incomplete",
    `${change_id} no longer lies inside mandate ${approvingMandate(change)}, so people must approve it: ${breach.message}`,
    { change_id, missing, allowed: allowedInstead(without, intent) },
  );
}

const asStated = (change: Change) => ({
  ...change,
  affected_users: change.affected_users ?? undefined,
  proposer: change.proposer ?? undefined,
});
