import * as z from "zod";
import { entrySchema } from "../../lib/audit/entry.ts";
import { eraseContent, type ErasureResult } from "../../lib/changes/commands/erase.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { changeSchema } from "../../lib/changes/rules/change.ts";
import { ACTION_ERRORS, actionFields, actionTerms } from "../../lib/http/decision_declaration.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { changeId } from "../../lib/kit/fields.ts";
import { type Reply, respond } from "../../lib/http/replies.ts";

/** POST /api/product/erase: removes the content of a closed change; its entries and its digest stay. */
export const erase = endpoint(
  {
    ...actionTerms,
    path: "/api/product/erase",
    summary: "Erase the content of a change",
    operation: "eraseContent",
    description: "Removes the content of a closed change, within a day from every copy. The log still verifies.",
    example: { change_id: CHANGE_ID, actor: "privacy@acme.example", note: "Request 4711" },
    callerField: "actor",
    input: () =>
      z.strictObject({
        change_id: changeId().describe("Id of the change; denied, rolled back or superseded."),
        ...actionFields(),
      }),
    output: () =>
      z.object({
        change_id: z.string().describe("Id of the change."),
        gone_by: z.string().meta({
          description: "Time by which all copies are gone: from other collections, files and the journal.",
          examples: ["2026-11-21T09:30:00.000Z"],
        }),
        stays: z.array(z.string()).meta({
          description: "Data that stays, in sentences.",
          examples: [["its entries, with names and notes"]],
        }),
        change: changeSchema(),
        audit_entry: entrySchema(),
      }),
    errors: [
      "change_not_found",
      "illegal_transition",
      "content_needed",
      "operation_in_progress",
      ...ACTION_ERRORS,
      "version_mismatch",
    ],
  },
  (input, call: Call<ChangesDeps>) => respond(call, (caller) => eraseContent(caller, input), erasureReply),
);

function erasureReply({ record, change, entry, gone_by, stays }: ErasureResult): Reply {
  const { change_id, revision } = record.change;
  return { members: { change_id, gone_by, stays, change }, entry, revision };
}
