import * as z from "zod";
import { entrySchema } from "../../lib/audit/entry.ts";
import { addLateNote } from "../../lib/changes/commands/add_note.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { changeSchema, LATE_ITEMS } from "../../lib/changes/rules/change.ts";
import type { CommandResult } from "../../lib/changes/transaction.ts";
import { ACTION_ERRORS, actionTerms } from "../../lib/http/decision_declaration.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { changeId, freeText, personName, word } from "../../lib/kit/fields.ts";
import { proofFields } from "../../lib/http/proof_fields.ts";
import { type Reply, respond } from "../../lib/http/replies.ts";

/** POST /api/product/note: adds a missing rationale or note to a change after its decision. */
export const note = endpoint(
  {
    ...actionTerms,
    path: "/api/product/note",
    summary: "Add a late note",
    operation: "addLateNote",
    description: "Adds the rationale or the note that a decided change lacks. It is marked late.",
    example: { change_id: CHANGE_ID, actor: "bo@acme.example", item: "rationale", note: "Support raised it by hand." },
    callerField: "actor",
    input: () =>
      z.strictObject({
        change_id: changeId().describe("Id of the change."),
        actor: personName().optional().describe("Author; absent: the proxy's person."),
        item: word(LATE_ITEMS).describe("Item to add; each once, if missing."),
        note: freeText(4000)
          .refine((text) => text.trim() !== "", "must not be empty")
          .describe("Text of the note."),
        ...proofFields(),
      }),
    output: () =>
      z.object({
        change_id: z.string().describe("Id of the change."),
        change: changeSchema(),
        audit_entry: entrySchema(),
      }),
    errors: ["change_not_found", "illegal_transition", ...ACTION_ERRORS, "version_mismatch"],
  },
  (input, call: Call<ChangesDeps>) => respond(call, (caller) => addLateNote(caller, input), noteReply),
);

function noteReply({ record, change, entry }: CommandResult): Reply {
  const { change_id, revision } = record.change;
  return { members: { change_id, change }, entry, revision };
}
