/** Adds a late note to a change: one entry; the content, its digest and every decision stay as they are. */
import { namedActor } from "../act.ts";
import { type Caller, requireRevision } from "../caller.ts";
import { actorBehind, present, type ProofInput } from "../proof_input.ts";
import type { Replayed } from "../replies.ts";
import type { LateItem } from "../rules/change.ts";
import { makeLateNote } from "../rules/late_note.ts";
import { type Enacted, governed } from "../transaction.ts";

/** A late note, its author and its change. */
export interface LateNoteInput extends ProofInput {
  change_id: string;
  actor?: string | undefined;
  item: LateItem;
  note: string;
}

/** Adds a note. Errors: 404 `change_not_found`, 400 `illegal_transition`, those of `namedActor` and of a signature. */
export const addLateNote = (
  caller: Caller,
  { change_id, actor, item, note, proof, at }: LateNoteInput,
): Promise<Enacted | Replayed> =>
  governed(caller, async (transaction) => {
    const before = await transaction.change(change_id);
    // The transition is checked before the person.
    makeLateNote(before.change, { item, note }, transaction.product.intent);
    const claimed = namedActor(caller, "note", actor);
    const { actor: name } = claimed;
    const { digest } = before.change;
    const decided = { decision: "note", change_id, digest, approver: name, note, item } as const;
    const signature = await present(transaction, decided, { proof, at });
    const command = { type: "note", name, item, note, signature } as const;
    const enacted = transaction.enact(before, command, actorBehind(name, signature, claimed));
    requireRevision(caller, before.change.revision);
    return enacted;
  });
