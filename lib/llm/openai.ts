/** A client for OpenAI's chat completions, and for servers with the same API. */
import * as z from "zod";
import { type Llm, type LlmAccess, LlmFailed, type LlmMessage } from "./port.ts";
import { apiBase, postJson } from "./http.ts";

/** Accepts variants of other servers: arguments as an object, calls without an id, content in parts. */
const toolCall = z.object({
  id: z.string().nullish(),
  function: z.object({ name: z.string(), arguments: z.unknown() }),
});
const part = z.object({ type: z.string().optional(), text: z.string().optional() });
const message = z.object({
  content: z.union([z.string(), z.array(part)]).nullish(),
  tool_calls: z.array(toolCall).nullish(),
});
const completion = z.object({ choices: z.array(z.object({ message, finish_reason: z.string().nullish() })).min(1) });

/** The model behind an OpenAI-compatible server. */
export function openAiLlm({ model, key, baseUrl = "https://api.openai.com/v1" }: LlmAccess): Llm {
  const url = `${apiBase(baseUrl)}/chat/completions`;
  const headers: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {};
  return {
    model,
    async complete({ system, messages, tools, signal }) {
      const body = {
        model,
        messages: [{ role: "system", content: system }, ...messages.flatMap(toWireMessages)],
        ...(tools.length > 0 ? { tools: tools.map((tool) => ({ type: "function", function: tool })) } : {}),
      };
      const parsed = completion.safeParse(await postJson(url, headers, body, signal));
      if (!parsed.success) throw new LlmFailed("its answer is not a chat completion");
      const { message: reply, finish_reason } = parsed.data.choices[0]!;
      const { content, tool_calls } = reply;
      return {
        text: typeof content === "string" ? content : (content ?? []).map(({ text = "" }) => text).join(""),
        ...(finish_reason === "length" && { isCut: true }),
        toolCalls: (tool_calls ?? []).map(({ id, function: { name, arguments: input } }, index) => ({
          id: id || `call_${index}`,
          name,
          input: parseArguments(input),
        })),
      };
    },
  };
}

function toWireMessages(message: LlmMessage): unknown[] {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: message.text }];
    case "assistant": {
      const tool_calls = message.toolCalls?.map(({ id, name, input }) => ({
        id,
        type: "function",
        function: { name, arguments: JSON.stringify(input ?? {}) },
      }));
      return [{ role: "assistant", content: message.text, ...(tool_calls?.length && { tool_calls }) }];
    }
    case "tool":
      return message.results.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: text }));
  }
}

/** Parses arguments. Text that is not JSON is passed to the tool, which rejects it. */
function parseArguments(value: unknown): unknown {
  if (typeof value !== "string") return value ?? {};
  try {
    return JSON.parse(value === "" ? "{}" : value) as unknown;
  } catch {
    return value;
  }
}
