import { AppError, invalidField } from "../kit/errors.ts";
import { parseForm, parseJsonField, parseJsonObject } from "./form.ts";

/** The largest request body, in bytes. */
export const BODY_LIMIT = 64 * 1024;

const PASS_OVER_LIMIT = 1024 * 1024;

const tooLarge = () => new AppError("payload_too_large", `the request body is over ${BODY_LIMIT} bytes`);

/**
 * Reads a body as text of at most 64 KiB; 413 when it is larger, 400 when it is not UTF-8. Decoding leaves U+FFFD where
 * bytes were broken, so that character itself has to come escaped.
 */
export async function readBody(request: Request): Promise<string> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > BODY_LIMIT) throw tooLarge();
  const reading = declared === null ? readCapped(request) : request.text();
  const text = await reading.catch((error: unknown) => {
    throw error instanceof AppError ? error : invalidField("body", "did not arrive whole");
  });
  if (text.length * 3 > BODY_LIMIT && new TextEncoder().encode(text).length > BODY_LIMIT) throw tooLarge();
  if (text.includes("\uFFFD")) throw invalidField("body", "is not valid UTF-8 (U+FFFD itself is to be sent escaped)");
  return text;
}

/** Without a declared length the body is read piece by piece, so that a flood stops at the limit. */
async function readCapped(request: Request): Promise<string> {
  if (!request.body) return "";
  const pieces: Uint8Array[] = [];
  let size = 0;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > BODY_LIMIT) {
      void passOver(reader, size);
      throw tooLarge();
    }
    pieces.push(value);
  }
  return new Blob(pieces as BlobPart[]).text();
}

/** Reads what is left of a body, so that its connection can carry the next request; what is longer yet is given up on. */
async function passOver(reader: ReadableStreamDefaultReader<Uint8Array>, size: number): Promise<void> {
  try {
    for (let read = size; read <= PASS_OVER_LIMIT;) {
      const { done, value } = await reader.read();
      if (done) return;
      read += value.length;
    }
    await reader.cancel();
  } catch {
    // The client has gone.
  }
}

/** Which reader a content type asks for; 415 for one that is neither a form nor JSON. */
export function bodyFormat(request: Request): "form" | "json" {
  const type = (request.headers.get("content-type") ?? "").split(";")[0]!.trim().toLowerCase();
  if (type === "application/json") return "json";
  if (type === "" || type === "text/plain" || type === "application/x-www-form-urlencoded") return "form";
  throw new AppError(
    "unsupported_media_type",
    `content type ${JSON.stringify(type)} is not accepted; send application/x-www-form-urlencoded or application/json`,
  );
}

/** The fields of a body; `jsonFields` are those whose form text is itself JSON. */
export function parseBody(
  format: "form" | "json",
  text: string,
  jsonFields: readonly string[],
): Record<string, unknown> {
  if (format === "json") return parseJsonObject(text);
  const fields: Record<string, unknown> = parseForm(text);
  for (const field of jsonFields)
    if (typeof fields[field] === "string") fields[field] = parseJsonField(field, fields[field]);
  return fields;
}
