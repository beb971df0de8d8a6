/** The seam between Lambda and a fetch-style handler: event to `Request`, `Response` to result, errors to JSON. */
import type { Log } from "../../kit/platform.ts";
import type { Handler } from "../../http/endpoint.ts";
import { AppError } from "../../kit/errors.ts";
import { errorResponse, toAppError } from "../../http/error_response.ts";
import { cannotStart } from "../cannot_start.ts";
import { type Payload, readEvent, type ReadOptions } from "./event.ts";
import { type LambdaResult, resultOf } from "./result.ts";

/** What Lambda tells of an invocation, as far as it is used. */
export interface InvocationContext {
  awsRequestId: string;
}

/** A Lambda function for HTTP events. */
export type LambdaHandler = (event: unknown, context: InvocationContext) => Promise<LambdaResult>;

/** Where the handler comes from, and where errors go that no handler saw. */
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
    refuseMessages(event);
    const id = context?.awsRequestId ?? crypto.randomUUID();
    let payload: Payload = "2.0";
    let isHead = false;
    let fetch: Handler | undefined;
    try {
      const read = readEvent(event, options);
      payload = read.payload;
      isHead = read.request.method === "HEAD";
      // Lambda's own id joins the answer with the function's log.
      if (!read.request.headers.has("x-request-id")) read.request.headers.set("x-request-id", id);
      fetch = await open(read.request);
      return await resultOf(await fetch(read.request), payload);
    } catch (error) {
      const told = fetch ? toAppError(error) : cannotStart(error);
      if (!(error instanceof AppError) || told.status >= 500)
        log.error("request failed", {
          request_id: id,
          error: String(error),
          stack: (error as Error | undefined)?.stack,
        });
      const response = errorResponse(told, id);
      return resultOf(isHead ? new Response(null, response) : response, payload);
    }
  };
}

function refuseMessages(event: unknown): void {
  const { Records, source } = (event ?? {}) as Record<string, unknown>;
  if (Array.isArray(Records) || typeof source === "string")
    throw new Error("this function answers HTTP requests; it was given an event of a queue, a topic or a schedule");
}
