/** Rejects operations on the target of a running rollout, and automatic rollbacks that its rule did not order. */
import { AppError } from "../../kit/errors.ts";
import type { Caller } from "../caller.ts";
import { readRecord } from "../records.ts";
import { POLICY_STAGES } from "../rules/actor.ts";
import type { Change } from "../rules/change.ts";
import type { Operation } from "../rules/command.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { isRollingOut } from "../rules/rollout_state.ts";
import type { Transaction } from "../transaction.ts";

/**
 * Rejects an operation on a target on which another change is being rolled out. Errors: 409 `rollout_in_progress`. A rollback
 * of an earlier change would change the value of the users that the rollout compares with.
 */
export async function rejectDuringRollout(
  { ledger, tx }: Transaction,
  change: Change,
  { operation, operands }: { operation: Operation; operands: readonly Change[] },
): Promise<void> {
  const { change_id } = change;
  for (const operand of operands) {
    // Without a value the change has set none, so its rollback does not change the value of those users.
    if (operation === "rollback" && operand.value === undefined) continue;
    const owner = await ledger.owner(operand);
    if (owner === null || owner === change_id) continue;
    const owningChange = (await readRecord(tx, owner))?.change;
    if (!owningChange || !isRollingOut(owningChange)) continue;
    const remedy =
      operation === "apply" ? "wait until everybody has its value, or roll it back" : `roll ${owner} back before it`;
    const message = `${owner} is being rolled out on the same target; ${remedy}`;
    throw new AppError("rollout_in_progress", message, { change_id, conflicts: [owner] });
  }
}

/** Requires that the rule of a rollout ordered its rollback, if the service itself rolls it back for this reason. */
export function requireOrdered({ change, rollout }: ChangeRecord, caller: Caller, actor: string | undefined): void {
  if (caller.identity || actor !== POLICY_STAGES || rollout?.stopped !== undefined) return;
  throw new AppError(
    "evidence_mismatch",
    `the audit log does not say that the rule of the rollout of ${change.change_id} ordered its rollback`,
    { change_id: change.change_id, fields: ["rollout"] },
  );
}
