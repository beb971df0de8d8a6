/** A client for Anthropic's messages API. */
import * as z from "zod";
import { type Llm, type LlmAccess, LlmFailed, type LlmMessage } from "./port.ts";
import { apiBase, postJson } from "./http.ts";

/** Maximum number of tokens of an answer; this API requires a limit. */
const MAX_TOKENS = 2048;

const textBlock = z.object({ type: z.literal("text"), text: z.string() });
const toolBlock = z.object({ type: z.literal("tool_use"), id: z.string(), name: z.string(), input: z.unknown() });
/** Blocks of other types, which some models send, are skipped. */
const answerSchema = z.object({
  content: z.array(z.union([textBlock, toolBlock, z.object({ type: z.string() })])),
  stop_reason: z.string().nullish(),
});

/** Creates the client. Errors of `complete`: `LlmFailed`. */
export function anthropicLlm({ model, key = "", baseUrl = "https://api.anthropic.com/v1" }: LlmAccess): Llm {
  const url = `${apiBase(baseUrl)}/messages`;
  const headers = { "x-api-key": key, "anthropic-version": "2023-06-01" };
  return {
    model,
    async complete({ system, messages, tools, signal }) {
      const body = {
        model,
        max_tokens: MAX_TOKENS,
        system,
        messages: messages.map(toWireMessage),
        ...(tools.length > 0 && {
          tools: tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
        }),
      };
      const parsed = answerSchema.safeParse(await postJson(url, headers, body, signal));
      if (!parsed.success) throw new LlmFailed("its answer is not a message");
      const { content, stop_reason } = parsed.data;
      return {
        ...(stop_reason === "max_tokens" && { isCut: true }),
        text: content.map((block) => ("text" in block ? block.text : "")).join(""),
        toolCalls: content.flatMap((block) =>
          "name" in block ? [{ id: block.id, name: block.name, input: block.input }] : [],
        ),
      };
    },
  };
}

function toWireMessage(message: LlmMessage): unknown {
  switch (message.role) {
    case "user":
      return { role: "user", content: message.text };
    case "assistant":
      return {
        role: "assistant",
        content: [
          ...(message.text ? [{ type: "text", text: message.text }] : []),
          ...(message.toolCalls ?? []).map(({ id, name, input }) => ({ type: "tool_use", id, name, input })),
        ],
      };
    case "tool":
      return {
        role: "user",
        content: message.results.map(({ id, text }) => ({ type: "tool_result", tool_use_id: id, content: text })),
      };
  }
}
