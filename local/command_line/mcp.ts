/**
 * `countersign mcp`: forwards MCP messages from standard input to `/mcp` of a running service, and its answers, unchanged, to
 * standard output. It has no state.
 */
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

/** Options of the bridge. */
export interface McpBridge {
  /** The service's address, with or without `/mcp` at its end. */
  url: string;
  /** The agent's secret; without it only reads are allowed. */
  token?: string | undefined;
  /** Messages, one per line, as in the output. */
  input: Readable;
  output: Writable;
  fetch?: typeof globalThis.fetch;
}

const META = "_meta";
const VERSION = "io.modelcontextprotocol/protocolVersion";

/** The members of a message that decide how it is forwarded. */
interface Message {
  id?: string | number;
  method?: string;
  params?: { requestId?: unknown; name?: unknown; taskId?: unknown; [META]?: Record<string, unknown> };
}

/** Forwards messages until the input has ended and all requests are answered. */
export async function runMcp({ url, token, input, output, fetch = globalThis.fetch }: McpBridge): Promise<void> {
  const address = /\/mcp\/*$/.test(url) ? url : `${url.replace(/\/+$/, "")}/mcp`;
  const pending = new Map<unknown, AbortController>();
  const answers = new Set<Promise<void>>();

  const answer = async (line: string, message: Message): Promise<void> => {
    const { id, method } = message;
    const cancellation = new AbortController();
    pending.set(id, cancellation);
    let reply: string;
    try {
      const headers = buildHeaders(message, token);
      const response = await fetch(address, { method: "POST", headers, body: line, signal: cancellation.signal });
      const text = await response.text();
      reply = isRpc(text) ? text : formatFailure(id, findErrorText(text) ?? `${address} answered ${response.status}`);
    } catch (error) {
      reply = formatFailure(id, `${method ?? "the message"} did not reach ${address}: ${describeCause(error)}`);
    }
    if (pending.get(id) === cancellation) pending.delete(id);
    // A cancelled request is not answered.
    if (!cancellation.signal.aborted) write(reply);
  };
  const write = (text: string): void => void output.write(`${text}\n`);

  for await (const line of createInterface({ input })) {
    if (line.trim() === "") continue;
    const message = parseMessage(line);
    if (!message) write(formatFailure(undefined, "the line is not a JSON message", -32700));
    else if (message.method === "notifications/cancelled") pending.get(message.params?.requestId)?.abort();
    // Other notifications are ignored, since the service has no sessions.
    else if (message.id !== undefined || message.method === undefined) {
      const pendingAnswer = answer(line, message);
      answers.add(pendingAnswer);
      void pendingAnswer.finally(() => answers.delete(pendingAnswer));
    }
  }
  await Promise.all(answers);
}

/** Builds the headers that streamable HTTP requires. */
function buildHeaders({ method, params }: Message, token: string | undefined): Record<string, string> {
  const version = params?.[META]?.[VERSION];
  // The service has no resources, whose requests would repeat `uri` in place of a name.
  const name = params?.name ?? params?.taskId;
  return {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(typeof version === "string" && { "mcp-protocol-version": version, "mcp-method": String(method) }),
    ...(typeof name === "string" && { "mcp-name": encodeHeader(name) }),
  };
}

const PLAIN = /^(?!=\?base64\?)[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Encodes text that is not plain ASCII for a header. */
const encodeHeader = (name: string): string =>
  PLAIN.test(name) ? name : `=?base64?${Buffer.from(name).toString("base64")}?=`;

function parseMessage(line: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

const isRpc = (text: string): boolean => (parseMessage(text) as { jsonrpc?: unknown } | undefined)?.jsonrpc === "2.0";

/** Returns the sentence in an error of the service; undefined where the text has none. */
function findErrorText(text: string): string | undefined {
  const { error } = (parseMessage(text) ?? {}) as { error?: unknown };
  return typeof error === "string" ? error : undefined;
}

const describeCause = (error: unknown): string => {
  const { cause, message } = error as Error & { cause?: Error };
  return cause?.message || message;
};

const formatFailure = (id: Message["id"], message: string, code = -32603): string =>
  JSON.stringify({ jsonrpc: "2.0", id: id ?? null, error: { code, message } });
