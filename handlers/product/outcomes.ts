import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId, wholeNumber } from "../../lib/http/form.ts";
import { outcomeSchema } from "../../lib/governance/rules/outcome.ts";
import { outcomePage } from "../../lib/pulse/change_views.ts";
import { answer } from "../../lib/http/answer.ts";

/** GET /api/product/outcomes: expected against realised KPI movement of applied changes, newest first. */
export const outcomes = endpoint(
  {
    method: "GET",
    path: "/api/product/outcomes",
    summary: "Expected against realised KPI movement",
    product: true,
    input: z.object({ limit: wholeNumber(1, 1000).default(100), before: changeId.optional() }),
    output: z.object({ outcomes: z.array(outcomeSchema), next: z.string().nullable() }),
  },
  async (input, { deps }: Call<GovernanceDeps>) => answer(await outcomePage(deps, input)),
);
