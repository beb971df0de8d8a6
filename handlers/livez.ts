import * as z from "zod";
import { endpoint } from "../lib/http/endpoint.ts";
import { answer } from "../lib/http/answer.ts";

/** GET /livez: answers while the process runs. */
export const livez = endpoint(
  {
    method: "GET",
    path: "/livez",
    summary: "Liveness",
    operation: "getLiveness",
    description: "Answers while the process runs, for a supervisor.",
    example: {},
    open: true,
    ignoresPerson: true,
    input: z.looseObject({}),
    output: z.object({ status: z.literal("ok").describe("The process runs.") }),
  },
  async () => answer({ status: "ok" }),
);
