import { AppError, invalidField } from "../kit/errors.ts";
import { readCappedText } from "../kit/capped_text.ts";
import { parseForm, parseJson, parseJsonObject } from "./form.ts";

/** The largest request body, in bytes. */
export const BODY_LIMIT = 64 * 1024;

const MAX_DRAINED_BYTES = 1024 * 1024;

/** Arguments of one call. */
const BYTES_PER_CALL = 4096;

const tooLarge = (limit = BODY_LIMIT) => new AppError("payload_too_large", `the request body is over ${limit} bytes`);

/**
 * Reads a body as text of at most 64 KiB; 413 when it is larger, 400 when it is not UTF-8. Decoding leaves U+FFFD where
 * bytes were broken, so that character itself has to come escaped.
 */
export async function readBody(request: Request): Promise<string> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > BODY_LIMIT) throw tooLarge();
  let text: string | undefined;
  try {
    // Without a declared length the body is read piece by piece, so that a flood stops at the limit.
    text = await (declared === null
      ? readCappedText(request, BODY_LIMIT, (reader) => void drain(reader))
      : request.text());
  } catch {
    throw invalidField("body", "did not arrive whole");
  }
  if (text === undefined) throw tooLarge();
  if (text.length * 3 > BODY_LIMIT && new TextEncoder().encode(text).length > BODY_LIMIT) throw tooLarge();
  if (text.includes("\uFFFD")) throw invalidField("body", "is not valid UTF-8 (U+FFFD itself is to be sent escaped)");
  return text;
}

/** Reads a body of at most `limit` bytes as text with a character for each byte. */
async function readBytes({ body }: Request, limit: number): Promise<string> {
  const reader = body?.getReader();
  let text = "";
  for (;;) {
    const { done, value } = (await reader?.read().catch(() => {
      throw invalidField("body", "did not arrive whole");
    })) ?? { done: true, value: undefined };
    if (done) return text;
    if (text.length + value.length > limit) {
      void reader!.cancel().catch(() => undefined);
      throw tooLarge(limit);
    }
    for (let at = 0; at < value.length; at += BYTES_PER_CALL)
      text += String.fromCharCode(...value.subarray(at, at + BYTES_PER_CALL));
  }
}

/** Reads what is left of a body, so that its connection can carry the next request; what is longer yet is given up on. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    for (let read = BODY_LIMIT; read <= MAX_DRAINED_BYTES;) {
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
function findFormat(request: Request): "form" | "json" {
  const type = mediaType(request);
  if (type === "application/json") return "json";
  if (type === "" || type === "text/plain" || type === "application/x-www-form-urlencoded") return "form";
  throw unsupported(request, "application/x-www-form-urlencoded or application/json");
}

/** JSON as curl and other clients send it without a content type: no field of a form begins with a brace. */
function jsonAsForm(request: Request): AppError {
  const type = request.headers.get("content-type");
  const sent = type === null ? "without a content type" : `as ${JSON.stringify(type)}`;
  return invalidField("body", `is JSON, and was sent ${sent}; add the header content-type: application/json`);
}

const mediaType = (request: Request): string =>
  (request.headers.get("content-type") ?? "").split(";")[0]!.trim().toLowerCase();

/** Rejects a compressed body, which would read as broken UTF-8. */
function requirePlainBody({ headers }: Request): void {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase();
  if (!encoding || encoding === "identity") return;
  throw new AppError(
    "unsupported_media_type",
    `content-encoding ${JSON.stringify(encoding)} is not accepted; send the body without compression`,
  );
}

const unsupported = (request: Request, accepted: string): AppError =>
  new AppError(
    "unsupported_media_type",
    `content type ${JSON.stringify(mediaType(request))} is not accepted; send ${accepted}`,
  );

/** Returns fields that came otherwise than in a request, under the limits of a request's body. */
export function requireFields(value: unknown): Record<string, unknown> {
  let text: string;
  try {
    text = JSON.stringify(value) ?? "";
  } catch {
    throw invalidField("body", "is nested too deep to be read");
  }
  if (new TextEncoder().encode(text).length > BODY_LIMIT) throw tooLarge();
  return parseJsonObject(text);
}

/** How a body is read. */
interface BodyForm {
  /** The fields whose form text is itself JSON. */
  jsonFields?: readonly string[] | undefined;
  /** The field that is the body as it is. */
  text?: string | undefined;
  /** The media type that it must have then; any where none is named. */
  textType?: string | undefined;
  /** This text has a character for each byte, and at most so many: for a signature over the bytes. */
  bytes?: number | undefined;
  /** It is JSON, whatever type it says. */
  json?: boolean | undefined;
}

/** The body and the fields in it. */
export async function readFields(
  request: Request,
  { jsonFields = [], text: textField, textType, bytes, json }: BodyForm = {},
): Promise<{ text: string; fields: Record<string, unknown> }> {
  requirePlainBody(request);
  if (textField !== undefined) {
    if (textType !== undefined && mediaType(request) !== textType) throw unsupported(request, textType);
    const text = await (bytes === undefined ? readBody(request) : readBytes(request, bytes));
    return { text, fields: { [textField]: text } };
  }
  const format = json ? "json" : findFormat(request);
  const text = await readBody(request);
  if (json && text.trim() === "") return { text, fields: {} };
  if (format === "json") return { text, fields: parseJsonObject(text) };
  if (text.trimStart().startsWith("{")) throw jsonAsForm(request);
  const fields: Record<string, unknown> = parseForm(text);
  for (const field of jsonFields)
    if (typeof fields[field] === "string")
      fields[field] = parseJson(fields[field], field, '; in a form a text stands in quotes: "hello"');
  return { text, fields };
}
