/** Records a consent decision on one change. */
import { findActor, type Caller, requirePerson, requireRevision } from "../caller.ts";
import { expireIfDue } from "../expiry.ts";
import { leaseError, readLease } from "../operations/lease.ts";
import { resolveEndedLease } from "../operations/recover.ts";
import { actorBehind, present, type ProofInput } from "../proof_input.ts";
import { asProven } from "../proven_consents.ts";
import type { Replayed } from "../replies.ts";
import { type Missing, missingConsents } from "../rules/missing.ts";
import { refuseOverdue } from "../rules/overdue.ts";
import { changeFacts } from "../rules/statement.ts";
import { type Enacted, governed, type Transaction } from "../transaction.ts";
import type { AppError } from "../../kit/errors.ts";

/** A decision on one change, and whose it is. */
export interface DecisionInput extends ProofInput {
  type: "approve" | "deny" | "withdraw" | "revoke";
  change_id: string;
  name: string;
  note?: string | undefined;
  /** Consent for an emergency. */
  emergency?: boolean | undefined;
}

/** A recorded decision; `missing`: the consents that an approval still lacks. */
export interface DecisionResult extends Enacted {
  missing: Missing[];
}

/** Records a decision; before a revocation an operation that was left on the change is resolved. */
export async function recordDecision(caller: Caller, input: DecisionInput): Promise<DecisionResult | Replayed> {
  const { type, change_id, name, note = "", emergency, proof, at } = input;
  if (type === "revoke") await resolveEndedLease(caller.deps, change_id);
  const record = async (transaction: Transaction): Promise<DecisionResult | AppError> => {
    const { tx, now } = transaction;
    const { intent } = transaction.product;
    const before = await transaction.change(change_id, type === "approve" ? "any" : "closing");
    const expired = await expireIfDue(transaction, caller.deps, before);
    if (expired) return expired;
    if (type === "approve") refuseOverdue(before.change, { intent, now });
    const lease = type === "revoke" ? await readLease(tx, before.change) : undefined;
    if (lease) throw leaseError(lease);
    const decision = emergency ? ("approve_emergency" as const) : type;
    const decided = { decision, ...changeFacts(decision, before.change), approver: name, note };
    const signature = await present(transaction, decided, { proof, at });
    const command =
      type === "approve"
        ? { type, name, note, emergency, signature, target_owner: await transaction.ledger.owner(before.change) }
        : { type, name, note, signature };
    const actor = actorBehind(name, signature, findActor(caller, name));
    const judged = type === "approve" ? await asProven(transaction, before) : before.change;
    const enacted = transaction.enact(before, command, actor, judged);
    requirePerson(caller, type === "withdraw" ? "proposer" : "approver", name);
    requireRevision(caller, before.change.revision);
    return { ...enacted, missing: type === "approve" ? missingConsents(enacted.record.change, intent) : [] };
  };
  // A decision that stops a change is valid under any clock.
  return governed(caller, record, { anyClock: type === "deny" || type === "revoke" });
}
