/** The seam between Lambda and a fetch-style handler: event to `Request`, `Response` to result, errors to JSON. */
import type { Log } from "../../kit/platform.ts";
import type { Handler } from "../../http/endpoint.ts";
import { AppError } from "../../kit/errors.ts";
import { errorResponse, toAppError } from "../../http/error_response.ts";
import { startError } from "../cannot_start.ts";
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
  /** Payload format 1.0: headers that are given several times. A load balancer that asks for lists: all of them. */
  multiValueHeaders?: Record<string, string[]>;
  body: string;
  isBase64Encoded: boolean;
}

/** A Lambda function for HTTP events. */
export type LambdaHandler = (event: unknown, context: InvocationContext) => Promise<LambdaResult>;

/** Source of the handler, and sink of errors that no handler saw. */
export interface LambdaHandlerOptions extends ReadOptions {
  /** Asked for the handler of each request; what it rejects with is answered, and it is asked again for the next. */
  open(request: Request): Promise<Handler>;
  log: Log;
}

/**
 * Makes a Lambda function. It answers every HTTP event, also a malformed one, with JSON; it throws only for events that
 * have no answer, such as those of a queue, so that they are not taken for done.
 */
export function lambdaHandler({ open, log, ...options }: LambdaHandlerOptions): LambdaHandler {
  return async (event, context) => {
    rejectMessages(event);
    const id = context?.awsRequestId ?? crypto.randomUUID();
    let payload: Payload = "2.0";
    let isHead = false;
    let fetch: Handler | undefined;
    try {
      const read = readEvent(event, options);
      payload = read.payload;
      const { method } = read.request;
      isHead = method === "HEAD";
      // Links of the page there are relative: from an address without the slash they would lead astray.
      if (read.locationWithSlash !== undefined && (isHead || method === "GET"))
        return await toResult(
          new Response(null, { status: 308, headers: { location: read.locationWithSlash } }),
          payload,
        );
      // Lambda's own id joins the answer with the function's log.
      if (!read.request.headers.has("x-request-id")) read.request.headers.set("x-request-id", id);
      fetch = await open(read.request);
      return await toResult(await fetch(read.request), payload);
    } catch (error) {
      const answered = fetch ? toAppError(error) : startError(error);
      if (!(error instanceof AppError) || answered.status >= 500)
        log.error("request failed", {
          request_id: id,
          error: String(error),
          stack: (error as Error | undefined)?.stack,
        });
      const response = errorResponse(answered, id);
      return toResult(isHead ? new Response(null, response) : response, payload);
    }
  };
}

function rejectMessages(event: unknown): void {
  const { Records, source } = (event ?? {}) as Record<string, unknown>;
  if (Array.isArray(Records) || typeof source === "string")
    throw new Error("this function answers HTTP requests; it was given an event of a queue, a topic or a schedule");
}

/** Size limit of a function's result, including the members around the body: in bytes, and in words. */
const LAMBDA_LIMIT = {
  bytes: 6 * 1024 * 1024 - 16 * 1024,
  words: "6 MB, which is all that a Lambda function may give",
};
const BALANCER_LIMIT = {
  bytes: 1_000_000 - 16 * 1024,
  words: "1 MB, which is all that a load balancer takes of a function",
};

const isBalancer = (payload: Payload): boolean => payload === "alb" || payload === "alb_lists";

/** The result. Errors: 404 `not_found` for a stream without an end, 413 `payload_too_large` for what cannot be passed on. */
async function toResult(response: Response, payload: Payload): Promise<LambdaResult> {
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    await response.body?.cancel();
    throw new AppError("not_found", "this host answers whole and has no event stream; ask for what is new by `after`");
  }
  const result: LambdaResult = {
    statusCode: response.status,
    ...toResultHeaders(response.headers, payload),
    ...toResultBody(new Uint8Array(await response.arrayBuffer())),
  };
  const { bytes, words } = isBalancer(payload) ? BALANCER_LIMIT : LAMBDA_LIMIT;
  // The limit is on the result as JSON, in which a quote takes two bytes and a control character six.
  if (result.body.length * 6 > bytes && Buffer.byteLength(JSON.stringify(result)) > bytes)
    throw new AppError("payload_too_large", `the answer is over ${words}; ask for it in pages (limit, after, before)`);
  return result;
}

/** The headers in the form that the caller takes; of several cookies a balancer that takes no lists has the last one. */
function toResultHeaders(
  responseHeaders: Headers,
  payload: Payload,
): Pick<LambdaResult, "headers" | "cookies" | "multiValueHeaders"> {
  const headers: Record<string, string> = {};
  for (const [name, value] of responseHeaders) if (name !== "set-cookie") headers[name] = value;
  const cookies = responseHeaders.getSetCookie();
  const lists = cookies.length > 0 ? { "set-cookie": cookies } : {};
  if (payload === "alb_lists") {
    const each = Object.entries(headers).map(([name, value]) => [name, [value]]);
    return { multiValueHeaders: { ...Object.fromEntries(each), ...lists } };
  }
  if (cookies.length === 0) return { headers };
  if (payload === "alb") return { headers: { ...headers, "set-cookie": cookies.at(-1)! } };
  return { headers, ...(payload === "2.0" ? { cookies } : { multiValueHeaders: lists }) };
}

/** Text as it is, since a REST API decodes base64 only for configured media types; bytes that are no text as base64. */
function toResultBody(bytes: Uint8Array): Pick<LambdaResult, "body" | "isBase64Encoded"> {
  try {
    return { body: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), isBase64Encoded: false };
  } catch {
    return { body: Buffer.from(bytes).toString("base64"), isBase64Encoded: true };
  }
}
