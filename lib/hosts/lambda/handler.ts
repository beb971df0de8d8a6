/** Adapts a fetch-style handler to Lambda: event to `Request`, `Response` to result, errors to JSON. */
import type { Log } from "../../kit/platform.ts";
import type { Handler } from "../../http/endpoint.ts";
import { AppError } from "../../kit/errors.ts";
import { errorResponse, toAppError } from "../../http/error_response.ts";
import { startError } from "../start_error.ts";
import { type Payload, readEvent, type ReadOptions } from "./event.ts";

/** The part in use of Lambda's invocation context. */
export interface InvocationContext {
  awsRequestId: string;
}

/** Result that API Gateway, Function URLs and load balancers turn into an HTTP response. */
export interface LambdaResult {
  statusCode: number;
  headers?: Record<string, string>;
  /** Payload format 2.0. */
  cookies?: string[];
  /** In payload format 1.0 the headers with several values; for a load balancer that sends lists, all headers. */
  multiValueHeaders?: Record<string, string[]>;
  body: string;
  isBase64Encoded: boolean;
}

/** A Lambda function for HTTP events. */
export type LambdaHandler = (event: unknown, context: InvocationContext) => Promise<LambdaResult>;

export interface LambdaHandlerOptions extends ReadOptions {
  /** Returns the handler of a request. A rejection is answered as an error, and the next request calls it again. */
  open(request: Request): Promise<Handler>;
  log: Log;
}

/**
 * Creates a Lambda function. It answers every HTTP event, also a malformed one; it throws only for events that have no
 * answer, such as those of a queue, so that they do not count as handled.
 */
export function lambdaHandler({ open, log, ...options }: LambdaHandlerOptions): LambdaHandler {
  return async (event, context) => {
    rejectMessages(event);
    const id = context?.awsRequestId ?? crypto.randomUUID();
    let payload: Payload = "2.0";
    let isHead = false;
    let fetch: Handler | undefined;
    try {
      const parsed = readEvent(event, options);
      const { request, locationWithSlash } = parsed;
      payload = parsed.payload;
      const { method } = request;
      isHead = method === "HEAD";
      // The console has relative links, which need the slash at the end of its address.
      if (locationWithSlash !== undefined && (isHead || method === "GET"))
        return await toResult(new Response(null, { status: 308, headers: { location: locationWithSlash } }), payload);
      // Lambda's id of the invocation connects the answer with the function's log.
      if (!request.headers.has("x-request-id")) request.headers.set("x-request-id", id);
      fetch = await open(request);
      return await toResult(await fetch(request), payload);
    } catch (error) {
      // Without a handler, the error is one of the event or of the start.
      const appError = fetch ? toAppError(error) : startError(error);
      if (!(error instanceof AppError) || appError.status >= 500)
        log.error("request failed", {
          request_id: id,
          error: String(error),
          stack: (error as Error | undefined)?.stack,
        });
      const response = errorResponse(appError, id);
      return toResult(isHead ? new Response(null, response) : response, payload);
    }
  };
}

function rejectMessages(event: unknown): void {
  const { Records, source } = (event ?? {}) as Record<string, unknown>;
  if (Array.isArray(Records) || typeof source === "string")
    throw new Error("this function answers HTTP requests; it was given an event of a queue, a topic or a schedule");
}

/** Size limits of a function's complete result: the bytes, with 16 KiB to spare, and the words for the error. */
const LAMBDA_LIMIT = {
  bytes: 6 * 1024 * 1024 - 16 * 1024,
  words: "6 MB, which is all that a Lambda function may give",
};
const BALANCER_LIMIT = {
  bytes: 1_000_000 - 16 * 1024,
  words: "1 MB, which is all that a load balancer takes of a function",
};

const isBalancer = (payload: Payload): boolean => payload === "alb" || payload === "alb_lists";

/** Converts a response. Errors: 404 `not_found` for an event stream, 413 `payload_too_large`. */
async function toResult(response: Response, payload: Payload): Promise<LambdaResult> {
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    await response.body?.cancel();
    throw new AppError("not_found", "this host has no event stream; request new entries with `after`");
  }
  const result: LambdaResult = {
    statusCode: response.status,
    ...toResultHeaders(response.headers, payload),
    ...toResultBody(new Uint8Array(await response.arrayBuffer())),
  };
  const { bytes, words } = isBalancer(payload) ? BALANCER_LIMIT : LAMBDA_LIMIT;
  // The limit is on the result as JSON, in which a control character takes most: six bytes. A short body is not encoded to measure it.
  if (result.body.length * 6 > bytes && Buffer.byteLength(JSON.stringify(result)) > bytes)
    throw new AppError("payload_too_large", `the answer is over ${words}; ask for it in pages (limit, after, before)`);
  return result;
}

/** Returns headers in the form of the payload. A load balancer without lists gets only the last of several cookies. */
function toResultHeaders(
  responseHeaders: Headers,
  payload: Payload,
): Pick<LambdaResult, "headers" | "cookies" | "multiValueHeaders"> {
  const headers: Record<string, string> = {};
  for (const [name, value] of responseHeaders) if (name !== "set-cookie") headers[name] = value;
  const cookies = responseHeaders.getSetCookie();
  const lists = cookies.length > 0 ? { "set-cookie": cookies } : {};
  if (payload === "alb_lists") {
    const headerLists = Object.entries(headers).map(([name, value]) => [name, [value]]);
    return { multiValueHeaders: { ...Object.fromEntries(headerLists), ...lists } };
  }
  if (cookies.length === 0) return { headers };
  if (payload === "alb") return { headers: { ...headers, "set-cookie": cookies.at(-1)! } };
  return { headers, ...(payload === "2.0" ? { cookies } : { multiValueHeaders: lists }) };
}

/** Returns text unencoded, since a REST API decodes base64 only for configured media types, and other bytes as base64. */
function toResultBody(bytes: Uint8Array): Pick<LambdaResult, "body" | "isBase64Encoded"> {
  try {
    return { body: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), isBase64Encoded: false };
  } catch {
    return { body: Buffer.from(bytes).toString("base64"), isBase64Encoded: true };
  }
}
