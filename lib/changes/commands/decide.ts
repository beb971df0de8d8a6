/** Records a consent decision on one change. */
import { CONSENT_TOO_LATE, endAutomation, wakeForApply } from "../end_automation.ts";
import { findActor, type Caller, requirePerson } from "../caller.ts";
import { expireIfDue } from "../expire_changes.ts";
import { requireUnchanged } from "../gate/require_unchanged.ts";
import { dropInvalidMandate } from "../mandates/check_apply.ts";
import { explainStranded, endLease, createLeaseError, readLeases } from "../operations/lease.ts";
import { resolveEndedLease } from "../operations/recover.ts";
import { resolveActor, verifyPresentedProof, type ProofInput } from "../proof_input.ts";
import { filterProvenConsents } from "../proven_consents.ts";
import { isReplayed, type ReplayedReply } from "../replies.ts";
import { isAfterScheduledTime } from "../rules/apply_when.ts";
import { isOpenChange } from "../rules/current_state.ts";
import { type MissingConsent, listMissingConsents } from "../rules/missing_consents.ts";
import type { Change } from "../rules/change.ts";
import { requireInTime } from "../rules/overdue.ts";
import { createChangeFacts } from "../rules/statement.ts";
import type { ProductRuntime } from "../runtime.ts";
import { countReadableTargets } from "../target_readings.ts";
import { prefetchChange } from "../prefetch.ts";
import { type CommandResult, runTransaction, type Transaction } from "../transaction.ts";
import { type AppError, invalidField } from "../../kit/errors.ts";

/** A decision on one change, with the name of the person who makes it. */
export interface DecisionInput extends ProofInput {
  type: "approve" | "deny" | "withdraw" | "revoke";
  change_id: string;
  name: string;
  note?: string | undefined;
  /** Consent for an emergency. */
  emergency?: boolean | undefined;
  /** Digests of the values that the approver saw at the locations of the change. */
  seen?: readonly string[] | undefined;
}

/** A recorded decision; `missing`: the consents that are still needed after an approval. */
export interface DecisionResult extends CommandResult {
  missing: MissingConsent[];
}

/** Requires one digest for each location that can be read, if the request has digests or the intent requires them. */
function requireObservedDigests(
  { adapter, intent }: ProductRuntime,
  change: Change,
  seen: DecisionInput["seen"],
): void {
  if (seen === undefined && intent.policy.on_moved === "report") return;
  const count = countReadableTargets(adapter, change);
  const path = `GET /api/product/changes/${change.change_id}?seen=1`;
  if (seen === undefined) {
    if (count === 0) return;
    const reason = "the intent's on_moved is block, so a consent says what it saw";
    throw invalidField("seen", `is required: ${reason}; ${path} has the digests`);
  }
  if (seen.length === count) return;
  const needed = `${count} ${count === 1 ? "digest" : "digests"}, one for each place that can be read`;
  throw invalidField("seen", `must have ${needed}, and has ${seen.length}; ${path} has them`);
}

/** Records a decision. Before a revocation, an operation that was left unresolved on the change is resolved. */
export async function recordDecision(caller: Caller, input: DecisionInput): Promise<DecisionResult | ReplayedReply> {
  const { type, change_id, name, note = "", emergency, seen, proof, at } = input;
  if (type === "revoke") await resolveEndedLease(caller.deps, change_id);
  const record = async (transaction: Transaction): Promise<DecisionResult | AppError> => {
    const { tx, now } = transaction;
    const { intent } = transaction.product;
    // A decision that ends a change must also work if the stored content does not match the log.
    const before = await transaction.change(change_id, type === "approve" ? "any" : "closing");
    const expired = await expireIfDue(transaction, caller.deps, before);
    // An error that is returned, not thrown, commits the recorded expiry.
    if (expired) return expired;
    if (type === "approve") requireInTime(before.change, { intent, now });
    if (type === "approve") requireObservedDigests(transaction.product, before.change, seen);
    const leases = type === "revoke" ? await readLeases(tx, before.change) : [];
    const { adapter } = transaction.product;
    const openLease = leases.find((lease) => !explainStranded(adapter, before.change, lease));
    if (openLease) throw createLeaseError(openLease);
    // All leases are stranded: their locations have moved, so no operation can be resolved; they must not block other changes.
    for (const lease of leases) await endLease(transaction, lease);
    const decision = emergency ? ("approve_emergency" as const) : type;
    const statementFacts = { decision, ...createChangeFacts(decision, before.change), seen, approver: name, note };
    const signature = await verifyPresentedProof(transaction, statementFacts, { proof, at });
    const command =
      type === "approve"
        ? {
            type,
            name,
            note,
            emergency,
            seen,
            signature,
            target_owner: await transaction.ledger.targetOwner(before.change),
          }
        : { type, name, note, signature };
    const actor = resolveActor(name, signature, findActor(caller, name));
    const provenChange =
      type === "approve"
        ? await dropInvalidMandate(transaction, await filterProvenConsents(transaction, before), before)
        : before.change;
    const isOpen = isOpenChange(before.change.status);
    const isLate = type === "approve" && isOpen && isAfterScheduledTime(before.change, transaction.at);
    const decidedRecord = isLate ? endAutomation(transaction, before, CONSENT_TOO_LATE).record : before;
    const recorded = transaction.execute(decidedRecord, command, actor, provenChange);
    // Checked last, so that errors of the change come first; an error here undoes the write.
    requirePerson(caller, type === "withdraw" ? "proposer" : "approver", name);
    await requireUnchanged(transaction, caller, before);
    return { ...recorded, missing: type === "approve" ? listMissingConsents(recorded.record.change, intent) : [] };
  };
  // A decision that stops a change must work even if the clock is behind.
  const result = await runTransaction(caller, record, {
    ignoresClockLag: type === "deny" || type === "revoke",
    prefetch: prefetchChange(change_id),
  });
  if (!isReplayed(result)) wakeForApply(caller.deps, result.record.change);
  return result;
}
