import * as z from "zod";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { describeCaller, whoamiSchema } from "../lib/http/whoami.ts";
import { answer } from "../lib/http/answer.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { hasWrongToken } from "../lib/http/principals.ts";
import { delayAnswer } from "../lib/http/wrong_tokens.ts";

/** GET /api/whoami: the caller, how their identity is known, and their permissions. */
export const whoami = endpoint(
  {
    method: "GET",
    path: "/api/whoami",
    summary: "Who the caller is",
    operation: "getCaller",
    description: "The caller's name, how it is known, and allowed actions.",
    example: {},
    open: true,
    ignoresPerson: true,
    input: z.looseObject({}),
    output: whoamiSchema,
  },
  async (_input, call: Call<ChangesDeps>) => {
    // The answer reveals if a token is correct, so answers to wrong ones are delayed, as at other endpoints.
    if (hasWrongToken(call.request, call.deps)) await delayAnswer(call.deps, call.request);
    return answer(await describeCaller(call));
  },
);
