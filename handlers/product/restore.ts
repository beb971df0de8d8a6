import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { restoreValue } from "../../lib/changes/commands/restore.ts";
import { operationAnswer } from "../../lib/http/change_answers.ts";
import { operationReply } from "../../lib/http/change_replies.ts";
import { ACTION_ERRORS, actionTerms, decisionFields } from "../../lib/http/decision_declaration.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { personName } from "../../lib/kit/fields.ts";
import { respond } from "../../lib/http/replies.ts";
import * as z from "zod";

/** POST /api/product/restore: sets the value of an applied change again after an edit outside the service. */
export const restore = endpoint(
  {
    ...actionTerms,
    path: "/api/product/restore",
    summary: "Restore the consented value",
    operation: "restoreValue",
    description: "Sets the value of an applied change again after an edit from outside.",
    example: { change_id: CHANGE_ID, actor: "ops@acme.example", note: "Edited by hand." },
    callerField: "actor",
    input: () =>
      z.strictObject({
        ...decisionFields(),
        actor: personName().optional().describe("Actor; absent: the proxy's person."),
      }),
    output: operationAnswer,
    errors: [
      "change_not_found",
      "illegal_transition",
      ...ACTION_ERRORS,
      "consent_incomplete",
      "operation_in_progress",
      "target_moved",
      "frozen",
      "restore_contested",
      "version_mismatch",
      "adapter_failed",
    ],
  },
  (input, call: Call<ChangesDeps>) => respond(call, (caller) => restoreValue(caller, input), operationReply),
);
