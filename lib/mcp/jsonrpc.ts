/** JSON-RPC 2.0 as MCP uses it: one message for each HTTP request, with ids that are text or integers. */
import { JsonRejected, parseStrictJson } from "../kit/strict_json.ts";

/** Error codes of JSON-RPC and MCP. */
export const RPC = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** An error of the protocol, not of a tool; `status` is the HTTP status of the answer, `data` a member of the JSON-RPC error. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  constructor(
    readonly code: (typeof RPC)[keyof typeof RPC],
    message: string,
    readonly status: 200 | 400 | 404 = 400,
    readonly data?: object,
  ) {
    super(message);
  }
}

export type Id = string | number;

/** A request, or without an id a notification. */
export interface Message {
  id: Id | undefined;
  method: string;
  params: Readonly<Record<string, unknown>>;
  /** The text of the body. */
  text: string;
}

/** Returns true for a JSON object; lists are not objects. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Finds the id in a body, so that an error can name its request; undefined without a valid id. */
export function findId(body: unknown): Id | undefined {
  const id = isObject(body) ? body["id"] : undefined;
  return typeof id === "string" || Number.isSafeInteger(id) ? (id as Id) : undefined;
}

/** Parses a body as JSON. Errors: `RpcError` with `parse`. */
export function parseBody(text: string): unknown {
  try {
    return parseStrictJson(text);
  } catch (error) {
    if (error instanceof JsonRejected) throw new RpcError(RPC.parse, `the body ${error.message}`);
    throw error;
  }
}

/** Validates a parsed body as a message. Errors: `RpcError` with `invalidRequest`. */
export function parseMessage(body: unknown, text: string): Message {
  const invalidRequest = (reason: string) => new RpcError(RPC.invalidRequest, reason);
  if (Array.isArray(body)) throw invalidRequest("batches are not supported; send one message per request");
  if (!isObject(body) || body["jsonrpc"] !== "2.0")
    throw invalidRequest('the body must be one JSON-RPC message, "jsonrpc": "2.0"');
  const { method, params = {} } = body;
  if (typeof method !== "string") throw invalidRequest("the body must be a request or a notification, with a method");
  if (!isObject(params)) throw invalidRequest("params must be an object");
  const id = findId(body);
  if ("id" in body && id === undefined) throw invalidRequest("id must be text or a whole number");
  return { id, method, params, text };
}

/** Formats the answer to a request. */
export const resultText = (id: Id, result: object): string => JSON.stringify({ jsonrpc: "2.0", id, result });

/** Formats an error; its id is `null` if the request is unknown. */
export const errorText = (id: Id | undefined, { code, message, data }: RpcError): string =>
  JSON.stringify({ jsonrpc: "2.0", id: id ?? null, error: { code, message, ...(data && { data }) } });
