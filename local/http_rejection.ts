/** Rejects malformed, oversized and slow requests, which never reach a handler, with the usual body of an error. */
import { STATUS_CODES, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** Status, code and message of each rejection. */
export const REJECTIONS = {
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

/** Reason for which a request is rejected before it reaches a handler. */
export type Rejection = keyof typeof REJECTIONS;

function buildResponse(rejection: Rejection, requestId: string) {
  const [status, code, sentence] = REJECTIONS[rejection];
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

/** Rejects a received request; closes the connection instead if its response has begun. */
export function rejectRequest(response: ServerResponse, rejection: Rejection, requestId: string): void {
  if (response.headersSent) return void response.destroy();
  const { status, headers, body } = buildResponse(rejection, requestId);
  response.writeHead(status, headers).end(body);
}

/** Time for which input is still read after a rejection: closing immediately could reset the connection before the client has the answer. */
const LINGER_MS = 1000;

/**
 * Rejects a request that could not be received. `pendingResponses`: responses that the connection still waits for. If one of them
 * has begun, or belongs to a complete request, the connection is only closed: the client could take the rejection for that response.
 */
export function rejectConnection(
  error: NodeJS.ErrnoException,
  connection: Duplex,
  pendingResponses: readonly ServerResponse[],
  requestId: string,
): void {
  const wouldMix = pendingResponses.some((response) => response.headersSent || response.req.complete);
  if (error.code === "ECONNRESET" || !connection.writable || wouldMix) return void connection.destroy();
  const { status, headers, body } = buildResponse(findRejection(error), requestId);
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  connection.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join("")}\r\n${body}`);
  connection.removeAllListeners("data").on("data", () => {}); // the parser would reject again
  setTimeout(() => connection.destroy(), LINGER_MS).unref();
}

function findRejection(error: NodeJS.ErrnoException): Rejection {
  if (error.code === "HPE_HEADER_OVERFLOW") return "headers";
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return "timeout";
  return "malformed";
}
