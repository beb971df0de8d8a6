/**
 * Going on where the end of the log is lost and will not come back: a failover that lost commits, a rewind, an older backup.
 * A person states the log as it is now, and the log states what is lost.
 */
import type { Integrity, LostEnd } from "../audit/integrity.ts";
import { knownEnd } from "../audit/known_end.ts";
import type { StoredBreach } from "../audit/report_breach.ts";
import { verifyAsItIs } from "../audit/verify.ts";
import { type Answer, answer } from "../http/answer.ts";
import type { Call } from "../http/endpoint.ts";
import { AppError, invalidField } from "../kit/errors.ts";
import { type ActInput, actFacts } from "./act.ts";
import { learnOfLoss, readTail } from "./after_loss.ts";
import type { ChangesDeps } from "./deps.ts";
import { refuseBroken } from "./reading.ts";
import { POLICY_LOSS, serviceItself } from "./rules/actor.ts";
import { governed, type Transaction } from "./transaction.ts";

/** Who accepts the loss, and the end of the log that they accept. */
export interface LossInput extends ActInput {
  length: number;
  head: string;
}

/**
 * Records the loss, lifts the breach and freezes the service; 400 `illegal_transition` where nothing is lost, 503
 * `chain_broken` where the log as it is now is not valid.
 */
export async function acceptLoss(call: Call<ChangesDeps>, input: LossInput): Promise<Answer> {
  const { deps } = call;
  const found = deps.integrity.breach ?? (await deps.store.get("meta", "breach"))?.value;
  if (found) refuseBroken(await verifyAsItIs(deps));
  if (!deps.integrity.outline) await readTail(deps);
  const done = await governed(call, (transaction) => record(transaction, call, input), { afterLoss: true });
  await learnOfLoss(deps);
  deps.wake?.();
  return done;
}

async function record(transaction: Transaction, call: Call<ChangesDeps>, input: LossInput): Promise<Answer> {
  const { tx, length, head, append } = transaction;
  const { integrity } = call.deps;
  const facts = await actFacts(transaction, call, "accept_loss", input);
  const stored = (await tx.get("meta", "breach"))?.value;
  if (!stored && !integrity.breach)
    throw new AppError("illegal_transition", "the audit log did not go back: there is no loss to accept", {
      allowed: [],
    });
  if (input.length !== length) throw invalidField("length", `must be the length of the log now, ${length}`);
  if (input.head !== head) throw invalidField("head", `must be current_hash of the last entry now, ${head}`);
  const known = longestKnown(stored, integrity);
  const message = `entries ${lostEntries(known, length)} may have been acknowledged and are lost`;
  const entry = append({ event_type: "loss_accepted", detail: { ...facts, length, head, known, message } });
  freeze(transaction, `The log lost its end (entry ${entry.value.id}): check what was lost, then unfreeze.`);
  tx.delete("meta", "breach");
  // The next round of drift begins with the first target: an apply or a rollback may be among what was lost.
  tx.delete("meta", "drift");
  return answer({ known, length, head, frozen: true, audit_entry: entry });
}

/** The entries that are lost, in words. */
function lostEntries(known: LostEnd, length: number): string {
  if (known.head === null) return `after ${length}, of which nobody knows how many there were,`;
  return length < known.length ? `after ${length} up to ${known.length}` : `up to ${known.length}`;
}

/** A freeze may be among what was lost: nothing is applied until a person says so. */
function freeze({ tx, at, append }: Transaction, note: string): void {
  const by = serviceItself(POLICY_LOSS);
  const facts = { actor: POLICY_LOSS, note, until: null };
  const entry = append({ event_type: "service_frozen", detail: { ...facts, ...by } });
  tx.put("meta", "freeze", { ...facts, at, entry: entry.value.id });
}

/** The longest end that a process knew before: what another one stored, or this one knows. */
function longestKnown(stored: StoredBreach | undefined, integrity: Integrity): LostEnd {
  const ends: LostEnd[] = [stored?.known, knownEnd(integrity)].flatMap((end) =>
    end ? [{ length: end.length, head: end.head }] : [],
  );
  return ends.reduce((longest, end) => (end.length > longest.length ? end : longest));
}
