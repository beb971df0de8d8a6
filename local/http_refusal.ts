/** Answers to what never reaches a handler: malformed, oversized or slow requests, in the shape of every other error. */
import { STATUS_CODES, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

export const REFUSALS = {
  malformed: [400, "bad_request", "the request is not well-formed HTTP"],
  bad_target: [
    400,
    "bad_request",
    "the request target must be a path, or an http URL of the same host as the Host header",
  ],
  bad_path: [400, "bad_request", "the path must not contain . or .. segments or a backslash; send it as it is meant"],
  host_missing: [400, "bad_request", "the Host header is missing"],
  timeout: [408, "request_timeout", "the request did not arrive in time"],
  headers: [431, "headers_too_large", "the request's headers are too large"],
  internal: [500, "internal", "internal error; the service's log has it under this request_id"],
} as const satisfies Record<string, [status: number, code: string, sentence: string]>;

/** Why a request is refused before a handler. */
export type Refusal = keyof typeof REFUSALS;

function written(refusal: Refusal, requestId: string) {
  const [status, code, sentence] = REFUSALS[refusal];
  const body = JSON.stringify({ error: sentence, code, status, request_id: requestId });
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-request-id": requestId,
    connection: "close",
  };
  return { status, headers, body };
}

/** Answers a request that was received; when its answer has begun already, cuts it off instead. */
export function refuseRequest(response: ServerResponse, refusal: Refusal, requestId: string): void {
  if (response.headersSent) return void response.destroy();
  const { status, headers, body } = written(refusal, requestId);
  response.writeHead(status, headers).end(body);
}

/** How long a refused sender is listened to, so that its own sending does not reset the connection under the answer. */
const LINGER_MS = 1000;

/**
 * Answers on a connection whose request could not be received. `unsent` are the answers still owed on it: one that has
 * begun, or is owed to a request received whole, must not be mixed with this refusal, so the connection is only closed.
 */
export function refuseConnection(
  error: NodeJS.ErrnoException,
  connection: Duplex,
  unsent: readonly ServerResponse[],
  requestId: string,
): void {
  const mixed = unsent.some((response) => response.headersSent || response.req.complete);
  if (error.code === "ECONNRESET" || !connection.writable || mixed) return void connection.destroy();
  const { status, headers, body } = written(refusalOf(error), requestId);
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  connection.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join("")}\r\n${body}`);
  connection.removeAllListeners("data").on("data", () => {}); // away from the parser, which would refuse again
  setTimeout(() => connection.destroy(), LINGER_MS).unref();
}

function refusalOf(error: NodeJS.ErrnoException): Refusal {
  if (error.code === "HPE_HEADER_OVERFLOW") return "headers";
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return "timeout";
  return "malformed";
}
