import * as z from "zod";
import { ACT_ERRORS, actFields, actTerms } from "../../lib/changes/decision_declaration.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { eraseContent, erasureAnswer } from "../../lib/changes/erase.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { changeId } from "../../lib/http/form.ts";

/** POST /api/product/erase: the content of a change that nothing needs any more goes; its entries and its digest stay. */
export const erase = endpoint(
  {
    ...actTerms,
    path: "/api/product/erase",
    summary: "Erase the content of a change",
    operation: "eraseContent",
    description:
      "Removes the content of a closed change, within a day from every copy the service holds. Its entries and digest stay, so the log still verifies.",
    example: { change_id: CHANGE_ID, actor: "privacy@acme.example", note: "Request 4711" },
    names: "actor",
    input: () =>
      z.strictObject({
        change_id: changeId().describe("Id of the change; denied, rolled back or superseded."),
        ...actFields(),
      }),
    output: erasureAnswer,
    errors: [
      "change_not_found",
      "illegal_transition",
      "content_needed",
      "operation_in_progress",
      ...ACT_ERRORS,
      "version_mismatch",
    ],
  },
  (input, call: Call<ChangesDeps>) => eraseContent(call, input),
);
