import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { KINDS } from "../../lib/changes/rules/change.ts";
import { valuePolicy, valuePolicySchema } from "../../lib/changes/value_policy.ts";
import { answer } from "../../lib/http/answer.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { line, target, word } from "../../lib/kit/fields.ts";

/** GET /api/product/policy: the rules for the values of a target, and the numbers that they allow now. */
export const policy = endpoint(
  {
    method: "GET",
    path: "/api/product/policy",
    summary: "Rules for the values of a target",
    operation: "getPolicy",
    description: "Schemas and limits that a value of this target must meet.",
    example: { target: "limits.seats", tenant_id: "t-100" },
    ownReads: "filtered",
    product: true,
    input: () =>
      z.object({
        target: target().describe("Target of the change."),
        tenant_id: line(200).optional().describe("Whose target it is; absent: no numbers are given."),
        kind: word(KINDS).optional().describe("The kind of change, where it decides about the target system."),
      }),
    output: valuePolicySchema,
  },
  async (input, { deps }: Call<ChangesDeps>) => answer(await valuePolicy(deps, input)),
);
