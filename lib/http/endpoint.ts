/**
 * Declares a handler. The declaration stays readable on it, so that router, documentation and deployment templates come
 * from the same place, and the checks run in one order: method, runtime, same site, token, body, then the handler.
 */
import type * as z from "zod";
import { once } from "../kit/once.ts";
import { AppError, invalidField, type ErrorCode } from "../kit/errors.ts";
import { errorResponse, toAppError } from "./error_response.ts";
import { parseInput } from "./form.ts";
import { type Answer, responseOf } from "./answer.ts";
import { readFields } from "./body.ts";
import { admit, type Asker, type Terms, turnAway } from "./admission.ts";
import type { Handler, HttpDeps } from "./deps.ts";
import { idempotencyKey, type IdempotencyKey } from "./idempotency.ts";
import { pathOf } from "./path.ts";

export type { Handler } from "./deps.ts";

/** What a handler is, apart from what it does. */
export interface Declaration<I extends z.ZodType = z.ZodType, D = never> extends Terms {
  /** As mounted by `app`; `:name` is a path parameter. */
  path: string;
  summary: string;
  /** The field that names who asks: where it is left out, it is whom the proxy names, or the agent. */
  names?: string;
  /** Query and path parameters of a GET, body fields of a POST; a function where they depend on the intent. */
  input: I | ((deps: D) => I);
  /** The field that the whole body is, as plain text. */
  text?: string;
  /** Form fields whose text is itself JSON. */
  jsonFields?: readonly string[];
  /** The success body. */
  output: z.ZodType;
  success?: 200 | 201;
  /** Further statuses that carry the success body. */
  also?: readonly number[];
  /** The error codes of its own, beside those every endpoint may answer. */
  errors?: readonly ErrorCode[];
}

/** One request on its way through a handler. */
export interface Call<D extends HttpDeps = HttpDeps> extends Asker {
  deps: D;
  request: Request;
  idempotency: IdempotencyKey | undefined;
}

/** A declared handler: call it with what it needs, and it answers requests. */
export type Endpoint<D extends HttpDeps = HttpDeps> = ((deps: D) => Handler) & Declaration<z.ZodType, D>;

/** Makes an endpoint of a declaration and the few lines that are its own. `D`: what those need. */
export function endpoint<I extends z.ZodType, D extends HttpDeps = HttpDeps>(
  declaration: Declaration<I, D>,
  handle: (input: z.output<I>, call: Call<D>) => Promise<Answer | Response>,
): Endpoint<D> {
  const parameters = pathParameters(declaration.path);
  const methods = methodsOf(declaration);

  const mount = (deps: D): Handler => {
    const schema = declaration.input;
    // Made at the first request: many a process is started for one, and answers nothing else.
    const input = once(() => (typeof schema === "function" && deps.product ? schema(deps) : (schema as I)));
    return (request) =>
      answering(deps, request, async () => {
        if (!methods.includes(request.method)) return turnAway(request, deps, methodNotAllowed(methods));
        if (declaration.product && !deps.product) throw runtimeDisabled();
        const asker = await admit(request, deps, declaration);
        const write = declaration.method === "POST";
        if (write && declaration.product) refuseQuery(request);
        const { text, fields } = write
          ? await readFields(request, declaration.jsonFields, declaration.text)
          : { text: "", fields: query(request) };
        const known = asker.agent ?? asker.person?.trim();
        if (declaration.names && known && !(declaration.names in fields)) fields[declaration.names] = known;
        const idempotency = write ? idempotencyKey(request, asker, text, deps.sha256) : undefined;
        const call = { deps, request, ...asker, idempotency };
        return handle(parseInput(input(), Object.assign(fields, parameters(request))), call);
      });
  };
  return Object.assign(mount, declaration) as Endpoint<D>;
}

/** Runs a handler's body and turns whatever comes of it, errors included, into one Response. */
export async function answering(
  deps: Pick<HttpDeps, "clock" | "ids" | "log" | "Response">,
  request: Request,
  handle: () => Promise<Answer | Response>,
): Promise<Response> {
  const ResponseType = deps.Response ?? Response;
  const requestId = requestIdOf(request, deps);
  let response: Response;
  try {
    const answered = await handle();
    if (answered instanceof Response) answered.headers.set("x-request-id", requestId);
    response = answered instanceof Response ? answered : responseOf(answered, requestId, ResponseType);
  } catch (error) {
    const told = toAppError(error);
    if (told.status >= 500 && told !== error)
      deps.log.error("request failed", {
        request_id: requestId,
        path: pathOf(request),
        error: String(error),
        stack: (error as Error | undefined)?.stack,
      });
    response = errorResponse(told, requestId, ResponseType);
  }
  return request.method === "HEAD"
    ? new ResponseType(null, { status: response.status, headers: response.headers })
    : response;
}

/** The methods that an endpoint answers to. */
export const methodsOf = ({ method }: Pick<Declaration, "method">): string[] =>
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
  const given = request.headers.get("x-request-id");
  return given !== null && /^[A-Za-z0-9._-]{1,100}$/.test(given) ? given : deps.ids.uuid(deps.clock.now());
}

/** Reads `:name` parameters by their place from the end, so that a handler works under any prefix. */
function pathParameters(path: string): (request: Request) => Record<string, string> {
  const segments = path.split("/").reverse();
  const places = segments.flatMap((segment, place) =>
    segment.startsWith(":") ? [{ name: segment.slice(1), place }] : [],
  );
  if (places.length === 0) return () => ({});
  return (request) => {
    const actual = pathOf(request).replace(/\/+$/, "").split("/").reverse();
    return Object.fromEntries(places.map(({ name, place }) => [name, decodeSegment(actual[place] ?? "")]));
  };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new AppError("not_found", "the path is not well-formed");
  }
}

/** `?dry_run=1` beside an empty body must not apply. */
function refuseQuery(request: Request): void {
  for (const key of Object.keys(query(request))) throw invalidField(key, "belongs in the body, not in the address");
}

function query(request: Request): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  for (const [key, value] of request.url.includes("?") ? new URL(request.url).searchParams : []) {
    if (key in fields) throw invalidField(key, "is given more than once");
    fields[key] = value;
  }
  return fields;
}
