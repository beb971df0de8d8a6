/** A language-model provider on a real port that speaks both protocols, and misbehaves on order. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** An utterance of the model in one round. */
export interface Said {
  text?: string;
  tools?: { name: string; input?: unknown }[];
}

/** A request as the provider got it. */
export interface Received {
  path: string;
  headers: IncomingMessage["headers"];
  // oxlint-disable-next-line no-explicit-any -- whatever the client sent
  body: any;
  /** Resolves when its connection is closed. */
  closed: Promise<unknown>;
}

/** The answer: an utterance in the protocol of the request, or any response. */
export type Script = (received: Received, round: number) => Said | ((response: ServerResponse) => void);

/** Starts one. */
export async function provider(script: Script): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const got: Received = {
        path: request.url!,
        headers: request.headers,
        body: JSON.parse(Buffer.concat(pieces).toString()),
        closed: once(response, "close"),
      };
      received.push(got);
      const said = script(got, received.length - 1);
      if (typeof said === "function") return said(response);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(got.path.endsWith("/messages") ? asMessage(said) : asCompletion(said)));
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

const asMessage = ({ text, tools = [] }: Said) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [
    ...(text === undefined ? [] : [{ type: "text", text }]),
    ...tools.map(({ name, input = {} }, i) => ({ type: "tool_use", id: `call_${i}`, name, input })),
  ],
  stop_reason: tools.length > 0 ? "tool_use" : "end_turn",
});

const asCompletion = ({ text = "", tools = [] }: Said) => ({
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
