/** Erases the content of a change: one entry, and with it the content, in one transaction; copies of it go after that. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import { entryKey } from "../audit/chain.ts";
import { entrySchema } from "../audit/entry.ts";
import { type Answer, answer, etag } from "../http/answer.ts";
import type { Call } from "../http/endpoint.ts";
import { requireMatch } from "../http/if_match.ts";
import { type ActInput, namedActor } from "./act.ts";
import type { ChangesDeps } from "./deps.ts";
import { inProgress, readLease } from "./operations/lease.ts";
import { actorBehind, present } from "./proof_input.ts";
import { changeSchema } from "./rules/change.ts";
import { detailIn } from "./rules/event.ts";
import { STAYS } from "./rules/erasure.ts";
import { ownerTold } from "./target_told.ts";
import { governed } from "./transaction.ts";

declare module "../store/store.ts" {
  interface Meta {
    /** The newest entry that erased a content. */
    erased: { entry: number };
    /** When the store last removed what it keeps of records that are no more; milliseconds since the epoch. */
    expunged: { at: number };
  }
  interface Collections {
    /** Changes of whose content copies may still lie somewhere, by the entry that erased it. */
    erasures_due: ErasureDue;
  }
}

/** Copies that are still to go. */
export interface ErasureDue {
  entry: number;
  /** Milliseconds since the epoch. */
  at: number;
  /** The message of a chat that asked a model for the change. */
  message_id?: string | undefined;
  /** How often they were looked for. */
  looked: number;
  /** Whether what was removed may still lie in what the store keeps of records that are no more. */
  kept: boolean;
}

/** When every copy is gone at the latest, after the erasure; milliseconds. */
const GONE_MS = 24 * 3600 * 1000;

/** What is answered. */
export const erasureAnswer = once(() =>
  z.object({
    change_id: z.string().describe("Id of the change."),
    gone_by: z.string().meta({
      description: "When the last copy is gone: from other collections, files and the journal.",
      examples: ["2026-11-21T09:30:00.000Z"],
    }),
    stays: z.array(z.string()).meta({
      description: "What does not go with the content, in sentences.",
      examples: [["its entries, with names and notes"]],
    }),
    change: changeSchema(),
    audit_entry: entrySchema(),
  }),
);

/** Whose content, by whom and why. */
export interface EraseInput extends Omit<ActInput, "until"> {
  change_id: string;
}

/** Erases it. Errors: 404 `change_not_found`, 400 `illegal_transition`, 409 `content_needed`, `operation_in_progress`. */
export async function eraseContent(call: Call<ChangesDeps>, input: EraseInput): Promise<Answer> {
  const { change_id, note = "", proof, at: stated } = input;
  const answered = await governed(call, async (transaction) => {
    const { tx, at, now } = transaction;
    const before = await transaction.change(change_id);
    const { change } = before;
    const claimed = namedActor(call, "erase", input.actor);
    const { actor: name } = claimed;
    const about = { change_id, digest: change.digest };
    const signature = await present(
      transaction,
      { decision: "erase", actor: name, note, ...about },
      { proof, at: stated },
    );
    if (await readLease(tx, change)) throw inProgress(change_id);
    requireMatch(call.request, change.revision);
    const owner = await ownerTold(transaction, change);
    const command = { type: "erase", name, note, owner, signature } as const;
    const enacted = transaction.enact(before, command, actorBehind(name, signature, claimed));
    const { value: entry } = enacted.entry;
    const proposal = (await tx.get("audit", entryKey(before.audit[0]!)))?.value;
    const { message_id } = detailIn(proposal?.detail ?? "");
    tx.put("erasures_due", change_id, { entry: entry.id, at: now, message_id, looked: 0, kept: true });
    tx.put("meta", "erased", { entry: entry.id });
    const gone_by = new Date(Date.parse(at) + GONE_MS).toISOString();
    const said = { change_id, gone_by, stays: STAYS, change: enacted.change, audit_entry: enacted.entry };
    return answer(said, 200, { etag: etag(enacted.record.change.revision) });
  });
  call.deps.wake?.();
  return answered;
}
