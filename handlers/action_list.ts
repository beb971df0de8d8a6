import * as z from "zod";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { integer } from "../lib/kit/fields.ts";
import { answer } from "../lib/http/answer.ts";
import { listActions, actionName, ACTIONS, MAX_STORED_ACTIONS, actionSchema } from "../lib/operations/action_log.ts";

/** GET /api/action/list: past runs of actions, newest first, and the names of all actions. */
export const actionList = endpoint(
  {
    method: "GET",
    path: "/api/action/list",
    summary: "Action history",
    operation: "listActions",
    description: "The actions that were run, newest first, and the names of all there are.",
    example: { limit: 10 },
    input: z.object({ limit: integer(1, MAX_STORED_ACTIONS).default(100).describe("Maximum number of runs.") }),
    output: z.object({
      actions: z.array(actionSchema).describe("Runs, newest first."),
      available: z.array(actionName).describe("Every action there is."),
    }),
  },
  async ({ limit }, { deps }: Call<ChangesDeps>) =>
    answer({ actions: await listActions(deps, limit), available: ACTIONS }),
);
