import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId, integer } from "../../lib/kit/fields.ts";
import { outcomeSchema } from "../../lib/changes/rules/outcome.ts";
import { calibrationSchema } from "../../lib/projections/outcomes/calibration.ts";
import { readOutcomePage } from "../../lib/operations/change_views.ts";
import { answer } from "../../lib/http/answer.ts";

/** GET /api/product/outcomes: expected against realised KPI movement of applied changes, newest first. */
export const outcomes = endpoint(
  {
    method: "GET",
    path: "/api/product/outcomes",
    summary: "Expected against realised KPI movement",
    operation: "listOutcomes",
    description: "Expected and measured KPI movement of applied changes. A correlation; of a rollout a measurement.",
    example: { limit: 20 },
    ownReads: "filtered",
    product: true,
    input: () =>
      z.object({
        limit: integer(1, 1000).default(100).describe("Maximum number of outcomes."),
        before: changeId().optional().describe("Only changes older than this id: next of the page before."),
      }),
    output: () =>
      z.object({
        outcomes: z.array(outcomeSchema()).describe("Outcomes, the newest change first."),
        calibration: z
          .array(calibrationSchema())
          .nullable()
          .describe("Expected and actual effects so far, by KPI and group; null on further pages."),
        next: z.string().nullable().describe("before of the next page; null at the end."),
      }),
  },
  async (input, { deps }: Call<ChangesDeps>) => answer(await readOutcomePage(deps, input)),
);
