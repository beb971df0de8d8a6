import * as z from "zod";
import { turnsBefore } from "../lib/memory/history.ts";
import { chatLog, htmlResponse } from "../lib/chat/html.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { line, wholeNumber } from "../lib/http/form.ts";
import type { PulseDeps } from "../lib/pulse/deps.ts";

/** GET /api/chat/history: the newest messages as an HTML fragment, in the order they were written. */
export const chatHistory = endpoint(
  {
    method: "GET",
    path: "/api/chat/history",
    summary: "The conversation as an HTML fragment",
    input: z.object({
      limit: wholeNumber(1, 500).default(50),
      before: line(40).optional(),
      conversation_id: line(100).optional(),
    }),
    output: z.string().meta({ contentMediaType: "text/html" }),
  },
  async (query, { deps }: Call<PulseDeps>) => {
    const { turns, next } = await turnsBefore(deps.store, query);
    return htmlResponse(chatLog(turns, next));
  },
);
