/** Origin of test requests, unless a server is listening elsewhere. */
export const ORIGIN = "http://127.0.0.1:8420";

/** Field values as a form writes them. */
export type Fields = Record<string, string | number | boolean>;

/** A path under the product runtime, or a whole one when it begins with a slash. */
export const requestPath = (path: string): string => (path.startsWith("/") ? path : `/api/product/${path}`);

/** A form POST. */
export function form(path: string, fields: Fields = {}, headers: HeadersInit = {}, origin = ORIGIN): Request {
  const body = new URLSearchParams(Object.entries(fields).map(([key, value]) => [key, String(value)]));
  return new Request(origin + requestPath(path), { method: "POST", body, headers });
}

/** A POST of this very text. */
export const raw = (path: string, body: BodyInit | null, headers: HeadersInit = {}, origin = ORIGIN): Request =>
  new Request(origin + requestPath(path), { method: "POST", body, headers });

/** A JSON POST. */
export const json = (path: string, body: unknown, headers: HeadersInit = {}, origin = ORIGIN): Request =>
  raw(path, JSON.stringify(body), { "content-type": "application/json", ...(headers as object) }, origin);

/** A GET. */
export const get = (path: string, headers: HeadersInit = {}, origin = ORIGIN): Request =>
  new Request(origin + requestPath(path), { headers });
