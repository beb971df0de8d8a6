import * as z from "zod";
import { addRequestCache } from "../lib/kit/request_cache.ts";
import { findCallerName } from "../lib/changes/caller.ts";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { answer } from "../lib/http/answer.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { personName, integer } from "../lib/kit/fields.ts";
import { buildInbox, inboxSchema } from "../lib/operations/inbox.ts";

/** GET /api/inbox: changes that wait, and those that wait for the caller. */
export const inbox = endpoint(
  {
    method: "GET",
    path: "/api/inbox",
    summary: "Work that waits for people",
    operation: "getInbox",
    description: "Changes that wait or drifted: how many, and the most urgent of each.",
    example: { limit: 20 },
    ownReads: "filtered",
    product: true,
    input: z.object({
      person: personName().optional().describe("The person; absent: the proxy's person, or the agent."),
      limit: integer(1, 1000).default(50).describe("Maximum number of items a list."),
    }),
    output: inboxSchema,
    errors: ["identity_mismatch", "reads_busy"],
  },
  async ({ person, limit }, call: Call<ChangesDeps>) =>
    answer(await buildInbox(addRequestCache(call.deps), { person: findCallerName(call, person), limit })),
);
