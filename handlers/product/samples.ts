import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { feedSamples } from "../../lib/changes/commands/feed_samples.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { changeId, line, time } from "../../lib/kit/fields.ts";
import { respond } from "../../lib/http/replies.ts";

const MAX_ROWS = 100;

const optionalNumber = () => z.number().optional();

/** The totals of an arm: number of users and sums of their values, as `Totals` in `lib/rollout/plan.ts` defines them. */
const totalsSchema = () =>
  z.strictObject({
    n: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
    sum: z.number(),
    sum2: optionalNumber(),
    per: optionalNumber(),
    per2: optionalNumber(),
    cross: optionalNumber(),
  });

const rowsSchema = () =>
  z
    .array(
      z.strictObject({
        step: z.int().min(0),
        kpi: line(64),
        as_of: time(),
        treated: totalsSchema(),
        control: totalsSchema(),
      }),
    )
    .min(1, "must have a row")
    .max(MAX_ROWS, `must have ${MAX_ROWS} rows at most`);

/** POST /api/product/samples: feeds totals of a rollout, from the agent that its plan names. */
export const samples = endpoint(
  {
    method: "POST",
    path: "/api/product/samples",
    summary: "Feed samples of a rollout",
    operation: "feedSamples",
    description: "Totals of each step so far; only the agent in fed_by may feed them.",
    example: {
      change_id: CHANGE_ID,
      rows: [
        {
          step: 0,
          kpi: "conversion",
          as_of: "2026-11-20T09:30:00.000Z",
          treated: { n: 1012, sum: 194 },
          control: { n: 99120, sum: 19861 },
        },
      ],
    },
    product: true,
    token: true,
    agents: true,
    jsonFields: ["rows"],
    input: () =>
      z.strictObject({
        change_id: changeId().describe("Id of the change."),
        rows: z.unknown().pipe(rowsSchema()).describe("Up to 100 rows: docs/rollouts.md."),
      }),
    output: () =>
      z.object({
        change_id: z.string().describe("Id of the change."),
        accepted: z.number().int().describe("Rows that were taken."),
        step: z.number().int().describe("Current step of the rollout."),
      }),
    errors: ["change_not_found", "illegal_transition", "agent_may_not", "impossible_sample", "identity_mismatch"],
  },
  (input, call: Call<ChangesDeps>) =>
    respond(
      call,
      (caller) => feedSamples(caller, input),
      // A feed has no entry of its own, so the answer has no receipt.
      ({ entry: _, ...members }) => ({ members }),
    ),
);
