/**
 * Declares handlers. The declaration can be read from an endpoint: the router, the documentation and the deployment templates
 * use it. Checks run in one order: method, runtime, same site, token, body, then the handler.
 */
import type * as z from "zod";
import { StoreUnavailable } from "../store/store.ts";
import { AppError, invalidField, type ErrorCode } from "../kit/errors.ts";
import { parseTraceparent, runInTrace } from "../kit/trace.ts";
import { errorResponse, toAppError } from "./error_response.ts";
import { parseInput } from "./form.ts";
import { type Answer, shareAnswer, isAnswer, toResponse } from "./answer.ts";
import { readFields } from "./body.ts";
import { admit, isWrite, type AccessRules, rejectRequest } from "./admission.ts";
import type { Caller, Identity } from "../changes/caller.ts";
import type { Handler, HttpDeps } from "./deps.ts";
import { maskErrors, limitToReader } from "../changes/read_scope.ts";
import { readExpectedRevisions } from "./if_match.ts";
import type { IdempotencyKey } from "../changes/idempotency.ts";
import { readIdempotencyKey } from "./idempotency.ts";
import { logAtIntervals } from "./log_at_intervals.ts";
import { requestPath } from "./path.ts";
import { createSharedReads } from "./shared_reads.ts";
import { runWithPriority } from "./write_priority.ts";

export type { Handler } from "./deps.ts";

/** Declaration of a handler, without its implementation. */
export interface Declaration<I extends z.ZodType = z.ZodType, D = never> extends AccessRules {
  /** As mounted by `app`; `:name` is a path parameter. */
  path: string;
  /** The last parameter extends to the end of the path, slashes included. */
  rest?: true;
  /** Name of the operation in the document and in clients: a verb and a noun, such as `proposeChange`. */
  operation: string;
  summary: string;
  /** One or two sentences for somebody who does not know the product: the effect and its consequences. */
  description: string;
  /** Example of an input. */
  example: z.input<NoInfer<I>>;
  /** The field that names the caller; if a request lacks it, it gets the agent, or the person whom the proxy names. */
  callerField?: string;
  /** Query and path parameters of a GET, body fields of a POST; a function if they depend on the intent. */
  input: I | ((deps: D) => I);
  /** The field that the complete body is the value of, as text. */
  text?: string;
  /** The body is JSON, whatever its content type is, and never a form. */
  json?: true;
  /** The media type that a body for `text` must have; absent: any. */
  textType?: string;
  /** The limit of such a body in bytes. Each byte becomes a character of the text. */
  bytes?: number;
  /** A POST whose fields may be in the query; its handler reads them there. */
  fieldsInQuery?: true;
  /** Query parameters of a POST that an external protocol sends and that change no answer; any other is 400. */
  ignoredQuery?: readonly string[];
  /** Form fields whose text is JSON. */
  jsonFields?: readonly string[];
  /** The success body; a function if it is only needed for the documentation and tests. */
  output: z.ZodType | (() => z.ZodType);
  success?: 200 | 201;
  /** Further statuses that carry the success body. */
  sameBodyStatuses?: readonly number[];
  /** Answers 304 if `If-None-Match` names the current answer. */
  notModified?: true;
  /** True for a read whose answer depends on its input and the records alone: concurrent callers share one answer. */
  shared?: (input: z.output<NoInfer<I>>) => boolean;
  /** Further statuses that carry no body. */
  emptyStatuses?: readonly number[];
  /** Its own error codes, in addition to those every endpoint may answer. */
  errors?: readonly ErrorCode[];
  /** Formats errors as an external protocol requires. */
  errorFormat?: ErrorFormat;
}

/** Errors in the form of an external protocol. */
export interface ErrorFormat {
  /** The bodies by status; `null` for none. */
  bodies: Readonly<Record<number, z.ZodType | null>>;
  format(error: AppError, request: Request): Answer | Response;
}

/** A request with its caller. */
export interface Call<D extends object = object> extends Pick<Caller, "expected"> {
  deps: D & HttpDeps;
  request: Request;
  identity: Identity;
  /** The Idempotency-Key of a write. */
  idempotency: IdempotencyKey | undefined;
}

/** The schema of the success body. */
export const outputSchema = ({ output }: Pick<Declaration, "output">): z.ZodType =>
  typeof output === "function" ? output() : output;

/** A declared handler: given its dependencies, it answers requests. */
export type Endpoint<D extends object = object> = ((deps: D & HttpDeps) => Handler) & Declaration<z.ZodType, D>;

/** Creates an endpoint from a declaration and its code. `D`: the dependencies of that code. */
export function endpoint<I extends z.ZodType, D extends object = object>(
  declaration: Declaration<I, D>,
  handle: (input: z.output<I>, call: Call<D>) => Promise<Answer | Response>,
): Endpoint<D> {
  const readParameters = createParameterReader(declaration);
  const methods = listMethods(declaration);
  const findSchema = cacheSchemas(declaration.input);

  const mount = (deps: D & HttpDeps): Handler => {
    const share =
      deps.waitForNextTurn && declaration.shared && createSharedReads<Answer | Response>(deps.waitForNextTurn);
    const respond = async (request: Request): Promise<Answer | Response> => {
      if (!methods.includes(request.method)) return rejectRequest(request, deps, methodNotAllowed(methods));
      if (declaration.product && !deps.product) throw runtimeDisabled();
      const identity = await admit(request, deps, declaration);
      const writes = isWrite(declaration);
      const isPost = declaration.method === "POST";
      if (isPost && !declaration.fieldsInQuery) rejectQuery(request, declaration.ignoredQuery);
      const { text, fields } = isPost
        ? await readFields(request, declaration)
        : { text: "", fields: readQuery(request) };
      const pathFields = readParameters(request);
      for (const name of Object.keys(pathFields))
        if (name in fields) throw invalidField(name, "belongs in the path alone");
      const callerName = identity.agent ?? identity.person;
      if (declaration.callerField && callerName && !(declaration.callerField in fields))
        fields[declaration.callerField] = callerName;
      const idempotency = writes ? readIdempotencyKey(request, identity, text, deps.sha256) : undefined;
      const { agent, readsOwn } = identity;
      const reader = readsOwn && agent !== undefined ? { name: agent } : undefined;
      const call = {
        deps: reader ? limitToReader(deps, reader) : deps,
        request,
        identity,
        expected: readExpectedRevisions(request),
        idempotency,
      };
      const parsed = parseInput(findSchema(deps), Object.assign(fields, pathFields));
      const run = () => (reader ? maskErrors(call.deps, () => handle(parsed, call)) : handle(parsed, call));
      if (writes && declaration.product) return runWithPriority(deps, run);
      // A shared answer shows every change, so a restricted reader gets an answer of its own.
      if (reader || !share || !declaration.shared!(parsed)) return await run();
      return share(JSON.stringify(parsed), async () => {
        const result = await handle(parsed, call);
        return isAnswer(result) ? shareAnswer(result) : result;
      });
    };
    return (request) => answerRequest(deps, request, () => respond(request), declaration.errorFormat?.format);
  };
  return Object.assign(mount, declaration) as Endpoint<D>;
}

/** Key of schemas that do not depend on the intent. */
const ANY_INTENT = {};

/** Returns a declaration's schema under an intent. It is created by the first request that needs it, and cached for the process. */
function cacheSchemas<I extends z.ZodType, D extends object>(input: I | ((deps: D) => I)): (deps: D & HttpDeps) => I {
  if (typeof input !== "function") return () => input;
  const schemas = new WeakMap<object, I>();
  return (deps) => {
    // A function without parameters does not depend on the intent.
    const key = (input.length > 0 && deps.product) || ANY_INTENT;
    const schema = schemas.get(key) ?? input(deps);
    schemas.set(key, schema);
    return schema;
  };
}

/** Characters of version, trace, parent and flags. */
const TRACEPARENT_LENGTH = 55;

/** Runs a handler's body and turns its answer or error into a Response. */
export async function answerRequest(
  deps: Pick<HttpDeps, "clock" | "ids" | "log" | "Response">,
  request: Request,
  handle: () => Promise<Answer | Response>,
  formatError?: ErrorFormat["format"],
): Promise<Response> {
  const ResponseType = deps.Response ?? Response;
  const requestId = chooseRequestId(request, deps);
  const traceparent = request.headers.get("traceparent");
  const trace = parseTraceparent(traceparent);
  // Later versions of the header may be longer.
  const logged = { request_id: requestId, ...(trace && { traceparent: traceparent!.slice(0, TRACEPARENT_LENGTH) }) };
  let response: Response;
  const finish = (result: Answer | Response): Response => {
    if (!(result instanceof Response)) return toResponse(result, requestId, ResponseType);
    result.headers.set("x-request-id", requestId);
    return result;
  };
  try {
    response = finish(await runInTrace(trace, handle));
  } catch (error) {
    const appError = toAppError(error);
    if (error instanceof StoreUnavailable)
      logAtIntervals(deps, "request refused", {
        ...logged,
        path: requestPath(request),
        error: error.message,
      });
    // An `AppError` was thrown on purpose and explains itself; any other error is unexpected.
    else if (appError.status >= 500 && appError !== error)
      deps.log.error("request failed", {
        ...logged,
        path: requestPath(request),
        error: String(error),
        stack: (error as Error | undefined)?.stack,
      });
    response = formatError ? finish(formatError(appError, request)) : errorResponse(appError, requestId, ResponseType);
  }
  return request.method === "HEAD"
    ? new ResponseType(null, { status: response.status, headers: response.headers })
    : response;
}

/** The methods that an endpoint answers to. */
export const listMethods = ({ method }: Pick<Declaration, "method">): string[] =>
  method === "GET" ? ["GET", "HEAD"] : [method];

/** 405 with `Allow`. */
export function methodNotAllowed(methods: readonly string[]): AppError {
  const allow = methods.join(", ");
  return new AppError("method_not_allowed", `this path answers ${allow} only`, {}, { allow });
}

const runtimeDisabled = () =>
  new AppError("product_runtime_disabled", "product runtime disabled; start the service with --product-intent PATH");

/** Returns the caller's `X-Request-Id` if it is well-formed, so that logs can be joined across services; otherwise a new id. */
function chooseRequestId(request: Request, deps: Pick<HttpDeps, "clock" | "ids">): string {
  const requested = request.headers.get("x-request-id");
  return requested !== null && /^[A-Za-z0-9._-]{1,100}$/.test(requested) ? requested : deps.ids.uuid(deps.clock.now());
}

/** Returns a function that reads `:name` parameters by their position from the end, so that a handler works under any prefix. */
function createParameterReader({
  path,
  rest,
}: Pick<Declaration, "path" | "rest">): (request: Request) => Record<string, string> {
  const [, name] = /:(\w+)$/.exec(path) ?? [];
  if (rest && name) return (request) => ({ [name]: readPathRest(request, path) });
  const segments = path.split("/").reverse();
  const positions = segments.flatMap((segment, position) =>
    segment.startsWith(":") ? [{ name: segment.slice(1), position }] : [],
  );
  if (positions.length === 0) return () => ({});
  return (request) => {
    const actual = requestPath(request).replace(/\/+$/, "").split("/").reverse();
    return Object.fromEntries(positions.map(({ name, position }) => [name, decodeSegment(actual[position] ?? "")]));
  };
}

/** Reads the last parameter of a path, which extends to its end. */
export function readPathRest(request: Request, path: string): string {
  const stem = path.slice(0, path.lastIndexOf(":"));
  const pathname = requestPath(request);
  const begin = pathname.indexOf(stem);
  return begin === -1 ? "" : decodeSegment(pathname.slice(begin + stem.length));
}

function decodeSegment(segment: string): string {
  try {
    return segment.includes("%") ? decodeURIComponent(segment) : segment;
  } catch {
    throw new AppError("not_found", "the path is not well-formed");
  }
}

/** Rejects fields in the query: `?dry_run=1` with an empty body must not apply. */
function rejectQuery(request: Request, ignored: readonly string[] = []): void {
  if (!request.url.includes("?")) return;
  for (const key of Object.keys(readQuery(request)).filter((name) => !ignored.includes(name)))
    throw invalidField(key, "belongs in the body, not in the address");
}

function readQuery(request: Request): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  for (const [key, value] of request.url.includes("?") ? new URL(request.url).searchParams : []) {
    if (key in fields) throw invalidField(key, "is given more than once");
    fields[key] = value;
  }
  return fields;
}
