import * as z from "zod";
import type { GovernanceDeps } from "../lib/governance/deps.ts";
import { chatAnswer, converseWith } from "../lib/chat/reply.ts";
import { htmlResponse, listItem } from "../lib/chat/html.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { freeText, line, personName, word } from "../lib/http/form.ts";
import { answer } from "../lib/http/answer.ts";

const text = freeText(8000).refine((message) => message.trim() !== "", "must not be empty");

/** POST /api/chat: a message to the service, its reply, and a cycle. */
export const chat = endpoint(
  {
    method: "POST",
    path: "/api/chat",
    summary: "Send a message and get a reply",
    token: "protect_all",
    input: z
      .object({
        message: text.optional(),
        /** Other names of `message`. */
        text: text.optional(),
        content: text.optional(),
        author: personName.optional(),
        conversation_id: line(100).optional(),
        memory: word(["on", "off"]).optional(),
      })
      .meta({ anyOf: ["message", "text", "content"].map((name) => ({ required: [name] })) })
      .transform(({ message, text: alias, content, ...rest }) => ({ ...rest, message: message ?? alias ?? content }))
      .pipe(z.object({ message: z.string("is required") }).loose()),
    output: z.union([chatAnswer, z.string().meta({ contentMediaType: "text/html" })]),
    errors: ["identity_mismatch"],
  },
  async (input, call: Call<GovernanceDeps>) => {
    const { answer: body, turns } = await converseWith(call, input);
    if (wantsHtml(call.request)) return htmlResponse(turns.map(listItem).join(""));
    return answer(body, 200, { vary: "accept" });
  },
);

const wantsHtml = (request: Request): boolean => {
  const accept = request.headers.get("accept") ?? "";
  return accept.includes("text/html") && !accept.includes("application/json");
};
