/** Records the review of an emergency consent. */
import { findActor, type Caller, requirePerson, requireRevision } from "../caller.ts";
import { resolveActor, verifyPresentedProof, type ProofInput } from "../proof_input.ts";
import type { ReplayedReply } from "../replies.ts";
import type { ReviewVerdict } from "../rules/change.ts";
import { type CommandResult, runTransaction } from "../transaction.ts";

/** The verdict on an emergency consent, with the reviewer. */
export interface ReviewInput extends ProofInput {
  change_id: string;
  approver: string;
  verdict: ReviewVerdict;
  note?: string | undefined;
}

/** Records the verdict on an emergency consent. */
export const recordReview = (
  caller: Caller,
  { change_id, approver, verdict, note = "", proof, at }: ReviewInput,
): Promise<CommandResult | ReplayedReply> =>
  runTransaction(caller, async (transaction) => {
    const before = await transaction.change(change_id);
    const { digest, revision } = before.change;
    const statementFacts = { decision: "review", change_id, digest, approver, note, verdict } as const;
    const signature = await verifyPresentedProof(transaction, statementFacts, { proof, at });
    const command = { type: "review", name: approver, note, verdict, signature } as const;
    const actor = resolveActor(approver, signature, findActor(caller, approver));
    const result = transaction.execute(before, command, actor);
    // Checked last, so that errors of the change come first; an error here undoes the write.
    requirePerson(caller, "approver", approver);
    requireRevision(caller, revision);
    return result;
  });
