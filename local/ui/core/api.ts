/** Speaks to the service: its public JSON API and nothing else. */
import type { Whoami } from "./api_types.ts";
import { adminToken, readToken } from "./session.ts";
import { createValue } from "./value.ts";

/** Error answer of the service. */
export interface ErrorBody {
  error: string;
  code: string;
  status: number;
  fields?: { field: string; message: string }[];
  [detail: string]: unknown;
}

/** True if the service last refused a write because its clock is far behind its log. */
export const clockBehind = createValue(false);

/** The service answered, and said no. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  constructor(readonly body: ErrorBody) {
    super(body.error);
  }
}

/** No answer came from the service. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
}

/** True if the service answered last, and the time (milliseconds). */
export const lastContact = createValue<{ reached: boolean; at: number }>({ reached: true, at: Date.now() });

/** How far the service's clock is before this one, in milliseconds, as its last answer said. */
let clockOffsetMs = 0;

/** The time at the service, as far as it is known here. */
export const getServiceTime = (): number => Date.now() + clockOffsetMs;

/** An action that failed in this page, in words for the user; nothing was sent. */
export class NotSentError extends Error {
  override readonly name = "NotSentError";
}

const READ_TIMEOUT_MS = 20_000;
/** An apply may ask the host product four times, ten seconds each. */
const WRITE_TIMEOUT_MS = 60_000;

/** Returns the base address of the API, which the page names. */
const apiBase = (): string => document.querySelector<HTMLMetaElement>('meta[name="countersign-api"]')?.content || "./";

/** The query of a request; what is undefined or empty is left out. */
export type Query = Record<string, string | number | undefined>;

/** The address of an API path such as `api/state`. */
export function apiUrl(path: string, query: Query = {}): string {
  const url = new URL(apiBase() + path, document.baseURI);
  for (const [key, given] of Object.entries(query))
    if (given !== undefined && given !== "") url.searchParams.set(key, String(given));
  return url.href;
}

/** Reads a JSON answer. Errors: `Refused`, `Unreachable`. */
export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await request(apiUrl(path, query), { signal: timeoutSignal(READ_TIMEOUT_MS, signal) })).json() as Promise<T>;
}

/**
 * Reads an answer for a person. A name that the service rejects is rejected again at the act; what is read is shown all the same.
 */
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

/** Reads an answer piece by piece, for as long as it takes. */
export const getStream = (path: string, query: Query, signal: AbortSignal): Promise<Response> =>
  request(apiUrl(path, query), { signal });

/** The fields of a form; what is undefined is left out. */
export type Fields = Record<string, string | undefined>;

/** Conditions of a write. */
export interface Conditions {
  /** The revision that the user saw. */
  revision?: number | undefined;
  /** Sent again with the same key, a request is answered and not done again; `null`: it only looks, and is kept nowhere. */
  key?: string | null | undefined;
}

/** Sends a form. Errors: `Refused`, `Unreachable`; after the latter it may have been done, and may be sent again. */
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

/** A token that a header can carry; others are refused here, in the words in which the service would. */
function requireSendableToken(token: string): string {
  if (isHeaderValue(token)) return token;
  const error = "the token holds characters that no header can carry";
  throw new ServiceError({ error, code: "unauthorized", status: 401 });
}

const isHeaderValue = (token: string): boolean => /^[\x20-\x7e]+$/.test(token);

/** The headers of a request with the tokens that were given: reads may be protected too. */
export const makeTokenHeaders = (): Record<string, string> => ({
  ...(isHeaderValue(adminToken.get()) && { "x-svc-admin-token": adminToken.get() }),
  ...(isHeaderValue(readToken.get()) && { "x-svc-read-token": readToken.get() }),
});

/** Returns whether a caller with these headers, and no token, may read. */
export async function canRead(headers: Record<string, string>, signal?: AbortSignal): Promise<boolean> {
  const may = await fetchPermissions(headers, signal);
  return may === "unknown" || (may?.includes("read") ?? false);
}

/**
 * Returns the permissions of a caller with these headers; `unknown` to a service that does not say, undefined where none answers.
 */
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

/** The form of a request. */
export function encodeForm(fields: Fields): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, given] of Object.entries(fields)) if (given !== undefined) form.set(name, given);
  return form;
}

/** A new `Idempotency-Key`. */
export const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** Returns whether the service has no such part: it is off, or this version does not have it. */
export const isAbsent = (error: unknown): boolean =>
  error instanceof ServiceError &&
  (error.body.status === 404 || error.body.status === 405 || error.body.status === 503);

/** Returns whether the product runtime is off. */
export const isRuntimeOff = (error: unknown): boolean =>
  error instanceof ServiceError && error.body.code === "product_runtime_disabled";

async function request(url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers({ ...makeTokenHeaders(), ...Object.fromEntries(new Headers(init.headers)) });
  let response: Response;
  try {
    response = await fetch(url, { cache: "no-store", credentials: "same-origin", ...init, headers });
  } catch (error) {
    const gone = (error as Error).name;
    if (gone === "AbortError") throw error;
    lastContact.set({ reached: false, at: Date.now() });
    throw new UnreachableError(
      gone === "TimeoutError" ? "The service did not answer in time." : "The service cannot be reached.",
    );
  }
  lastContact.set({ reached: true, at: Date.now() });
  const serverTime = Date.parse(response.headers.get("date") ?? "");
  if (!Number.isNaN(serverTime)) clockOffsetMs = serverTime - Date.now();
  if (response.ok) return response;
  const refusal = await readErrorBody(response);
  if (refusal.code === "clock_behind") clockBehind.set(true);
  throw new ServiceError(refusal);
}

/** A proxy in between may answer in its own words. */
async function readErrorBody(response: Response): Promise<ErrorBody> {
  const { status } = response;
  const text = await response.text().catch(() => "");
  try {
    const body = JSON.parse(text) as Partial<ErrorBody>;
    const error = typeof body.error === "string" ? body.error : describeStatus(status);
    return { ...body, error, code: String(body.code ?? ""), status };
  } catch {
    // reported below
  }
  return { error: describeStatus(status), code: "", status };
}

const describeStatus = (status: number): string => `The service answered ${status} without saying why.`;

function timeoutSignal(ms: number, signal?: AbortSignal): AbortSignal {
  const limit = AbortSignal.timeout(ms);
  return signal ? AbortSignal.any([signal, limit]) : limit;
}
