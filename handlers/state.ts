import * as z from "zod";
import { withRequestCache } from "../lib/kit/request_cache.ts";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { answer } from "../lib/http/answer.ts";
import { stateSchema, stateView } from "../lib/operations/state.ts";

/** GET /api/state: the system's values, and what each was worked out from. */
export const state = endpoint(
  {
    method: "GET",
    path: "/api/state",
    summary: "The system's state",
    operation: "getState",
    description: "E, M, R and N with inputs, goals, tasks and freeze.",
    example: {},
    input: z.object({}),
    output: stateSchema,
    shared: () => true,
  },
  async (_input, { deps }: Call<ChangesDeps>) => answer(await stateView(withRequestCache(deps))),
);
