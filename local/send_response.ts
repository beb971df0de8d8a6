/** Sends a Response over node:http. */
import type { ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type NodeResponse, sendNodeResponse } from "srvx/node";

/** Shorter answers, in characters, are sent as they are. */
const MIN_COMPRESSED_LENGTH = 8192;

const compress = promisify(gzip);

/** Returns true for a client that names gzip, without a quality of 0. */
const acceptsGzip = ({ req }: ServerResponse): boolean =>
  /(?:^|[, ])gzip(?!\s*;\s*q=0(?:\.0*)?(?:$|[, ]))/i.test(String(req.headers["accept-encoding"] ?? ""));

/** Returns the head of a compressed answer; its ETag is weak, since the bytes are others. */
function toCompressed(headers: readonly string[], length: number): string[] {
  const changed = [...headers];
  for (let at = 0; at < changed.length; at += 2) {
    if (changed[at] === "content-length") changed[at + 1] = String(length);
    if (changed[at] === "etag") changed[at + 1] = `W/${changed[at + 1]}`;
  }
  return [...changed, "content-encoding", "gzip", "vary", "accept-encoding"];
}

/** Member of srvx's light responses that replaces the stream: head and body as they were given. */
const PARTS = "_toNodeResponse";

/**
 * Sends text, which nearly every answer is, in one piece with its head, and bytes behind it; whatever else it is, srvx does.
 * Returns a promise of an answer that takes longer.
 */
export function sendResponse(to: ServerResponse, response: Response): Promise<void> | undefined {
  if (!(PARTS in response)) return sendNodeResponse(to, response);
  const parts = (response as NodeResponse)[PARTS]();
  const { status, statusText, headers, body } = parts;
  if (body === null || body === undefined || body instanceof Uint8Array) {
    to.writeHead(status, statusText, headers).end(body);
    return undefined;
  }
  if (typeof body !== "string") return sendNodeResponse(to, { [PARTS]: () => parts } as NodeResponse);
  if (status === 200 && body.length >= MIN_COMPRESSED_LENGTH && acceptsGzip(to))
    return compress(body).then(
      (packed) => void to.writeHead(status, statusText, toCompressed(headers, packed.length)).end(packed),
    );
  // ASCII has a byte for each character. Node would look for others once more, and make room for three times as many.
  const isAscii = Number(headers[headers.indexOf("content-length") + 1]) === body.length;
  to.writeHead(status, statusText, headers).end(body, isAscii ? "latin1" : "utf8");
  return undefined;
}
