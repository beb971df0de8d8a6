/** Sends a Response over node:http. */
import type { ServerResponse } from "node:http";
import { type NodeResponse, sendNodeResponse } from "srvx/node";

/** What srvx's light responses have in place of a stream: head and body as they were given. */
const PARTS = "_toNodeResponse";

/** Sends text, which nearly every answer is, in one piece with its head, and bytes behind it; whatever else it is, srvx does. */
export async function sendResponse(to: ServerResponse, response: Response): Promise<void> {
  if (!(PARTS in response)) return sendNodeResponse(to, response);
  const parts = (response as NodeResponse)[PARTS]();
  const { status, statusText, headers, body } = parts;
  if (body === null || body === undefined) return void to.writeHead(status, statusText, headers).end();
  if (body instanceof Uint8Array) return void to.writeHead(status, statusText, headers).end(body);
  if (typeof body !== "string") return sendNodeResponse(to, { [PARTS]: () => parts } as NodeResponse);
  // ASCII has a byte for each character. Node would look for others once more, and make room for three times as many.
  const isAscii = Number(headers[headers.indexOf("content-length") + 1]) === body.length;
  to.writeHead(status, statusText, headers).end(body, isAscii ? "latin1" : "utf8");
}
