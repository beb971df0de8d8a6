import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { changeStage } from "../../lib/changes/commands/stage.ts";
import { STAGE_ACTIONS } from "../../lib/changes/rules/stage_action.ts";
import { operationAnswer } from "../../lib/http/change_answers.ts";
import { operationReply } from "../../lib/http/change_replies.ts";
import { ACTION_ERRORS, actionTerms, decisionFields } from "../../lib/http/decision_declaration.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { personName, integer, word } from "../../lib/kit/fields.ts";
import { respond } from "../../lib/http/replies.ts";
import * as z from "zod";

/** POST /api/product/stage: holds, resumes or advances a rollout by hand. */
export const stage = endpoint(
  {
    ...actionTerms,
    path: "/api/product/stage",
    summary: "Hold, resume or advance a rollout",
    operation: "changeStage",
    description: "A hold stops advances only.",
    example: { change_id: CHANGE_ID, step: 0, action: "hold", actor: "ana@acme.example" },
    callerField: "actor",
    input: () =>
      z.strictObject({
        ...decisionFields(),
        step: integer(0).describe("Current step of the rollout."),
        action: word(STAGE_ACTIONS).describe("Action on the rollout."),
        actor: personName().describe("Actor; absent: the proxy's person."),
      }),
    output: operationAnswer,
    errors: [
      "change_not_found",
      "illegal_transition",
      ...ACTION_ERRORS,
      "not_an_approver",
      "self_approval_forbidden",
      "consent_incomplete",
      "forbidden_target",
      "value_not_allowed",
      "operation_in_progress",
      "target_moved",
      "target_drifted",
      "adapter_failed",
      "frozen",
      "outside_window",
      "promotion_not_ready",
      "version_mismatch",
    ],
  },
  (input, call: Call<ChangesDeps>) => respond(call, (caller) => changeStage(caller, input), operationReply),
);
