import * as z from "zod";
import { addRequestCache } from "../lib/kit/request_cache.ts";
import { conversation, findSpeaker } from "../lib/chat/conversation.ts";
import { conversationId } from "../lib/memory/history.ts";
import type { OperationsDeps } from "../lib/operations/deps.ts";
import { recall, foundMemorySchema } from "../lib/memory/recall.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { line, personName, integer } from "../lib/kit/fields.ts";
import { answer } from "../lib/http/answer.ts";

/** GET /api/memory/search: memories that match a query, best first. */
export const memorySearch = endpoint(
  {
    method: "GET",
    path: "/api/memory/search",
    summary: "Search memory",
    operation: "searchMemory",
    description: "Finds memories of decisions, outcomes, feeds and own chats.",
    example: { q: "seat limit", limit: 5 },
    ownReads: "filtered",
    input: z.object({
      q: line(1000).describe("Words to search for."),
      limit: integer(1, 100).default(10).describe("Maximum number of memories."),
      author: personName()
        .optional()
        .describe("Author of the conversation; absent: the proxy's person, or the common one."),
      conversation_id: conversation.optional().describe("A conversation by name, in place of the author's own."),
    }),
    output: z.object({
      query: z.string().meta({ description: "The words that were searched.", examples: ["seat limit"] }),
      results: z.array(foundMemorySchema).describe("Memories, best first."),
    }),
    errors: ["identity_mismatch"],
  },
  async ({ q, limit, author, conversation_id }, call: Call<OperationsDeps>) => {
    const { deps } = call;
    const own = conversationId(findSpeaker(call, author), deps);
    const search = { query: q, limit, conversation: conversation_id ?? own };
    return answer({ query: q, results: await recall(addRequestCache(deps), search) });
  },
);
