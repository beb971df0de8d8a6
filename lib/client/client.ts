/** `countersign/client`: calls of the API, typed by its own description, in a browser, a Worker and Node. */
import openapiFetch, { type ParamsOption, type RequestBodyOption } from "openapi-fetch";
import { CountersignError, toError } from "./error.ts";
import { type components, KEYED, type paths } from "./generated/paths.ts";
import { type Retry, RETRY, createRetryingFetch } from "./retry.ts";
import { type ChangeDetail, type ReadChange, waitUntilDecided, type Waiting } from "./wait.ts";

export { CountersignError, type CountersignErrorCode } from "./error.ts";
export type { components, paths } from "./generated/paths.ts";
export type { Retry } from "./retry.ts";
export type { ChangeDetail, Waiting } from "./wait.ts";

/** A shape that the API names: `Schema<"Change">`. */
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

/** JSON answer of a path; `never` where it answers something else. */
export type Answer<P extends keyof paths, M extends Method> =
  ContentOf<OperationOf<P, M>> extends { "application/json": infer Json } ? Json : never;

type JsonPathOf<M extends Method> = { [P in PathOf<M>]: [Answer<P, M>] extends [never] ? never : P }[PathOf<M>];

/** Options of a call: parameters, a body, and a time limit. */
export type CallOptions<P extends keyof paths, M extends Method> = ParamsOption<OperationOf<P, M>> &
  RequestBodyOption<OperationOf<P, M>> & { signal?: AbortSignal | undefined };

/** They may be left out where nothing in them is needed. */
type CallArguments<P extends keyof paths, M extends Method> =
  Record<never, never> extends CallOptions<P, M> ? [options?: CallOptions<P, M>] : [options: CallOptions<P, M>];

/** Address of the service, and options of requests. */
export interface ClientOptions {
  /** Address of the service, with the prefix of its paths: `https://gov.acme.example`. */
  baseUrl: string;
  /** Go with each call: `X-Svc-Admin-Token`, or an agent's `Authorization`. */
  headers?: Record<string, string>;
  /** In place of the platform's own. */
  fetch?: (request: Request) => Promise<Response>;
  retry?: Partial<Retry>;
  /** Makes a new `Idempotency-Key`. */
  idempotencyKey?: () => string;
}

/** A client of one service. Whatever is no success is thrown as `CountersignError`; an abort as the signal's reason. */
export interface Client {
  /** Reads JSON. */
  get<P extends JsonPathOf<"get">>(path: P, ...options: CallArguments<P, "get">): Promise<Answer<P, "get">>;
  /** Writes. Where the path takes one, each call has an `Idempotency-Key`: sent again, it is not done again. */
  post<P extends JsonPathOf<"post">>(path: P, ...options: CallArguments<P, "post">): Promise<Answer<P, "post">>;
  /** Reads what is no JSON, or large: an export, a certificate. */
  download<P extends PathOf<"get">>(path: P, ...options: CallArguments<P, "get">): Promise<Response>;
  /** Waits until a change is decided, and gives it as it is then. */
  waitForDecision(change_id: string, waiting?: Waiting): Promise<ChangeDetail>;
}

/** Makes a client. */
export function createClient({ baseUrl, headers = {}, idempotencyKey = newKey, ...options }: ClientOptions): Client {
  const send = options.fetch ?? ((request: Request) => fetch(request));
  const retry = { ...RETRY, ...options.retry };
  // A redirect would take the token in `X-Svc-Admin-Token` to another origin.
  const { request } = openapiFetch<Record<string, never>>({ baseUrl, headers, redirect: "manual" });
  const sendToHeaders = createRetryingFetch(send, retry);
  const sendFully = createRetryingFetch(readFully(send), retry);

  async function call(
    method: Method,
    path: string,
    { headers: more, ...given }: CallInit = {},
    fetch = sendFully,
  ): Promise<Response> {
    const key = method === "post" && KEYED.includes(path) ? { "Idempotency-Key": idempotencyKey() } : {};
    const init = { ...given, headers: { ...key, ...more }, parseAs: "stream", fetch };
    const answer = (request as RequestFunction)(method, path, init);
    const { error, response } = await answer.catch((cause: unknown) => {
      given.signal?.throwIfAborted();
      throw Object.assign(unreachable(baseUrl, cause), { cause });
    });
    if (response.ok || response.status === 304) return response;
    throw toError(response, error);
  }

  async function callForJson(method: Method, path: string, given?: CallInit): Promise<never> {
    const response = await call(method, path, given);
    const text = await response.text();
    try {
      return JSON.parse(text) as never;
    } catch {
      throw toError(response, text);
    }
  }

  return {
    get: (path, ...[given]) => callForJson("get", path, given),
    post: (path, ...[given]) => callForJson("post", path, given),
    download: (path, ...[given]) => call("get", path, given, sendToHeaders),
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

/** An answer that breaks off is one that was lost: it counts when all of it is here. */
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

const unreachable = (baseUrl: string, cause: unknown): CountersignError =>
  new CountersignError("unreachable", `${baseUrl} cannot be reached: ${describeReason(cause)}`);

/** Node says what happened in the cause of `fetch failed`; of TLS the code does, in fewer words. */
function describeReason(error: unknown): string {
  const { message = "", cause } = (error ?? {}) as { message?: string; cause?: unknown };
  const { code, message: deeper } = (cause ?? {}) as { code?: string; message?: string };
  const reason = code?.startsWith("ERR_SSL_") ? code : deeper;
  return reason || code || message || String(error);
}

/** 128 random bits; `crypto.randomUUID` is missing on a page that came over plain HTTP. */
const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
