/**
 * A server in place of a language-model provider. It speaks the protocols of Anthropic (paths that end in `/messages`) and OpenAI,
 * and its script may answer anything.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A message of the model: text, calls of tools, or both. */
export interface Said {
  text?: string;
  tools?: { name: string; input?: unknown }[];
}

/** A request to the model. */
export interface Received {
  path: string;
  headers: IncomingMessage["headers"];
  // oxlint-disable-next-line no-explicit-any -- requests have no type
  body: any;
  /** Resolves when the connection of the request is closed. */
  closed: Promise<unknown>;
}

/** Returns the model's message for a request, or writes any response itself. `round` counts the requests from 0. */
export type Script = (received: Received, round: number) => Said | ((response: ServerResponse) => void);

/** Starts the server on a free port; it ends with the test. `received` lists the requests. */
export async function provider(script: Script): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const receivedRequest: Received = {
        path: request.url!,
        headers: request.headers,
        body: JSON.parse(Buffer.concat(chunks).toString()),
        closed: once(response, "close"),
      };
      received.push(receivedRequest);
      const answer = script(receivedRequest, received.length - 1);
      if (typeof answer === "function") return answer(response);
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify(
          receivedRequest.path.endsWith("/messages") ? toAnthropicMessage(answer) : toOpenAiCompletion(answer),
        ),
      );
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

const toAnthropicMessage = ({ text, tools = [] }: Said) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [
    ...(text === undefined ? [] : [{ type: "text", text }]),
    ...tools.map(({ name, input = {} }, i) => ({ type: "tool_use", id: `call_${i}`, name, input })),
  ],
  stop_reason: tools.length > 0 ? "tool_use" : "end_turn",
});

const toOpenAiCompletion = ({ text = "", tools = [] }: Said) => ({
  id: "cmpl_1",
  object: "chat.completion",
  choices: [
    {
      index: 0,
      finish_reason: tools.length > 0 ? "tool_calls" : "stop",
      message: {
        role: "assistant",
        content: text === "" ? null : text,
        ...(tools.length > 0
          ? {
              tool_calls: tools.map(({ name, input = {} }, i) => ({
                id: `call_${i}`,
                type: "function",
                function: { name, arguments: typeof input === "string" ? input : JSON.stringify(input) },
              })),
            }
          : {}),
      },
    },
  ],
});
