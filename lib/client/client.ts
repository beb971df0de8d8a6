/** The package export `countersign/client`: a typed client of the HTTP API for browsers, Workers and Node. */
import openapiFetch, { type ParamsOption, type RequestBodyOption } from "openapi-fetch";
import { CountersignError, toError } from "./error.ts";
import { type components, KEYED, type paths } from "./generated/paths.ts";
import { type Retry, RETRY, createRetryingFetch } from "./retry.ts";
import { type ChangeDetail, type ReadChange, waitUntilDecided, type Waiting } from "./wait.ts";

export { CountersignError, type CountersignErrorCode } from "./error.ts";
export type { components, paths } from "./generated/paths.ts";
export type { Retry } from "./retry.ts";
export type { ChangeDetail, Waiting } from "./wait.ts";

/** A named schema of the API: `Schema<"Change">`. */
export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

type Method = "get" | "post";
type PathOf<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, unknown> ? P : never }[keyof paths];
type OperationOf<P extends keyof paths, M extends Method> =
  paths[P] extends Record<M, infer Operation> ? Operation : never;
type ContentOf<Operation> = Operation extends { responses: infer R }
  ? R[keyof R] extends { content: infer Content }
    ? Content
    : never
  : never;

/** JSON answer of a path; `never` if its answer is not JSON. */
export type Answer<P extends keyof paths, M extends Method> =
  ContentOf<OperationOf<P, M>> extends { "application/json": infer Json } ? Json : never;

type JsonPathOf<M extends Method> = { [P in PathOf<M>]: [Answer<P, M>] extends [never] ? never : P }[PathOf<M>];

/** Options of a call: parameters, a body, and a time limit. */
export type CallOptions<P extends keyof paths, M extends Method> = ParamsOption<OperationOf<P, M>> &
  RequestBodyOption<OperationOf<P, M>> & { signal?: AbortSignal | undefined };

/** Arguments after the path: `CallOptions`, optional where no option is required. */
type CallArguments<P extends keyof paths, M extends Method> =
  Record<never, never> extends CallOptions<P, M> ? [options?: CallOptions<P, M>] : [options: CallOptions<P, M>];

/** Address of the service, and options of requests. */
export interface ClientOptions {
  /** Address of the service, with the prefix of its paths if there is one: `https://acme.example/governance`. */
  baseUrl: string;
  /** Headers of each call: `X-Svc-Admin-Token`, or an agent's `Authorization`. */
  headers?: Record<string, string>;
  /** Replaces the platform's `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
  retry?: Partial<Retry>;
  /** Creates a new `Idempotency-Key`. */
  idempotencyKey?: () => string;
}

/** A client of one service. Errors: `CountersignError` for every failed call; the signal's reason after an abort. */
export interface Client {
  /** Reads JSON. */
  get<P extends JsonPathOf<"get">>(path: P, ...options: CallArguments<P, "get">): Promise<Answer<P, "get">>;
  /** Writes. A path with idempotency gets a new `Idempotency-Key` for each call, so that a retry is executed once. */
  post<P extends JsonPathOf<"post">>(path: P, ...options: CallArguments<P, "post">): Promise<Answer<P, "post">>;
  /** Reads an answer that is large or not JSON: an export, a certificate. */
  download<P extends PathOf<"get">>(path: P, ...options: CallArguments<P, "get">): Promise<Response>;
  /** Waits until a change is decided, and returns it. */
  waitForDecision(change_id: string, waiting?: Waiting): Promise<ChangeDetail>;
}

/** Creates a client. */
export function createClient({
  baseUrl,
  headers = {},
  idempotencyKey = createKey,
  ...clientOptions
}: ClientOptions): Client {
  const send = clientOptions.fetch ?? ((request: Request) => fetch(request));
  const retry = { ...RETRY, ...clientOptions.retry };
  // A redirect would take the token in `X-Svc-Admin-Token` to another origin.
  const { request } = openapiFetch<Record<string, never>>({ baseUrl, headers, redirect: "manual" });
  const fetchStream = createRetryingFetch(send, retry);
  const fetchFully = createRetryingFetch(readFully(send), retry);

  async function call(
    method: Method,
    path: string,
    { headers: callHeaders, ...options }: CallInit = {},
    fetch = fetchFully,
  ): Promise<Response> {
    const key = method === "post" && KEYED.includes(path) ? { "Idempotency-Key": idempotencyKey() } : {};
    const init = { ...options, headers: { ...key, ...callHeaders }, parseAs: "stream", fetch };
    const answer = (request as RequestFunction)(method, path, init);
    const { error, response } = await answer.catch((cause: unknown) => {
      options.signal?.throwIfAborted();
      throw Object.assign(createUnreachableError(baseUrl, cause), { cause });
    });
    if (response.ok || response.status === 304) return response;
    throw toError(response, error);
  }

  /** Makes a call and parses its JSON. The type `never` of the result can be assigned to the answer of each path. */
  async function callForJson(method: Method, path: string, options?: CallInit): Promise<never> {
    const response = await call(method, path, options);
    const text = await response.text();
    try {
      return JSON.parse(text) as never;
    } catch {
      throw toError(response, text);
    }
  }

  return {
    get: (path, ...[options]) => callForJson("get", path, options),
    post: (path, ...[options]) => callForJson("post", path, options),
    download: (path, ...[options]) => call("get", path, options, fetchStream),
    waitForDecision: (change_id, waiting = {}) => {
      const readChange: ReadChange = (signal, condition) =>
        call("get", "/api/product/changes/{change_id}", {
          params: { path: { change_id }, ...(condition && { query: { wait: condition.seconds } }) },
          headers: condition ? { "If-None-Match": condition.etag } : {},
          signal,
        });
      return waitUntilDecided(readChange, waiting, retry.pause);
    },
  };
}

/** Wraps `send` so that it resolves when the complete body has arrived: an answer that breaks off is an error, and retried. */
const readFully =
  (send: (request: Request) => Promise<Response>) =>
  async (request: Request): Promise<Response> => {
    const response = await send(request);
    await response.clone().arrayBuffer();
    return response;
  };

interface CallInit {
  params?: object | undefined;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}
type RequestFunction = (method: Method, path: string, init: object) => Promise<{ error?: unknown; response: Response }>;

const createUnreachableError = (baseUrl: string, cause: unknown): CountersignError =>
  new CountersignError("unreachable", `${baseUrl} cannot be reached: ${describeReason(cause)}`);

/** Describes a failed `fetch`. Node puts the reason into `cause`; for TLS errors its code is shorter than its message. */
function describeReason(error: unknown): string {
  const { message = "", cause } = (error ?? {}) as { message?: string; cause?: unknown };
  const { code, message: causeMessage } = (cause ?? {}) as { code?: string; message?: string };
  const reason = code?.startsWith("ERR_SSL_") ? code : causeMessage;
  return reason || code || message || String(error);
}

/** Creates a key of 128 random bits, without `crypto.randomUUID`, which is missing on a page loaded over plain HTTP. */
const createKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
