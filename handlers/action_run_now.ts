import * as z from "zod";
import { isTimeZone } from "../lib/find/dates.ts";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { line, word } from "../lib/kit/fields.ts";
import { answer } from "../lib/http/answer.ts";
import { ACTIONS, actionSchema } from "../lib/operations/action_log.ts";
import { runAction } from "../lib/operations/actions.ts";

/** POST /api/action/run-now: runs an action and answers with its result. A failed run has a status that says so. */
export const actionRunNow = endpoint(
  {
    method: "POST",
    path: "/api/action/run-now",
    summary: "Run an action now",
    operation: "runAction",
    description: "Runs a cycle or another action now and answers when it has ended.",
    example: { action: "cycle" },
    token: true,
    input: z.object({
      action: word(ACTIONS).default("cycle").describe("The action to run."),
      tz: line(100)
        .refine(isTimeZone, "must be a time zone such as Europe/Berlin")
        .default("UTC")
        .describe("The time zone of the week of write_report."),
    }),
    output: actionSchema,
    errors: ["unauthorized", "operation_in_progress"],
  },
  async ({ action, tz }, { deps }: Call<ChangesDeps>) => answer(await runAction(deps, action, { tz })),
);
