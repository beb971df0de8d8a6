import * as z from "zod";
import { ACT_ERRORS, actFields, actTerms, freezeAnswer } from "../../lib/governance/decision_declaration.ts";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { freezeService } from "../../lib/governance/freeze.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { time } from "../../lib/http/form.ts";

/** POST /api/product/freeze: nothing is applied until it is lifted or over. */
export const freeze = endpoint(
  {
    ...actTerms,
    path: "/api/product/freeze",
    summary: "Hold every apply back",
    input: z.strictObject({ ...actFields, until: time.optional() }),
    output: freezeAnswer,
    errors: ACT_ERRORS,
  },
  (input, call: Call<GovernanceDeps>) => freezeService(call, input),
);
