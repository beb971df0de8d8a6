/** The durable intention to run the adapter: made before it runs, resolved by whoever comes after a crash. */
import { AppError } from "../../kit/errors.ts";
import type { ChangeRecord, Claim } from "../records.ts";
import type { Unit } from "../transaction.ts";

const CLAIM_MS = 60_000;

/** The claim on a change, if there is one. */
export const readClaim = async (unit: Unit, changeId: string): Promise<Claim | undefined> =>
  (await unit.tx.get("claims", changeId))?.value;

/** Makes the claim; it is durable when the transaction is. */
export function makeClaim(
  unit: Unit,
  record: ChangeRecord,
  claim: Pick<Claim, "operation" | "owner" | "by" | "evidence">,
): Claim {
  const number = record.operations + 1;
  const made: Claim = { ...claim, change_id: record.change.change_id, number, at: unit.at, ends: unit.now + CLAIM_MS };
  unit.tx.put("claims", made.change_id, made);
  unit.tx.put("changes", made.change_id, { ...record, operations: number });
  return made;
}

/** Whether nobody runs this claim any more: its time is over, or its owner is the asking process, whose turn it is not. */
export const isAbandoned = (claim: Claim, owner: string, now: number): boolean =>
  claim.owner === owner || now >= claim.ends;

/** Ends a claim with the result of its operation; 409 when another has taken the change over meanwhile. */
export async function endClaim(unit: Unit, claim: Claim): Promise<void> {
  const current = await readClaim(unit, claim.change_id);
  if (current?.number !== claim.number || current.owner !== claim.owner) throw inProgress(claim.change_id);
  unit.tx.delete("claims", claim.change_id);
}

/** 409 `operation_in_progress`. */
export const inProgress = (changeId: string): AppError =>
  new AppError("operation_in_progress", `another process is at work on ${changeId}; try again in a minute`, {
    change_id: changeId,
  });
