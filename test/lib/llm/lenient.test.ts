/** Responses of compatible servers that differ from the protocol are accepted, and requests omit what such servers reject. */
import { expect, test } from "vitest";
import { requireText } from "../../../lib/llm/converse.ts";
import { openAiLlm } from "../../../lib/llm/openai.ts";
import { createToolbox } from "../../../lib/chat/tools.ts";
import { openDeps } from "../../support/deps.ts";
import { provider } from "../chat/model_server.ts";

async function completeWith(choice: object) {
  const { url } = await provider(() => (response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices: [choice] }));
  });
  const { signal } = new AbortController();
  return openAiLlm({ model: "m1", baseUrl: url }).complete({ system: "", messages: [], tools: [], signal });
}

test("content in parts, arguments as an object and a call without an id are accepted", async () => {
  const content = [
    { type: "text", text: "Two " },
    { type: "text", text: "parts" },
  ];
  const tool_calls = [{ function: { name: "find", arguments: { query: "is:pending" } } }];
  expect(await completeWith({ message: { content, tool_calls } })).toEqual({
    text: "Two parts",
    toolCalls: [{ id: "call_0", name: "find", input: { query: "is:pending" } }],
  });
});

test("a response that ended at the token limit is marked as truncated", async () => {
  const { text, isCut } = await completeWith({ message: { content: "Half a" }, finish_reason: "length" });
  expect(requireText(text, isCut)).toBe("Half a\n(The answer was cut at the length limit of the model.)");
});

test("a model's reasoning is removed from its response", () => {
  expect(requireText("<think>secret plan</think>\nFine.")).toBe("Fine.");
  expect(() => requireText("<think>never closed")).toThrow("it said nothing");
});

test("schemas of tools contain neither pattern nor format", async () => {
  const deps = await openDeps();
  const { specs } = createToolbox({
    deps,
    caller: null,
    queries: new Set(),
    mayWrite: false,
    memory: true,
    drafted: [],
    recalled: [],
    conversation: "main",
  });
  expect(JSON.stringify(specs)).not.toMatch(/"(?:pattern|format)":"/);
});
