/** Asks a proxy by a name over TLS, as somebody outside would whose resolver leads here. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";

/** The address of a proxy, and the certificate that its clients trust. */
export interface Door {
  port: number;
  ca: string;
}

/** The request. */
export interface Question {
  name: string;
  path: string;
  headers?: Record<string, string>;
  /** Sent by POST, as a form. */
  form?: Record<string, string>;
}

/** The answer. */
export interface Reply {
  status: number;
  headers: IncomingMessage["headers"];
  text: string;
  // oxlint-disable-next-line no-explicit-any -- whatever the service answers
  json: any;
}

/** Asks, and gives the answer as it begins. */
export async function open({ port, ca }: Door, { name, path, headers = {}, form }: Question): Promise<IncomingMessage> {
  const body = form && new URLSearchParams(form).toString();
  const asked = request({
    host: "127.0.0.1",
    port,
    ca,
    servername: name,
    agent: false,
    method: body === undefined ? "GET" : "POST",
    path,
    headers: {
      host: name,
      ...(body !== undefined && { "content-type": "application/x-www-form-urlencoded" }),
      ...headers,
    },
  });
  asked.end(body);
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return answer;
}

/** Asks, and reads the whole answer. */
export async function ask(door: Door, question: Question): Promise<Reply> {
  const answer = await open(door, question);
  let text = "";
  for await (const piece of answer.setEncoding("utf8")) text += piece;
  const json = answer.headers["content-type"]?.startsWith("application/json") ? JSON.parse(text) : undefined;
  return { status: answer.statusCode!, headers: answer.headers, text, json };
}
