import { AppError, invalidField } from "../kit/errors.ts";
import { cappedText } from "../kit/capped_text.ts";
import { parseForm, parseJson, parseJsonObject } from "./form.ts";

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
  // Without a declared length the body is read piece by piece, so that a flood stops at the limit.
  const reading =
    declared === null ? cappedText(request, BODY_LIMIT, (reader) => void passOver(reader)) : request.text();
  const text = await reading.catch(() => {
    throw invalidField("body", "did not arrive whole");
  });
  if (text === undefined) throw tooLarge();
  if (text.length * 3 > BODY_LIMIT && new TextEncoder().encode(text).length > BODY_LIMIT) throw tooLarge();
  if (text.includes("\uFFFD")) throw invalidField("body", "is not valid UTF-8 (U+FFFD itself is to be sent escaped)");
  return text;
}

/** Reads what is left of a body, so that its connection can carry the next request; what is longer yet is given up on. */
async function passOver(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    for (let read = BODY_LIMIT; read <= PASS_OVER_LIMIT;) {
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
function formatOf(request: Request): "form" | "json" {
  const type = (request.headers.get("content-type") ?? "").split(";")[0]!.trim().toLowerCase();
  if (type === "application/json") return "json";
  if (type === "" || type === "text/plain" || type === "application/x-www-form-urlencoded") return "form";
  throw new AppError(
    "unsupported_media_type",
    `content type ${JSON.stringify(type)} is not accepted; send application/x-www-form-urlencoded or application/json`,
  );
}

/**
 * The body and the fields in it; `jsonFields` are those whose form text is itself JSON, `whole` the one that is the body as it
 * is, whatever type it says.
 */
export async function readFields(
  request: Request,
  jsonFields: readonly string[] = [],
  whole?: string,
): Promise<{ text: string; fields: Record<string, unknown> }> {
  if (whole !== undefined) {
    const text = await readBody(request);
    return { text, fields: { [whole]: text } };
  }
  const format = formatOf(request);
  const text = await readBody(request);
  if (format === "json") return { text, fields: parseJsonObject(text) };
  const fields: Record<string, unknown> = parseForm(text);
  for (const field of jsonFields)
    if (typeof fields[field] === "string") fields[field] = parseJson(fields[field], field);
  return { text, fields };
}
