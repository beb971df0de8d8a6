import * as z from "zod";
import { conversationId, readTurns } from "../lib/memory/history.ts";
import { conversation, findSpeaker } from "../lib/chat/conversation.ts";
import { renderMessages, createHtmlResponse } from "../lib/chat/html.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { line, personName, integer } from "../lib/kit/fields.ts";
import type { OperationsDeps } from "../lib/operations/deps.ts";

/** GET /api/chat/history: the newest messages as an HTML fragment, in the order they were written. */
export const chatHistory = endpoint(
  {
    method: "GET",
    path: "/api/chat/history",
    summary: "The conversation as an HTML fragment",
    operation: "getChatHistory",
    description: "The newest messages of a conversation, oldest first, as escaped HTML list items.",
    example: { limit: 20 },
    input: z.object({
      limit: integer(1, 500).default(50).describe("Maximum number of messages."),
      before: line(40).optional().describe("Only messages before this id."),
      author: personName()
        .optional()
        .describe("Author of the conversation; absent: the proxy's person; without a proxy, all."),
      conversation_id: conversation.optional().describe("Name of the conversation; overrides author."),
    }),
    output: z.string().meta({ contentMediaType: "text/html" }),
    errors: ["identity_mismatch"],
  },
  async ({ author, ...query }, call: Call<OperationsDeps>) => {
    const { deps } = call;
    const speaker = findSpeaker(call, author);
    // Without a proxy no caller is authenticated and hiding conversations would protect nothing, so without `author` all are shown.
    const own = speaker === null && call.identity.person === undefined ? undefined : conversationId(speaker, deps);
    const { turns, next } = await readTurns(deps.store, { ...query, conversation_id: query.conversation_id ?? own });
    return createHtmlResponse(renderMessages(turns, next));
  },
);
