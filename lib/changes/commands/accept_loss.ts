/**
 * Accepts that the end of the log is lost, after a failover that lost commits, a rewind, or an older backup. A person confirms the
 * current end of the log, and the entry says what is lost.
 */
import type { Integrity, LostEnd } from "../../audit/integrity.ts";
import { longestKnownEnd } from "../../audit/known_end.ts";
import type { StoredBreach } from "../../audit/report_breach.ts";
import { verifyStoredLog } from "../../audit/verify.ts";
import { AppError, invalidField } from "../../kit/errors.ts";
import { type ServiceActionInput, authorizeServiceAction } from "../service_action.ts";
import { adoptAcceptedLoss, verifyRecentEntries } from "../reload_after_loss.ts";
import type { Caller } from "../caller.ts";
import { requireIntactChain } from "../run_with_log.ts";
import type { Receipt, ReplayedReply } from "../replies.ts";
import { POLICY_LOSS, serviceActor } from "../rules/actor.ts";
import { runTransaction, type Transaction } from "../transaction.ts";

/** The caller's statement, and the end of the log that they accept. */
export interface LossInput extends ServiceActionInput {
  length: number;
  head: string;
}

/** The longest end of the log that was ever known, and the end from which the log continues. */
export interface LossResult extends Receipt {
  known: LostEnd;
  length: number;
  head: string;
}

/**
 * Records the loss, lifts the breach and freezes the service. Errors: 400 `illegal_transition` if nothing is lost, 503
 * `chain_broken` if the log as it is now is not valid.
 */
export async function acceptLoss(caller: Caller, input: LossInput): Promise<LossResult | ReplayedReply> {
  const { deps } = caller;
  const breach = deps.integrity.breach ?? (await deps.store.get("meta", "breach"))?.value;
  if (breach) requireIntactChain(await verifyStoredLog(deps));
  // A process that started on a broken log has indexed nothing yet.
  if (!deps.integrity.logIndex) await verifyRecentEntries(deps);
  const result = await runTransaction(caller, (transaction) => recordLoss(transaction, caller, input), {
    acceptsLoss: true,
  });
  await adoptAcceptedLoss(deps);
  deps.wake?.();
  return result;
}

async function recordLoss(transaction: Transaction, caller: Caller, input: LossInput): Promise<LossResult> {
  const { tx, length, head, append } = transaction;
  const { integrity } = caller.deps;
  const facts = await authorizeServiceAction(transaction, caller, "accept_loss", input);
  const storedBreach = (await tx.get("meta", "breach"))?.value;
  if (!storedBreach && !integrity.breach)
    throw new AppError("illegal_transition", "the audit log did not go back: there is no loss to accept", {
      allowed: [],
    });
  if (input.length !== length) throw invalidField("length", `must be the length of the log now, ${length}`);
  if (input.head !== head) throw invalidField("head", `must be current_hash of the last entry now, ${head}`);
  const known = findLongestKnownEnd(storedBreach, integrity);
  const message = `entries ${describeLoss(known, length)} may have been acknowledged and are lost`;
  const entry = append({ event_type: "loss_accepted", detail: { ...facts, length, head, known, message } });
  freeze(transaction, `The log lost its end (entry ${entry.value.id}): check what was lost, then unfreeze.`);
  tx.delete("meta", "breach");
  // Drift is checked again from the first target: an apply or a rollback may be among the lost entries.
  tx.delete("meta", "drift");
  return { known, length, head, entry };
}

/** Describes the lost entries. The log may have grown beyond its lost end since. */
function describeLoss(known: LostEnd, length: number): string {
  if (known.head === null) return `after ${length}, of which nobody knows how many there were,`;
  return length < known.length ? `after ${length} up to ${known.length}` : `up to ${known.length}`;
}

/** Freezes the service: a freeze may be among the lost entries. */
function freeze({ tx, at, append }: Transaction, note: string): void {
  const facts = { actor: POLICY_LOSS, note, until: null };
  const entry = append({ event_type: "service_frozen", detail: { ...facts, ...serviceActor(POLICY_LOSS) } });
  tx.put("meta", "freeze", { ...facts, at, entry: entry.value.id });
}

/** Finds the longest end that was known before: the one that another process stored, or the one that this process knows. */
function findLongestKnownEnd(breach: StoredBreach | undefined, integrity: Integrity): LostEnd {
  const ends: LostEnd[] = [breach?.known, longestKnownEnd(integrity)].flatMap((end) =>
    end ? [{ length: end.length, head: end.head }] : [],
  );
  return ends.reduce((longest, end) => (end.length > longest.length ? end : longest));
}
