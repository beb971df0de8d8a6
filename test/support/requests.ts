/** Makes requests of tests. */

/** Default origin of test requests. */
export const ORIGIN = "http://127.0.0.1:8420";

/** Fields of a form. */
export type Fields = Record<string, string | number | boolean>;

/** Prefixes a path with `/api/product/` unless it begins with a slash. */
export const requestPath = (path: string): string => (path.startsWith("/") ? path : `/api/product/${path}`);

/** Makes a POST with a form. */
export function form(path: string, fields: Fields = {}, headers: HeadersInit = {}, origin = ORIGIN): Request {
  const body = new URLSearchParams(Object.entries(fields).map(([key, value]) => [key, String(value)]));
  return new Request(origin + requestPath(path), { method: "POST", body, headers });
}

/** Makes a POST with an unchanged body. */
export const raw = (path: string, body: BodyInit | null, headers: HeadersInit = {}, origin = ORIGIN): Request =>
  new Request(origin + requestPath(path), { method: "POST", body, headers });

/** Makes a POST with JSON. */
export const json = (path: string, body: unknown, headers: HeadersInit = {}, origin = ORIGIN): Request =>
  raw(path, JSON.stringify(body), { "content-type": "application/json", ...(headers as object) }, origin);

/** Makes a GET. */
export const get = (path: string, headers: HeadersInit = {}, origin = ORIGIN): Request =>
  new Request(origin + requestPath(path), { headers });
