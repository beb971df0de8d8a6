/** Reads request bodies within their limits: text, forms and JSON. */
import { AppError, invalidField } from "../kit/errors.ts";
import { readCappedText } from "../kit/capped_text.ts";
import { parseForm, parseJson, parseJsonObject } from "./form.ts";

/** Maximum size of a request body in bytes. */
export const BODY_LIMIT = 64 * 1024;

/** Maximum size of a body that is read to its end although it is rejected. */
const MAX_DRAINED_BYTES = 1024 * 1024;

/** Maximum number of arguments of one call of `String.fromCharCode`. */
const MAX_ARGUMENTS = 4096;

const tooLargeError = (limit = BODY_LIMIT) =>
  new AppError("payload_too_large", `the request body is over ${limit} bytes`);

/**
 * Reads a body as text of at most 64 KiB; 413 when it is larger, 400 when it is not UTF-8. Decoding turns
 * malformed bytes into U+FFFD, so a client must escape that character itself.
 */
export async function readBody(request: Request): Promise<string> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > BODY_LIMIT) throw tooLargeError();
  let text: string | undefined;
  try {
    // A body of unknown length is read in chunks, so that reading stops at the limit.
    text = await (declared === null
      ? readCappedText(request, BODY_LIMIT, (reader) => void drain(reader))
      : request.text());
  } catch {
    throw invalidField("body", "did not arrive whole");
  }
  if (text === undefined) throw tooLargeError();
  // A character of a string takes three bytes at most; a shorter text is not encoded for this check.
  if (text.length * 3 > BODY_LIMIT && new TextEncoder().encode(text).length > BODY_LIMIT) throw tooLargeError();
  if (text.includes("\uFFFD")) throw invalidField("body", "is not valid UTF-8 (U+FFFD itself is to be sent escaped)");
  return text;
}

/** Reads a body of at most `limit` bytes as text with one character for each byte. */
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
      throw tooLargeError(limit);
    }
    for (let start = 0; start < value.length; start += MAX_ARGUMENTS)
      text += String.fromCharCode(...value.subarray(start, start + MAX_ARGUMENTS));
  }
}

/** Reads the rest of a body, of which 64 KiB are read, up to 1 MiB in all, so that its connection can carry the next request. */
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

/** Returns the format that a content type names; 415 if it is neither a form nor JSON. */
function findFormat(request: Request): "form" | "json" {
  const type = mediaType(request);
  if (type === "application/json") return "json";
  if (type === "" || type === "text/plain" || type === "application/x-www-form-urlencoded") return "form";
  throw unsupportedTypeError(request, "application/x-www-form-urlencoded or application/json");
}

/** Builds the error for JSON that was sent as a form, as curl does by default; no field of a form begins with a brace. */
function jsonAsFormError(request: Request): AppError {
  const type = request.headers.get("content-type");
  const declaredAs = type === null ? "without a content type" : `as ${JSON.stringify(type)}`;
  return invalidField("body", `is JSON, and was sent ${declaredAs}; add the header content-type: application/json`);
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

const unsupportedTypeError = (request: Request, accepted: string): AppError =>
  new AppError(
    "unsupported_media_type",
    `content type ${JSON.stringify(mediaType(request))} is not accepted; send ${accepted}`,
  );

/** Checks fields that did not come in an HTTP body against the limits of such a body. */
export function requireFields(value: unknown): Record<string, unknown> {
  let text: string;
  try {
    text = JSON.stringify(value) ?? "";
  } catch {
    throw invalidField("body", "is nested too deep to be read");
  }
  if (new TextEncoder().encode(text).length > BODY_LIMIT) throw tooLargeError();
  return parseJsonObject(text);
}

/** The part of a declaration by which a body is read. */
interface BodyForm {
  /** Form fields whose text is JSON. */
  jsonFields?: readonly string[] | undefined;
  /** The field that the complete body is the value of. */
  text?: string | undefined;
  /** The media type that a body for `text` must have; absent: any. */
  textType?: string | undefined;
  /** The limit of such a body in bytes. Each byte becomes a character of the text, so that a signature over the bytes can be verified. */
  bytes?: number | undefined;
  /** The body is JSON, whatever its content type is. */
  json?: boolean | undefined;
}

/** Reads the body and its fields. */
export async function readFields(
  request: Request,
  { jsonFields = [], text: textField, textType, bytes, json }: BodyForm = {},
): Promise<{ text: string; fields: Record<string, unknown> }> {
  requirePlainBody(request);
  if (textField !== undefined) {
    if (textType !== undefined && mediaType(request) !== textType) throw unsupportedTypeError(request, textType);
    const text = await (bytes === undefined ? readBody(request) : readBytes(request, bytes));
    return { text, fields: { [textField]: text } };
  }
  const format = json ? "json" : findFormat(request);
  const text = await readBody(request);
  if (json && text.trim() === "") return { text, fields: {} };
  if (format === "json") return { text, fields: parseJsonObject(text) };
  if (text.trimStart().startsWith("{")) throw jsonAsFormError(request);
  const fields: Record<string, unknown> = parseForm(text);
  for (const field of jsonFields)
    if (typeof fields[field] === "string")
      fields[field] = parseJson(fields[field], field, '; in a form a text stands in quotes: "hello"');
  return { text, fields };
}
