import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { runOperation } from "../../lib/changes/commands/run_operation.ts";
import { operationAnswer } from "../../lib/http/change_answers.ts";
import { operationReply } from "../../lib/http/change_replies.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { changeId, flag, freeText, personName } from "../../lib/kit/fields.ts";
import { proofFields } from "../../lib/http/proof_fields.ts";
import { respond } from "../../lib/http/replies.ts";

/** POST /api/product/rollback: rolls back an applied change; with `dry_run` it only previews the rollback. */
export const rollback = endpoint(
  {
    method: "POST",
    path: "/api/product/rollback",
    summary: "Roll back an applied change",
    operation: "rollBackChange",
    description: "Restores the value before an applied change. dry_run changes nothing.",
    example: { change_id: CHANGE_ID, actor: "ops@acme.example", note: "Error rate rose." },
    product: true,
    token: true,
    jsonFields: ["proof"],
    input: () =>
      z.strictObject({
        change_id: changeId().describe("Id of the change."),
        dry_run: flag().optional().describe("Dry run: nothing is changed or recorded."),
        actor: personName().optional().describe("Actor; absent: the proxy's person."),
        over_drift: flag().optional().describe("Restore over a value that another program set since; needs a note."),
        note: freeText(4000).optional().describe("Why, for the record."),
        ...proofFields(),
      }),
    output: operationAnswer,
    errors: [
      "change_not_found",
      "identity_mismatch",
      "not_permitted",
      "proof_required",
      "proof_invalid",
      "illegal_transition",
      "operation_in_progress",
      "version_mismatch",
      "target_drifted",
      "idempotency_key_reused",
      "adapter_failed",
    ],
  },
  (input, call: Call<ChangesDeps>) =>
    respond(call, (caller) => runOperation(caller, { ...input, operation: "rollback" }), operationReply),
);
