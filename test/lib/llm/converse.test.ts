/** Conversations with a model over the protocols of OpenAI and Anthropic: tools, failures, time limits, addresses. */
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { converse } from "../../../lib/llm/converse.ts";
import { type Llm, LlmFailed, type LlmMessage } from "../../../lib/llm/port.ts";
import { anthropicLlm } from "../../../lib/llm/anthropic.ts";
import { limitLlm } from "../../../lib/llm/bounds.ts";
import { openAiLlm } from "../../../lib/llm/openai.ts";
import { openLlm } from "../../../lib/llm/open.ts";
import { isBaseUrl } from "../../../lib/llm/provider.ts";
import { systemClock } from "../../../lib/kit/platform.ts";
import type { Toolbox } from "../../../lib/llm/port.ts";
import { provider, type Script } from "../chat/model_server.ts";

const KEY = "sk-very-secret";
const QUESTION: LlmMessage = { role: "user", text: "how are we?" };

/** A response that is valid in both protocols, but too large. */
const TOO_LARGE = {
  choices: [{ message: { content: "hi" } }],
  content: [{ type: "text", text: "hi" }],
  padding: "x".repeat(1024 * 1024),
};

/** Creates a toolbox with one tool that returns its input; `used` lists the calls. */
const createEchoTools = (): Toolbox & { used: unknown[] } => {
  const used: unknown[] = [];
  return {
    used,
    specs: [{ name: "echo", description: "Says it again.", parameters: { type: "object" } }],
    use: async ({ name, input }) => {
      used.push([name, input]);
      return JSON.stringify(input);
    },
  };
};

const PROTOCOLS: [name: string, connect: (url: string) => Llm][] = [
  ["OpenAI", (url) => openAiLlm({ model: "m1", key: KEY, baseUrl: url })],
  ["Anthropic", (url) => anthropicLlm({ model: "m1", key: KEY, baseUrl: `${url}/v1` })],
];

const converseWith = (llm: Llm, tools: Toolbox = createEchoTools(), limitMs = 10_000) =>
  converse(limitLlm(llm, { clock: systemClock, timeoutSeconds: limitMs / 1000 }), "be brief", [QUESTION], tools);

describe.each(PROTOCOLS)("%s", (name, connect) => {
  /** Holds a conversation with a model that follows a script. */
  const runScript = async (script: Script, limitMs?: number) => {
    const { url, received } = await provider(script);
    const tools = createEchoTools();
    const reply = await converseWith(connect(url), tools, limitMs).then(
      (text) => ({ text, error: undefined }),
      (error: Error) => ({ text: undefined, error }),
    );
    return { ...reply, received, used: tools.used };
  };
  const respondWith =
    (status: number, text: string) =>
    () =>
    (response: ServerResponse): void => {
      response.statusCode = status;
      response.end(text);
    };

  test("sends the question, the instructions and the tools, and returns the text", async () => {
    const { text, received } = await runScript(() => ({ text: "All is well." }));
    expect(text).toBe("All is well.");
    const [{ path, headers, body }] = received as [(typeof received)[0]];
    expect(body.model).toBe("m1");
    expect(JSON.stringify(body)).toContain("be brief");
    expect(JSON.stringify(body.tools)).toContain("Says it again.");
    if (name === "OpenAI") {
      expect(path).toBe("/v1/chat/completions");
      expect(headers.authorization).toBe(`Bearer ${KEY}`);
      expect(body.messages.at(-1)).toEqual({ role: "user", content: "how are we?" });
    } else {
      expect(path).toBe("/v1/messages");
      expect(headers["x-api-key"]).toBe(KEY);
      expect(headers["anthropic-version"]).toBe("2023-06-01");
      expect(body.messages).toEqual([{ role: "user", content: "how are we?" }]);
    }
  });

  test("answers tool calls until the model returns its text", async () => {
    const { text, used, received } = await runScript((_, round) =>
      round === 0
        ? { text: "let me see", tools: [{ name: "echo", input: { a: 1 } }, { name: "echo" }] }
        : { text: "seen" },
    );
    expect(text).toBe("seen");
    expect(used).toEqual([
      ["echo", { a: 1 }],
      ["echo", {}],
    ]);
    // Omits the question and, for OpenAI, the instructions, which are a message there. The test server numbers the calls.
    const messages = received[1]!.body.messages.slice(name === "OpenAI" ? 2 : 1);
    expect(messages).toEqual(
      name === "OpenAI"
        ? [
            {
              role: "assistant",
              content: "let me see",
              tool_calls: [
                { id: "call_0", type: "function", function: { name: "echo", arguments: '{"a":1}' } },
                { id: "call_1", type: "function", function: { name: "echo", arguments: "{}" } },
              ],
            },
            { role: "tool", tool_call_id: "call_0", content: '{"a":1}' },
            { role: "tool", tool_call_id: "call_1", content: "{}" },
          ]
        : [
            {
              role: "assistant",
              content: [
                { type: "text", text: "let me see" },
                { type: "tool_use", id: "call_0", name: "echo", input: { a: 1 } },
                { type: "tool_use", id: "call_1", name: "echo", input: {} },
              ],
            },
            {
              role: "user",
              content: [
                { type: "tool_result", tool_use_id: "call_0", content: '{"a":1}' },
                { type: "tool_result", tool_use_id: "call_1", content: "{}" },
              ],
            },
          ],
    );
  });

  test.each<[failure: string, script: Script, reason: string]>([
    ["an error that repeats the key", respondWith(401, `{"error":"bad key ${KEY}"}`), "it answered HTTP 401"],
    ["an overload", respondWith(529, "overloaded"), "it answered HTTP 529"],
    ["a response that is not JSON", respondWith(200, "<html>"), "its answer is not JSON"],
    ["half a response", respondWith(200, '{"choices":[{"mess'), "its answer is not JSON"],
    ["another shape", respondWith(200, '{"choices":[],"content":"hello"}'), "its answer is not a"],
    ["a number", respondWith(200, "42"), "its answer is not a"],
    [
      "a valid response of more than a megabyte",
      respondWith(200, JSON.stringify(TOO_LARGE)),
      "its answer is too large",
    ],
    ["an endless response", () => sendEndlessly, "its answer is too large"],
    ["a connection that ends in the middle", () => endInTheMiddle, "its answer broke off"],
    ["a dropped connection", () => (response) => void response.destroy(), "unreachable"],
    ["a redirect", () => redirect, "it answered HTTP 302"],
    ["an empty text", () => ({ text: "  \n" }), "it said nothing"],
    ["endless calls of tools", () => ({ tools: [{ name: "echo" }] }), "it asked for tools without end"],
  ])("fails on %s with an error that does not contain the key", async (_, script, reason) => {
    const { error, received } = await runScript(script);
    expect(error).toBeInstanceOf(LlmFailed);
    expect(error!.message).toContain(reason);
    expect(error!.message).not.toContain(KEY);
    // Eight for the endless calls of tools, else one: a failure is not retried.
    expect(received.length).toBeLessThanOrEqual(8);
  });

  /** Runs a script until the time limit; the limit grows until the request arrives within it, also on a busy machine. */
  const runUntilTimeLimit = async (script: Script) => {
    for (let limitMs = 50; ; limitMs *= 2) {
      const result = await runScript(script, limitMs);
      if (result.received.length > 0) return result;
    }
  };

  test("is ended at the time limit, and its connection is closed", async () => {
    const { error, received } = await runUntilTimeLimit(() => () => {});
    expect(error!.message).toBe("no answer in time");
    await received[0]!.closed;
  });

  test("is ended at the time limit although its response has begun", async () => {
    const { error, received } = await runUntilTimeLimit(() => (response) => void response.write('{"choices":'));
    expect(error!.message).toBe("no answer in time");
    await received[0]!.closed;
  });

  test("returns at most eight thousand characters", async () => {
    const { text } = await runScript(() => ({ text: "long ".repeat(10_000) }));
    // 8,000 characters and an ellipsis.
    expect(text).toHaveLength(8001);
  });

  test("may call at most eight tools a round", async () => {
    const many = Array.from({ length: 100 }, () => ({ name: "echo" }));
    const { used } = await runScript((_, round) => (round === 0 ? { tools: many } : { text: "done" }));
    expect(used).toHaveLength(8);
  });
});

const sendEndlessly = (response: ServerResponse): void => {
  const more = (): void => {
    while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, "x")));
    if (!response.destroyed) response.once("drain", more);
  };
  more();
};

const endInTheMiddle = (response: ServerResponse): void => {
  response.setHeader("content-length", "1000");
  response.write('{"choices":', () => response.destroy());
};

const redirect = (response: ServerResponse): void => {
  response.writeHead(302, { location: "http://127.0.0.1:1/" });
  response.end();
};

test("arguments that are not JSON reach the tool as text", async () => {
  const { url } = await provider((_, round) =>
    round === 0 ? { tools: [{ name: "echo", input: "{not json" }] } : { text: "done" },
  );
  const tools = createEchoTools();
  await converseWith(openAiLlm({ model: "m1", baseUrl: url }), tools);
  expect(tools.used).toEqual([["echo", "{not json"]]);
});

test("unknown kinds of content are ignored", async () => {
  const content = [
    { type: "thinking", thinking: "hm" },
    { type: "text", text: "well" },
  ];
  const { url } = await provider(() => (response) => void response.end(JSON.stringify({ content })));
  expect(await converseWith(anthropicLlm({ model: "m1", baseUrl: url }))).toBe("well");
});

test("after the time limit no tool is called, even if the model ignores the abort", async () => {
  let answer!: (reply: { text: string; toolCalls: { id: string; name: string; input: unknown }[] }) => void;
  const lateReply = new Promise<Parameters<typeof answer>[0]>((resolve) => (answer = resolve));
  const tools = createEchoTools();
  await expect(converseWith({ model: "m1", complete: () => lateReply }, tools, 20)).rejects.toThrow(
    "no answer in time",
  );
  answer({ text: "", toolCalls: [{ id: "1", name: "echo", input: {} }] });
  await lateReply;
  expect(tools.used).toEqual([]);
});

test("after the client has disconnected the remaining tools of a round are not called", async () => {
  const disconnect = new AbortController();
  const call = (id: string) => ({ id, name: "slow", input: {} });
  const llm: Llm = { model: "m1", complete: async () => ({ text: "", toolCalls: [call("1"), call("2")] }) };
  const used: string[] = [];
  const tools: Toolbox = {
    specs: [],
    use: async ({ id }) => {
      used.push(id);
      disconnect.abort();
      return "late";
    },
  };
  await expect(converse(llm, "be brief", [QUESTION], tools, disconnect.signal)).rejects.toThrow("nobody waits");
  expect(used).toEqual(["1"]);
});

test("a model is called at most eight times for a reply", async () => {
  let calls = 0;
  const llm: Llm = {
    model: "m1",
    complete: async () => ({ text: "", toolCalls: [{ id: String(++calls), name: "echo", input: {} }] }),
  };
  await expect(converse(llm, "be brief", [QUESTION], createEchoTools())).rejects.toThrow(
    "it asked for tools without end",
  );
  expect(calls).toBe(8);
});

test("a provider is chosen by name or by address", async () => {
  const { url, received } = await provider(() => ({ text: "hello" }));
  expect(await converseWith(await openLlm({ provider: url, model: "m1" }))).toBe("hello");
  expect(await converseWith(await openLlm({ provider: `${url}/api/v2/`, model: "m1" }))).toBe("hello");
  expect(received.map(({ path }) => path)).toEqual(["/v1/chat/completions", "/api/v2/chat/completions"]);
  expect(received[0]!.headers.authorization).toBeUndefined();
  expect((await openLlm({ provider: "anthropic", model: "claude", key: KEY })).model).toBe("claude");
  expect((await openLlm({ provider: "openai", model: "gpt", key: KEY })).model).toBe("gpt");
});

test.each([
  ["openai", "", "/v1/chat/completions"],
  ["openai", "/gateway/", "/gateway/chat/completions"],
  ["anthropic", "", "/v1/messages"],
  ["anthropic", "/gateway/anthropic/v1", "/gateway/anthropic/v1/messages"],
])(
  "the provider %s can be called at another address with its own key: %j",
  async (providerName, path, expectedPath) => {
    const { url, received } = await provider(() => ({ text: "hello" }));
    const llm = await openLlm({ provider: providerName, model: "m1", key: KEY, baseUrl: `${url}${path}` });
    expect(await converseWith(llm)).toBe("hello");
    expect(received[0]!.path).toBe(expectedPath);
    expect(received[0]!.headers[providerName === "openai" ? "authorization" : "x-api-key"]).toContain(KEY);
  },
);

test.each(["https://llm.example", "http://127.0.0.1:1/v1", "HTTPS://llm.example/a/b/"])("%s is a base URL", (text) => {
  expect(isBaseUrl(text)).toBe(true);
});

test.each([
  "llm.example",
  "ftp://llm.example",
  "https://",
  "https://a:b@llm.example",
  "https://llm.example/?k=1",
  "https://llm.example/#a",
])("%s is not a base URL", (text) => expect(isBaseUrl(text)).toBe(false));

test("a call whose caller has disconnected is stopped and not counted as a failure", async () => {
  const disconnect = new AbortController();
  const { url, received } = await provider(() => () => disconnect.abort());
  const llm = await openLlm({ provider: url, model: "m1" });
  await expect(converse(llm, "be brief", [QUESTION], createEchoTools(), disconnect.signal)).rejects.toThrow(
    "nobody waits for its answer",
  );
  await received[0]!.closed;
  expect(llm.problem!()).toBeNull();
  // With a caller who is gone already, no request is sent.
  await expect(converse(llm, "be brief", [QUESTION], createEchoTools(), disconnect.signal)).rejects.toThrow(LlmFailed);
  expect(received).toHaveLength(1);
});
