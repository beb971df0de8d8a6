/** A `Response` as the result of a Lambda function, whole. */
import { AppError } from "../../kit/errors.ts";
import type { Payload } from "./event.ts";

/** What API Gateway and Function URLs make an HTTP response of. */
export interface LambdaResult {
  statusCode: number;
  headers: Record<string, string>;
  /** Payload format 2.0. */
  cookies?: string[];
  /** Payload format 1.0: headers that are given several times. */
  multiValueHeaders?: Record<string, string[]>;
  body: string;
  isBase64Encoded: boolean;
}

/** Lambda takes 6 MB; some of it is the result around the body. Bytes. */
const RESULT_LIMIT = 6 * 1024 * 1024 - 16 * 1024;

/** The result. Errors: 404 `not_found` for a stream without an end, 413 `payload_too_large` for what Lambda cannot pass on. */
export async function resultOf(response: Response, payload: Payload): Promise<LambdaResult> {
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    await response.body?.cancel();
    throw new AppError("not_found", "this host answers whole and has no event stream; ask for what is new by `after`");
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of response.headers) if (name !== "set-cookie") headers[name] = value;
  const cookies = response.headers.getSetCookie();
  const result: LambdaResult = {
    statusCode: response.status,
    headers,
    ...(cookies.length > 0 && (payload === "2.0" ? { cookies } : { multiValueHeaders: { "set-cookie": cookies } })),
    ...bodyOf(new Uint8Array(await response.arrayBuffer())),
  };
  // The limit is on the result as JSON, in which a quote takes two bytes and a control character six.
  if (result.body.length * 6 > RESULT_LIMIT && Buffer.byteLength(JSON.stringify(result)) > RESULT_LIMIT)
    throw new AppError(
      "payload_too_large",
      "the answer is over 6 MB, which is all that a Lambda function may give; ask for it in pages (limit, after, before)",
    );
  return result;
}

/** Text as it is, since a REST API decodes base64 only for the media types that it is told; bytes that are no text as base64. */
function bodyOf(bytes: Uint8Array): Pick<LambdaResult, "body" | "isBase64Encoded"> {
  try {
    return { body: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), isBase64Encoded: false };
  } catch {
    return { body: Buffer.from(bytes).toString("base64"), isBase64Encoded: true };
  }
}
