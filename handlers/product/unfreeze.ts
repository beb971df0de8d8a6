import * as z from "zod";
import { ACT_ERRORS, actFields, actTerms, freezeAnswer } from "../../lib/changes/decision_declaration.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { unfreezeService } from "../../lib/changes/freeze.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";

/** POST /api/product/unfreeze: lifts a freeze. */
export const unfreeze = endpoint(
  {
    ...actTerms,
    path: "/api/product/unfreeze",
    summary: "Lift a freeze",
    operation: "unfreezeService",
    description: "Ends a freeze, so that approved changes can be applied again.",
    example: { actor: "ops@acme.example", note: "Quarter end is over." },
    input: () => z.strictObject(actFields()),
    output: freezeAnswer,
    errors: [...ACT_ERRORS, "illegal_transition"],
  },
  (input, call: Call<ChangesDeps>) => unfreezeService(call, input),
);
