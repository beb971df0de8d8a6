/**
 * Declares a handler. The declaration stays readable on it, so that router, documentation and deployment templates come
 * from the same place, and the checks run in one order: method, runtime, same site, token, body, then the handler.
 */
import type * as z from "zod";
import { StoreUnavailable } from "../store/store.ts";
import { AppError, invalidField, type ErrorCode } from "../kit/errors.ts";
import { parseTraceparent, runInTrace } from "../kit/trace.ts";
import { errorResponse, toAppError } from "./error_response.ts";
import { parseInput } from "./form.ts";
import { type Answer, shareAnswer, isAnswer, toResponse } from "./answer.ts";
import { readFields } from "./body.ts";
import { admit, isWrite, type Terms, rejectRequest } from "./admission.ts";
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
export interface Declaration<I extends z.ZodType = z.ZodType, D = never> extends Terms {
  /** As mounted by `app`; `:name` is a path parameter. */
  path: string;
  /** The last parameter is the rest of the path, slashes included. */
  rest?: true;
  /** Name of the operation in the document and in clients: a verb and a noun, such as `proposeChange`. */
  operation: string;
  /** A few words. */
  summary: string;
  /** A sentence or two for somebody who has never seen the product: what it does, and what follows from it. */
  description: string;
  /** Example of an input. */
  example: z.input<NoInfer<I>>;
  /** The field that names who asks: where it is left out, it is whom the proxy names, or the agent. */
  names?: string;
  /** Query and path parameters of a GET, body fields of a POST; a function where they depend on the intent. */
  input: I | ((deps: D) => I);
  /** The field that the whole body is, as text. */
  text?: string;
  /** The body is JSON, whatever its type says, and never a form. */
  json?: true;
  /** The media type that this text must have; plain text, and whatever else is claimed, where none is named. */
  textType?: string;
  /** This text has a character for each byte of the body, and at most so many. */
  bytes?: number;
  /** A POST whose fields may stand in the address; its handler reads them there. */
  inAddress?: true;
  /** Query parameters of a POST that the protocol of others names and that change no answer; any other is 400. */
  ignoredQuery?: readonly string[];
  /** Form fields whose text is itself JSON. */
  jsonFields?: readonly string[];
  /** The success body; a function where only who describes the API, or tests it, shall make it. */
  output: z.ZodType | (() => z.ZodType);
  success?: 200 | 201;
  /** Further statuses that carry the success body. */
  also?: readonly number[];
  /** Answers 304 to a caller whose `If-None-Match` names the current answer. */
  notModified?: true;
  /** True for a read whose answer depends on its input and the records alone: concurrent callers share one answer. */
  shared?: (input: z.output<NoInfer<I>>) => boolean;
  /** Further statuses that carry no body. */
  empty?: readonly number[];
  /** Its own error codes, in addition to those every endpoint may answer. */
  errors?: readonly ErrorCode[];
  /** How it tells of errors where a protocol of others says how. */
  errorFormat?: ErrorFormat;
}

/** Errors in a shape that is not ours. */
export interface ErrorFormat {
  /** The bodies by their statuses; `null` for none. */
  bodies: Readonly<Record<number, z.ZodType | null>>;
  format(error: AppError, request: Request): Answer | Response;
}

/** A request with its caller. */
export interface Call<D extends object = object> extends Pick<Caller, "expected"> {
  deps: D & HttpDeps;
  request: Request;
  identity: Identity;
  /** The key of a write that is done once. */
  idempotency: IdempotencyKey | undefined;
}

/** The schema of the success body. */
export const outputSchema = ({ output }: Pick<Declaration, "output">): z.ZodType =>
  typeof output === "function" ? output() : output;

/** A declared handler: given its dependencies, it answers requests. */
export type Endpoint<D extends object = object> = ((deps: D & HttpDeps) => Handler) & Declaration<z.ZodType, D>;

/** Makes an endpoint of a declaration and its own code. `D`: the dependencies of that code. */
export function endpoint<I extends z.ZodType, D extends object = object>(
  declaration: Declaration<I, D>,
  handle: (input: z.output<I>, call: Call<D>) => Promise<Answer | Response>,
): Endpoint<D> {
  const parameters = pathParameters(declaration);
  const methods = listMethods(declaration);
  const findSchema = cacheSchemas(declaration.input);

  const mount = (deps: D & HttpDeps): Handler => {
    const share = deps.nextTurn && declaration.shared && createSharedReads<Answer | Response>(deps.nextTurn);
    const respond = async (request: Request): Promise<Answer | Response> => {
      if (!methods.includes(request.method)) return rejectRequest(request, deps, methodNotAllowed(methods));
      if (declaration.product && !deps.product) throw runtimeDisabled();
      const identity = await admit(request, deps, declaration);
      const write = isWrite(declaration);
      const isPost = declaration.method === "POST";
      if (isPost && !declaration.inAddress) rejectQuery(request, declaration.ignoredQuery);
      const { text, fields } = isPost ? await readFields(request, declaration) : { text: "", fields: query(request) };
      const inPath = parameters(request);
      for (const name of Object.keys(inPath)) if (name in fields) throw invalidField(name, "belongs in the path alone");
      const known = identity.agent ?? identity.person;
      if (declaration.names && known && !(declaration.names in fields)) fields[declaration.names] = known;
      const idempotency = write ? readIdempotencyKey(request, identity, text, deps.sha256) : undefined;
      const { agent, readsOwn } = identity;
      const reader = readsOwn && agent !== undefined ? { name: agent } : undefined;
      const call = {
        deps: reader ? limitToReader(deps, reader) : deps,
        request,
        identity,
        expected: readExpectedRevisions(request),
        idempotency,
      };
      const parsed = parseInput(findSchema(deps), Object.assign(fields, inPath));
      const run = () => (reader ? maskErrors(call.deps, () => handle(parsed, call)) : handle(parsed, call));
      if (write && declaration.product) return runWithPriority(deps, run);
      // A shared answer shows every change.
      if (reader || !share || !declaration.shared!(parsed)) return await run();
      return share(JSON.stringify(parsed), async () => {
        const answered = await handle(parsed, call);
        return isAnswer(answered) ? shareAnswer(answered) : answered;
      });
    };
    return (request) => answerRequest(deps, request, () => respond(request), declaration.errorFormat?.format);
  };
  return Object.assign(mount, declaration) as Endpoint<D>;
}

/** Key of the schemas that depend on no intent. */
const ANY_INTENT = {};

/** Returns a declaration's schema under an intent: made when a request needs it first, and kept for all services of a process. */
function cacheSchemas<I extends z.ZodType, D extends object>(input: I | ((deps: D) => I)): (deps: D & HttpDeps) => I {
  if (typeof input !== "function") return () => input;
  const made = new WeakMap<object, I>();
  return (deps) => {
    const key = (input.length > 0 && deps.product) || ANY_INTENT;
    const schema = made.get(key) ?? input(deps);
    made.set(key, schema);
    return schema;
  };
}

/** Characters of version, trace, parent and flags. */
const TRACEPARENT_LENGTH = 55;

/** Runs a handler's body and turns whatever comes of it, errors included, into one Response. */
export async function answerRequest(
  deps: Pick<HttpDeps, "clock" | "ids" | "log" | "Response">,
  request: Request,
  handle: () => Promise<Answer | Response>,
  formatError?: ErrorFormat["format"],
): Promise<Response> {
  const ResponseType = deps.Response ?? Response;
  const requestId = requestIdOf(request, deps);
  const traceparent = request.headers.get("traceparent");
  const trace = parseTraceparent(traceparent);
  // Later versions may be followed by anything.
  const logged = { request_id: requestId, ...(trace && { traceparent: traceparent!.slice(0, TRACEPARENT_LENGTH) }) };
  let response: Response;
  const finish = (answered: Answer | Response): Response => {
    if (!(answered instanceof Response)) return toResponse(answered, requestId, ResponseType);
    answered.headers.set("x-request-id", requestId);
    return answered;
  };
  try {
    response = finish(await runInTrace(trace, handle));
  } catch (error) {
    const answered = toAppError(error);
    if (error instanceof StoreUnavailable)
      logAtIntervals(deps, "request refused", {
        ...logged,
        path: requestPath(request),
        error: error.message,
      });
    else if (answered.status >= 500 && answered !== error)
      deps.log.error("request failed", {
        ...logged,
        path: requestPath(request),
        error: String(error),
        stack: (error as Error | undefined)?.stack,
      });
    response = formatError ? finish(formatError(answered, request)) : errorResponse(answered, requestId, ResponseType);
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

/** A caller's `X-Request-Id` is kept when it is plain, so that logs can be joined across services. */
function requestIdOf(request: Request, deps: Pick<HttpDeps, "clock" | "ids">): string {
  const parsed = request.headers.get("x-request-id");
  return parsed !== null && /^[A-Za-z0-9._-]{1,100}$/.test(parsed) ? parsed : deps.ids.uuid(deps.clock.now());
}

/** Reads `:name` parameters by their place from the end, so that a handler works under any prefix. */
function pathParameters({
  path,
  rest,
}: Pick<Declaration, "path" | "rest">): (request: Request) => Record<string, string> {
  const [, name] = /:(\w+)$/.exec(path) ?? [];
  if (rest && name) return (request) => ({ [name]: readPathRest(request, path) });
  const segments = path.split("/").reverse();
  const positions = segments.flatMap((segment, position) =>
    segment.startsWith(":") ? [{ name: segment.slice(1), place: position }] : [],
  );
  if (positions.length === 0) return () => ({});
  return (request) => {
    const actual = requestPath(request).replace(/\/+$/, "").split("/").reverse();
    return Object.fromEntries(
      positions.map(({ name, place: position }) => [name, decodeSegment(actual[position] ?? "")]),
    );
  };
}

/** Reads the last parameter of a path, which extends to its end. */
export function readPathRest(request: Request, path: string): string {
  const stem = path.slice(0, path.lastIndexOf(":"));
  const finish = requestPath(request);
  const begin = finish.indexOf(stem);
  return begin === -1 ? "" : decodeSegment(finish.slice(begin + stem.length));
}

function decodeSegment(segment: string): string {
  try {
    return segment.includes("%") ? decodeURIComponent(segment) : segment;
  } catch {
    throw new AppError("not_found", "the path is not well-formed");
  }
}

/** `?dry_run=1` with an empty body must not apply. */
function rejectQuery(request: Request, ignored: readonly string[] = []): void {
  if (!request.url.includes("?")) return;
  for (const key of Object.keys(query(request)).filter((name) => !ignored.includes(name)))
    throw invalidField(key, "belongs in the body, not in the address");
}

function query(request: Request): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  for (const [key, value] of request.url.includes("?") ? new URL(request.url).searchParams : []) {
    if (key in fields) throw invalidField(key, "is given more than once");
    fields[key] = value;
  }
  return fields;
}
