/** Sends a `Response` over node:http. */
import type { ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type NodeResponse, sendNodeResponse } from "srvx/node";

/** Shorter answers, in characters, are not compressed. */
const MIN_COMPRESSED_LENGTH = 8192;

const compress = promisify(gzip);

/** Checks that the client accepts gzip. */
const acceptsGzip = ({ req }: ServerResponse): boolean =>
  /(?:^|[, ])gzip(?!\s*;\s*q=0(?:\.0*)?(?:$|[, ]))/i.test(String(req.headers["accept-encoding"] ?? ""));

/** Returns the headers of a compressed answer, as a flat list of names and values; its ETag becomes weak, since the bytes differ. */
function compressedHeaders(headers: readonly string[], length: number): string[] {
  const compressed = [...headers];
  for (let at = 0; at < compressed.length; at += 2) {
    if (compressed[at] === "content-length") compressed[at + 1] = String(length);
    if (compressed[at] === "etag") compressed[at + 1] = `W/${compressed[at + 1]}`;
  }
  return [...compressed, "content-encoding", "gzip", "vary", "accept-encoding"];
}

/** Member of srvx's responses that returns head and body as they were passed in, without a stream. */
const PARTS = "_toNodeResponse";

/**
 * Sends a text body, as nearly every answer has, in one write with its head; srvx sends streams. Returns a promise if the answer is
 * not sent yet.
 */
export function sendResponse(target: ServerResponse, response: Response): Promise<void> | undefined {
  if (!(PARTS in response)) return sendNodeResponse(target, response);
  const parts = (response as NodeResponse)[PARTS]();
  const { status, statusText, headers, body } = parts;
  if (body === null || body === undefined || body instanceof Uint8Array) {
    target.writeHead(status, statusText, headers).end(body);
    return undefined;
  }
  if (typeof body !== "string") return sendNodeResponse(target, { [PARTS]: () => parts } as NodeResponse);
  if (status === 200 && body.length >= MIN_COMPRESSED_LENGTH && acceptsGzip(target))
    return compress(body).then(
      (packed) => void target.writeHead(status, statusText, compressedHeaders(headers, packed.length)).end(packed),
    );
  // ASCII has one byte for each character; for UTF-8 Node would scan the text again and allocate three times as much.
  const isAscii = Number(headers[headers.indexOf("content-length") + 1]) === body.length;
  target.writeHead(status, statusText, headers).end(body, isAscii ? "latin1" : "utf8");
  return undefined;
}
