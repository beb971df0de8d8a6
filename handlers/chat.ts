import * as z from "zod";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { chatAnswer, replyToMessage } from "../lib/chat/reply.ts";
import { createHtmlResponse, renderMessage } from "../lib/chat/html.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { conversation } from "../lib/chat/conversation.ts";
import { freeText, line, personName, word } from "../lib/kit/fields.ts";
import { answer } from "../lib/http/answer.ts";

const text = freeText(8000).refine((message) => message.trim() !== "", "must not be empty");

/** POST /api/chat: a message to the service, its reply, and a cycle. */
export const chat = endpoint(
  {
    method: "POST",
    path: "/api/chat",
    summary: "Send a message",
    operation: "sendMessage",
    description: "Answers from records and memories. A model can draft a change; it never decides.",
    example: { message: "What waits for me?", author: "ana@acme.example" },
    token: "protect_all",
    input: z
      .object({
        message: text.optional().describe("The message; text and content are aliases."),
        text: text.optional().describe("Other name of message."),
        content: text.optional().describe("Other name of message."),
        author: personName().optional().describe("Author; absent: the proxy's person."),
        confirm_draft: line(100).optional().describe("Id of a draft, to store it as a proposal."),
        conversation_id: conversation
          .optional()
          .describe("Name of a conversation; absent: the author's own, or the common one."),
        memory: word(["on", "off"]).optional().describe("off: memory is neither asked nor added to."),
      })
      .meta({ anyOf: ["message", "text", "content", "confirm_draft"].map((name) => ({ required: [name] })) })
      .transform(({ message, text: alias, content, ...rest }) => ({
        ...rest,
        message: message ?? alias ?? content ?? (rest.confirm_draft && `Confirm ${rest.confirm_draft}`),
      }))
      .pipe(z.object({ message: z.string("is required") }).loose()),
    output: z.union([chatAnswer, z.string().meta({ contentMediaType: "text/html" })]),
    errors: ["identity_mismatch", "not_found", "person_required"],
  },
  async (input, call: Call<ChangesDeps>) => {
    const { answer: body, turns } = await replyToMessage(call, input);
    if (wantsHtml(call.request)) return createHtmlResponse(turns.map(renderMessage).join(""));
    return answer(body, 200, { vary: "accept" });
  },
);

const wantsHtml = (request: Request): boolean => {
  const accept = request.headers.get("accept") ?? "";
  return accept.includes("text/html") && !accept.includes("application/json");
};
