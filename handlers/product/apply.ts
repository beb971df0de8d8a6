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

/** POST /api/product/apply: applies an approved change on its target system; with `dry_run` it only previews the apply. */
export const apply = endpoint(
  {
    method: "POST",
    path: "/api/product/apply",
    summary: "Apply an approved change",
    operation: "applyChange",
    description: "Sets the value of an approved change on its target system.",
    example: { change_id: CHANGE_ID, dry_run: true },
    product: true,
    token: true,
    jsonFields: ["proof"],
    input: () =>
      z.strictObject({
        change_id: changeId().describe("Id of the change."),
        dry_run: flag().optional().describe("Dry run: nothing is changed or recorded."),
        actor: personName().optional().describe("Actor; absent: the proxy's person."),
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
      "adapter_rejected",
      "forbidden_target",
      "consent_incomplete",
      "target_conflict",
      "approval_stale",
      "value_not_allowed",
      "target_moved",
      "frozen",
      "outside_window",
      "promotion_not_ready",
      "operation_in_progress",
      "too_many_attempts",
      "version_mismatch",
      "idempotency_key_reused",
      "adapter_failed",
    ],
  },
  (input, call: Call<ChangesDeps>) =>
    respond(call, (caller) => runOperation(caller, { ...input, operation: "apply" }), operationReply),
);
