/** Sends requests to a proxy over TLS under a host name, as if DNS resolved the name to this machine. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";

/** The port of a proxy, and the certificate that its clients trust. */
export interface ProxyAddress {
  port: number;
  ca: string;
}

export interface ProxyRequest {
  /** The host name. */
  name: string;
  path: string;
  headers?: Record<string, string>;
  /** Sent by POST, as a form. */
  form?: Record<string, string>;
}

export interface Reply {
  status: number;
  headers: IncomingMessage["headers"];
  text: string;
  // oxlint-disable-next-line no-explicit-any -- responses have no type
  json: any;
}

/** Sends a request and returns the response when its headers arrive. */
export async function openResponse(
  { port, ca }: ProxyAddress,
  { name, path, headers = {}, form }: ProxyRequest,
): Promise<IncomingMessage> {
  const body = form && new URLSearchParams(form).toString();
  const outgoing = request({
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
  outgoing.end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  return response;
}

/** Sends a request and reads the complete response. */
export async function sendRequest(proxy: ProxyAddress, proxyRequest: ProxyRequest): Promise<Reply> {
  const response = await openResponse(proxy, proxyRequest);
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  const json = response.headers["content-type"]?.startsWith("application/json") ? JSON.parse(text) : undefined;
  return { status: response.statusCode!, headers: response.headers, text, json };
}
