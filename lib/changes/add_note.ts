/** Adds a late note to a change: one entry; the content, its digest and every decision stay as they are. */
import { type Answer, answer, etag } from "../http/answer.ts";
import type { Call } from "../http/endpoint.ts";
import { requireMatch } from "../http/if_match.ts";
import { namedActor } from "./act.ts";
import type { ChangesDeps } from "./deps.ts";
import { actorBehind, present, type ProofInput } from "./proof_input.ts";
import type { LateItem } from "./rules/change.ts";
import { lateNoteOf } from "./rules/late_note.ts";
import { governed } from "./transaction.ts";

/** What is added, by whom and to which change. */
export interface LateNoteInput extends ProofInput {
  change_id: string;
  actor?: string | undefined;
  item: LateItem;
  note: string;
}

/** Adds it. Errors: 404 `change_not_found`, 400 `illegal_transition`, those of `namedActor` and of a signature. */
export const addLateNote = (
  call: Call<ChangesDeps>,
  { change_id, actor, item, note, proof, at }: LateNoteInput,
): Promise<Answer> =>
  governed(call, async (transaction) => {
    const before = await transaction.change(change_id);
    // The transition is checked before the person.
    lateNoteOf(before.change, { item, note }, transaction.product.intent);
    const claimed = namedActor(call, "note", actor);
    const { actor: name } = claimed;
    const { digest } = before.change;
    const decided = { decision: "note", change_id, digest, approver: name, note, item } as const;
    const signature = await present(transaction, decided, { proof, at });
    const command = { type: "note", name, item, note, signature } as const;
    const { record, change, entry } = transaction.enact(before, command, actorBehind(name, signature, claimed));
    requireMatch(call.request, before.change.revision);
    const { revision } = record.change;
    return answer({ change_id, change, audit_entry: entry }, 200, { etag: etag(revision) });
  });
