/** Adds a late note to a change: one entry; the content, its digest and every decision stay as they are. */
import { requireNamedActor } from "../service_action.ts";
import { type Caller, requireRevision } from "../caller.ts";
import { resolveActor, verifyPresentedProof, type ProofInput } from "../proof_input.ts";
import type { ReplayedReply } from "../replies.ts";
import type { LateItem } from "../rules/change.ts";
import { makeLateNote } from "../rules/late_note.ts";
import { type CommandResult, runTransaction } from "../transaction.ts";

/** A late note, with its author and its change. */
export interface LateNoteInput extends ProofInput {
  change_id: string;
  actor?: string | undefined;
  item: LateItem;
  note: string;
}

/** Adds a note. Errors: 404 `change_not_found`, 400 `illegal_transition`, those of `requireNamedActor` and of a signature. */
export const addLateNote = (
  caller: Caller,
  { change_id, actor, item, note, proof, at }: LateNoteInput,
): Promise<CommandResult | ReplayedReply> =>
  runTransaction(caller, async (transaction) => {
    const before = await transaction.change(change_id);
    // The state of the change is checked before the person.
    makeLateNote(before.change, { item, note }, transaction.product.intent);
    const claimed = requireNamedActor(caller, "note", actor);
    const { actor: name } = claimed;
    const { digest } = before.change;
    const statementFacts = { decision: "note", change_id, digest, approver: name, note, item } as const;
    const signature = await verifyPresentedProof(transaction, statementFacts, { proof, at });
    const command = { type: "note", name, item, note, signature } as const;
    const result = transaction.execute(before, command, resolveActor(name, signature, claimed));
    // An error here undoes the write.
    requireRevision(caller, before.change.revision);
    return result;
  });
