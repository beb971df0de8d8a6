import * as z from "zod";
import { ACT_ERRORS, actFields, actTerms } from "../../lib/governance/decision_declaration.ts";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { eraseContent, erasureAnswer } from "../../lib/governance/erase.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId } from "../../lib/http/form.ts";

/** POST /api/product/erase: the content of a change that nothing needs any more goes; its entries and its digest stay. */
export const erase = endpoint(
  {
    ...actTerms,
    path: "/api/product/erase",
    summary: "Erase the content of a change",
    names: "actor",
    input: z.strictObject({ change_id: changeId, ...actFields }),
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
  (input, call: Call<GovernanceDeps>) => eraseContent(call, input),
);
