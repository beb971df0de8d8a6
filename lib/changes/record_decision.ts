/** Carries a consent decision through one governed transaction. */
import { type Answer, answer, etag, isAnswer } from "../http/answer.ts";
import type { Call } from "../http/endpoint.ts";
import { requireMatch } from "../http/if_match.ts";
import type { AppError } from "../kit/errors.ts";
import { actorOf, requirePerson } from "./caller.ts";
import type { ChangesDeps } from "./deps.ts";
import { expireIfDue } from "./expiry.ts";
import { inProgress, isOver, readLease, unsettled } from "./operations/lease.ts";
import { settleEndedLease } from "./operations/recover.ts";
import { actorBehind, present, type ProofInput } from "./proof_input.ts";
import { asProven } from "./proven_consents.ts";
import type { Lease } from "./records.ts";
import type { Verdict } from "./rules/change.ts";
import { missingConsents } from "./rules/missing.ts";
import { refuseOverdue } from "./rules/overdue.ts";
import { ownerTold } from "./target_told.ts";
import { governed, type Transaction } from "./transaction.ts";

/** A decision on one change, and whose it is. */
export interface DecisionInput extends ProofInput {
  type: "approve" | "deny" | "withdraw" | "revoke";
  change_id: string;
  name: string;
  note?: string | undefined;
  /** A consent for an emergency. */
  emergency?: boolean | undefined;
}

/** Records a decision and answers with it and its entry; what an operation left half done is settled first. */
export async function recordDecision(call: Call<ChangesDeps>, input: DecisionInput): Promise<Answer> {
  for (let left: Lease | undefined; ;) {
    const ended = await governed<Answer | { over: Lease }>(
      call,
      (transaction) => record(transaction, call, input, left),
      // What stops a change is refused for no clock.
      { anyClock: input.type === "deny" || input.type === "revoke" },
    );
    if (isAnswer(ended)) return ended;
    await settleEndedLease(call.deps, ended.over);
    left = ended.over;
  }
}

/** `left`: a lease on the change that could not be settled. */
async function record(
  transaction: Transaction,
  call: Call<ChangesDeps>,
  { type, change_id, name, note = "", emergency, proof, at }: DecisionInput,
  left: Lease | undefined,
): Promise<Answer | AppError | { over: Lease }> {
  const { tx, now } = transaction;
  const before = await transaction.change(change_id, type === "approve" ? "any" : "closing");
  const expired = await expireIfDue(transaction, call.deps, before);
  if (expired) return expired;
  if (type === "approve") refuseOverdue(before.change, { intent: transaction.product.intent, now });
  const lease = type === "revoke" ? await readLease(tx, before.change) : undefined;
  if (lease && lease.number !== left?.number && isOver(lease, now)) return { over: lease };
  if (lease) throw (lease.unsettled ? unsettled : inProgress)(change_id);
  const { digest } = before.change;
  const decision = emergency ? ("approve_emergency" as const) : type;
  const decided = { decision, change_id, digest, approver: name, note };
  const signature = await present(transaction, decided, { proof, at });
  const command =
    type === "approve"
      ? { type, name, note, emergency, signature, target_owner: await ownerTold(transaction, before.change) }
      : { type, name, note, signature };
  const actor = actorBehind(name, signature, actorOf(call, name));
  const judged = type === "approve" ? await asProven(transaction, before) : before.change;
  const enacted = transaction.enact(before, command, actor, judged);
  requirePerson(call, type === "withdraw" ? "proposer" : "approver", name);
  requireMatch(call.request, before.change.revision);
  const { status, approvals, resolution, revision } = enacted.record.change;
  const { change, entry } = enacted;
  const missing = type === "approve" ? missingConsents(enacted.record.change, transaction.product.intent) : [];
  const more = missing.length > 0 ? { missing } : {};
  const decided_as = resolution ?? "approved";
  const body = { change_id, status, decision: decided_as, approvals, ...more, change, audit_entry: entry };
  return answer(body, 200, { etag: etag(revision) });
}

/** What was found of an emergency consent afterwards, and by whom. */
export interface ReviewInput extends ProofInput {
  change_id: string;
  approver: string;
  verdict: Verdict;
  note?: string | undefined;
}

/** Records what was found of an emergency consent afterwards. */
export function recordReview(
  call: Call<ChangesDeps>,
  { change_id, approver, verdict, note = "", proof, at }: ReviewInput,
): Promise<Answer> {
  return governed(call, async (transaction) => {
    const before = await transaction.change(change_id);
    const { digest } = before.change;
    const decided = { decision: "review", change_id, digest, approver, note, verdict } as const;
    const signature = await present(transaction, decided, { proof, at });
    const command = { type: "review", name: approver, note, verdict, signature } as const;
    const actor = actorBehind(approver, signature, actorOf(call, approver));
    const { record, change, entry } = transaction.enact(before, command, actor);
    requirePerson(call, "approver", approver);
    requireMatch(call.request, before.change.revision);
    const { status, revision } = record.change;
    return answer({ change_id, status, verdict, change, audit_entry: entry }, 200, { etag: etag(revision) });
  });
}
