/**
 * `countersign mcp`: MCP on standard input and output, carried to the /mcp of a running service. It keeps nothing and decides
 * nothing: whatever the service answers is passed on as it is.
 */
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

/** Address of the service, its caller, and both ends of the conversation. */
export interface McpBridge {
  /** The service's address, `/mcp` or not at its end. */
  url: string;
  /** The agent's secret; without one it is only read. */
  token?: string | undefined;
  /** One message a line, both ways. */
  input: Readable;
  output: Writable;
  fetch?: typeof globalThis.fetch;
}

const META = "_meta";
const VERSION = "io.modelcontextprotocol/protocolVersion";

/** A message as far as the way of it depends on what it says. */
interface Message {
  id?: string | number;
  method?: string;
  params?: { requestId?: unknown; name?: unknown; taskId?: unknown; [META]?: Record<string, unknown> };
}

/** Carries messages until the input ends and all that was asked is answered. */
export async function runMcp({ url, token, input, output, fetch = globalThis.fetch }: McpBridge): Promise<void> {
  const address = /\/mcp\/*$/.test(url) ? url : `${url.replace(/\/+$/, "")}/mcp`;
  const underWay = new Map<unknown, AbortController>();
  const answers = new Set<Promise<void>>();

  const answer = async (line: string, message: Message): Promise<void> => {
    const { id, method } = message;
    const gone = new AbortController();
    underWay.set(id, gone);
    let said: string;
    try {
      const headers = headersOf(message, token);
      const response = await fetch(address, { method: "POST", headers, body: line, signal: gone.signal });
      const text = await response.text();
      said = isRpc(text) ? text : failure(id, sentenceIn(text) ?? `${address} answered ${response.status}`);
    } catch (error) {
      said = failure(id, `${method ?? "the message"} did not reach ${address}: ${whyOf(error)}`);
    }
    if (underWay.get(id) === gone) underWay.delete(id);
    // A cancelled request is not answered.
    if (!gone.signal.aborted) write(said);
  };
  const write = (text: string): void => void output.write(`${text}\n`);

  for await (const line of createInterface({ input })) {
    if (line.trim() === "") continue;
    const message = parsed(line);
    if (!message) write(failure(undefined, "the line is no JSON message", -32700));
    else if (message.method === "notifications/cancelled") underWay.get(message.params?.requestId)?.abort();
    // Other notifications tell a service without sessions nothing.
    else if (message.id !== undefined || message.method === undefined) {
      const answering = answer(line, message);
      answers.add(answering);
      void answering.finally(() => answers.delete(answering));
    }
  }
  await Promise.all(answers);
}

/** The headers that streamable HTTP asks for in addition to the body. */
function headersOf({ method, params }: Message, token: string | undefined): Record<string, string> {
  const version = params?.[META]?.[VERSION];
  const name = params?.name ?? params?.taskId;
  return {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(typeof version === "string" && { "mcp-protocol-version": version, "mcp-method": String(method) }),
    ...(typeof name === "string" && { "mcp-name": headerText(name) }),
  };
}

const PLAIN = /^(?!=\?base64\?)[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Encodes text that is not plain ASCII for a header. */
const headerText = (name: string): string =>
  PLAIN.test(name) ? name : `=?base64?${Buffer.from(name).toString("base64")}?=`;

function parsed(line: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

const isRpc = (text: string): boolean => (parsed(text) as { jsonrpc?: unknown } | undefined)?.jsonrpc === "2.0";

/** Returns the sentence in an error of the service. */
function sentenceIn(text: string): string | undefined {
  const { error } = (parsed(text) ?? {}) as { error?: unknown };
  return typeof error === "string" ? error : undefined;
}

const whyOf = (error: unknown): string => {
  const { cause, message } = error as Error & { cause?: Error };
  return cause?.message || message;
};

const failure = (id: Message["id"], message: string, code = -32603): string =>
  JSON.stringify({ jsonrpc: "2.0", id: id ?? null, error: { code, message } });
