/** Requests to the service's public JSON API. */
import type { Whoami } from "./api_types.ts";
import { adminToken, readToken } from "./session.ts";
import { createValue } from "./value.ts";

export interface ErrorBody {
  error: string;
  code: string;
  status: number;
  fields?: { field: string; message: string }[];
  [detail: string]: unknown;
}

/** True while the service rejects writes because its clock is far behind its log, as far as this page knows. */
export const clockBehind = createValue(false);

/** An error that the service answered. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  constructor(readonly body: ErrorBody) {
    super(body.error);
  }
}

/** Finds the message of the service about a field of a form. */
export const findFieldFault = (error: unknown, field: string): string | undefined =>
  error instanceof ServiceError ? error.body.fields?.find((fault) => fault.field === field)?.message : undefined;

/** A request that the service did not answer. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
}

/** The last request: `reached` is true if the service answered; `at` is in milliseconds. */
export const lastContact = createValue<{ reached: boolean; at: number }>({ reached: true, at: Date.now() });

/** Milliseconds by which the service's clock is ahead of this one, from its last answer. */
let clockOffsetMs = 0;

/** Returns the service's current time in milliseconds, estimated from its last answer. */
export const getServiceTime = (): number => Date.now() + clockOffsetMs;

/** A failure in this page before anything was sent; the message is for the user. */
export class NotSentError extends Error {
  override readonly name = "NotSentError";
}

const READ_TIMEOUT_MS = 20_000;
/** An apply may ask the host product four times, ten seconds each. */
const WRITE_TIMEOUT_MS = 60_000;

/** Returns the base address of the API, which a `meta` element of the page names. */
const apiBase = (): string => document.querySelector<HTMLMetaElement>('meta[name="countersign-api"]')?.content || "./";

/** The query of a request; undefined and empty values are left out. */
export type Query = Record<string, string | number | undefined>;

/** Returns the address of an API path such as `api/state`. */
export function apiUrl(path: string, query: Query = {}): string {
  const url = new URL(apiBase() + path, document.baseURI);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") url.searchParams.set(name, String(value));
  return url.href;
}

/** Reads a JSON answer. Errors: `ServiceError`, `UnreachableError`. */
export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await request(apiUrl(path, query), { signal: timeoutSignal(READ_TIMEOUT_MS, signal) })).json() as Promise<T>;
}

/** Reads an answer as a person sees it; if the service rejects the name, as an unnamed reader sees it. */
export async function getForPerson<T>(person: string, path: string, query: Query, signal?: AbortSignal): Promise<T> {
  try {
    return await get<T>(path, { ...query, person }, signal);
  } catch (error) {
    if (error instanceof ServiceError && (error.body.status === 400 || error.body.code === "identity_mismatch"))
      return get<T>(path, query, signal);
    throw error;
  }
}

/** Reads an answer that is not JSON. */
export async function getText(path: string, query: Query = {}, signal?: AbortSignal): Promise<string> {
  return (await request(apiUrl(path, query), { signal: timeoutSignal(READ_TIMEOUT_MS, signal) })).text();
}

/** Requests an answer that is read as a stream, without a time limit. */
export const getStream = (path: string, query: Query, signal: AbortSignal): Promise<Response> =>
  request(apiUrl(path, query), { signal });

/** The fields of a form; undefined ones are left out. */
export type Fields = Record<string, string | undefined>;

export interface Conditions {
  /** The revision that the user saw. */
  revision?: number | undefined;
  /** Idempotency key; absent: a new one; `null`: none, for a dry run, which stores nothing. */
  key?: string | null | undefined;
}

/** Sends a form. Errors: `ServiceError`; `UnreachableError`, after which the form may have arrived and may be sent again. */
export async function post<T>(path: string, fields: Fields, { revision, key }: Conditions = {}): Promise<T> {
  const headers = new Headers({ accept: "application/json" });
  if (key !== null) headers.set("idempotency-key", key ?? newKey());
  if (adminToken.get() !== "") headers.set("x-svc-admin-token", requireSendableToken(adminToken.get()));
  if (revision !== undefined) headers.set("if-match", `"${revision}"`);
  const body = encodeForm(fields);
  return (
    await request(apiUrl(path), { method: "POST", headers, body, signal: timeoutSignal(WRITE_TIMEOUT_MS) })
  ).json() as Promise<T>;
}

/** Returns a token that a header can carry. Errors: `ServiceError` for any other token, as if the service had rejected it. */
function requireSendableToken(token: string): string {
  if (isHeaderValue(token)) return token;
  const error = "the token holds characters that no header can carry";
  throw new ServiceError({ error, code: "unauthorized", status: 401 });
}

const isHeaderValue = (token: string): boolean => /^[\x20-\x7e]+$/.test(token);

/** Returns the headers with the stored tokens; reads may be protected too. */
export const makeTokenHeaders = (): Record<string, string> => ({
  ...(isHeaderValue(adminToken.get()) && { "x-svc-admin-token": adminToken.get() }),
  ...(isHeaderValue(readToken.get()) && { "x-svc-read-token": readToken.get() }),
});

/** Returns true if a caller with these headers alone may read, or if the service does not list permissions. */
export async function canRead(headers: Record<string, string>, signal?: AbortSignal): Promise<boolean> {
  const permissions = await fetchPermissions(headers, signal);
  return permissions === "unknown" || (permissions?.includes("read") ?? false);
}

/** Returns a caller's permissions: none if no header can carry the token, `unknown` on 404, undefined on any other error. */
export async function fetchPermissions(
  headers: Record<string, string>,
  signal?: AbortSignal,
): Promise<Whoami["may"] | "unknown" | undefined> {
  if (!Object.values(headers).every(isHeaderValue)) return [];
  const init = {
    cache: "no-store",
    credentials: "same-origin",
    headers,
    signal: timeoutSignal(READ_TIMEOUT_MS, signal),
  } as const;
  const response = await fetch(apiUrl("api/whoami"), init).catch(() => undefined);
  if (!response?.ok) return response?.status === 404 ? "unknown" : undefined;
  return ((await response.json()) as Whoami).may;
}

/** Encodes fields as a form; undefined ones are left out. */
export function encodeForm(fields: Fields): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.set(name, value);
  return form;
}

export const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** Returns true if the service lacks the requested part: it is off, or this version does not have it. */
export const isAbsent = (error: unknown): boolean =>
  error instanceof ServiceError &&
  (error.body.status === 404 || error.body.status === 405 || error.body.status === 503);

export const isRuntimeOff = (error: unknown): boolean =>
  error instanceof ServiceError && error.body.code === "product_runtime_disabled";

async function request(url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers({ ...makeTokenHeaders(), ...Object.fromEntries(new Headers(init.headers)) });
  let response: Response;
  try {
    response = await fetch(url, { cache: "no-store", credentials: "same-origin", ...init, headers });
  } catch (error) {
    const { name } = error as Error;
    if (name === "AbortError") throw error;
    lastContact.set({ reached: false, at: Date.now() });
    throw new UnreachableError(
      name === "TimeoutError" ? "The service did not answer in time." : "The service cannot be reached.",
    );
  }
  lastContact.set({ reached: true, at: Date.now() });
  const serverTime = Date.parse(response.headers.get("date") ?? "");
  if (!Number.isNaN(serverTime)) clockOffsetMs = serverTime - Date.now();
  if (response.ok) return response;
  const errorBody = await readErrorBody(response);
  if (errorBody.code === "clock_behind") clockBehind.set(true);
  throw new ServiceError(errorBody);
}

/** Reads the error of an answer; a proxy in between may send no JSON. */
async function readErrorBody(response: Response): Promise<ErrorBody> {
  const { status } = response;
  const text = await response.text().catch(() => "");
  try {
    const body = JSON.parse(text) as Partial<ErrorBody>;
    const error = typeof body.error === "string" ? body.error : describeStatus(status);
    return { ...body, error, code: String(body.code ?? ""), status };
  } catch {
    return { error: describeStatus(status), code: "", status };
  }
}

const describeStatus = (status: number): string => `The service answered ${status} without saying why.`;

function timeoutSignal(ms: number, signal?: AbortSignal): AbortSignal {
  const limit = AbortSignal.timeout(ms);
  return signal ? AbortSignal.any([signal, limit]) : limit;
}
