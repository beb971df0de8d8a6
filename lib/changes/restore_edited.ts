/**
 * Automatic restores under `policy.on_drift: restore`, only of edits that this process observed. A restore is of one operand: a
 * change, or an entry of a plan, whose id is `<change_id>.<number>`.
 */
import { AppError } from "../kit/errors.ts";
import { restoreValue } from "./commands/restore.ts";
import type { ChangesDeps } from "./deps.ts";
import { findDriftMemory, forgetOperands } from "./drift_memory.ts";
import { readRecord } from "./records.ts";
import { toChangeId } from "./rules/operands.ts";
import { listAppliedOperands } from "./rules/record.ts";
import { verifyOperand } from "./verify_location.ts";

/** Time after which a cycle starts no further restore. */
const MAX_RUN_MS = 30_000;

/** Errors after which a change needs no restore: its target holds its value again, or belongs to another change. */
const FINAL_ERRORS: ReadonlySet<string> = new Set(["illegal_transition", "change_not_found"]);

/** Restores the values whose edit an earlier cycle has reported, and returns their number. */
export async function restoreEdited(deps: ChangesDeps): Promise<number> {
  const { clock, product, log } = deps;
  const memory = findDriftMemory(deps);
  if (!memory || product?.intent.policy.on_drift !== "restore") return 0;
  const end = clock.now() + MAX_RUN_MS;
  let restored = 0;
  for (const operand_id of [...memory.edited]) {
    if (clock.now() >= end) break;
    if (!(await recordOrAllow(deps, operand_id))) continue;
    const change_id = toChangeId(operand_id);
    try {
      await restoreValue({ deps }, { change_id, operand_id });
      restored++;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      // A freeze blocks all restores.
      if (error.code === "frozen") break;
      if (FINAL_ERRORS.has(error.code)) memory.edited.delete(operand_id);
      else log.warn("a value could not be restored", { change_id, code: error.code, error: error.message });
    }
  }
  return restored;
}

/** Returns true if an edit is recorded and not contested. An edit that is not recorded yet is recorded now, and restored later. */
async function recordOrAllow(deps: ChangesDeps, operandId: string): Promise<boolean> {
  const { store, clock } = deps;
  const episode = (await store.get("drift", operandId))?.value;
  if (episode) return !episode.contested_until || clock.now() >= Date.parse(episode.contested_until);
  const change_id = toChangeId(operandId);
  const record = await readRecord(store, change_id);
  const operands = record?.change.status === "applied" ? listAppliedOperands(record) : [];
  const operand = operands.find((candidate) => candidate.change_id === operandId);
  if (operand) await deps.mutex(change_id, () => verifyOperand(deps, operand));
  else forgetOperands(deps, operandId);
  return false;
}
