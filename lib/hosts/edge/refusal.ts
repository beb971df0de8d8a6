/** What a Worker answers when the service behind it cannot. */
import { AppError } from "../../kit/errors.ts";
import { errorResponse } from "../../http/error_response.ts";
import * as start from "../cannot_start.ts";

/** 503: the service could not be opened. */
export const cannotStart = (request: Request, error: unknown): Response => refused(request, start.cannotStart(error));

/** 503 `interrupted`: the object was lost on the way, so it is not known whether a write was done. */
export function interrupted(request: Request): Response {
  const sentence =
    "the service was restarted while it answered; look whether the change was made before asking for it again, or ask under the same Idempotency-Key";
  return refused(request, new AppError("interrupted", sentence, {}, { "retry-after": "1" }));
}

function refused(request: Request, error: AppError): Response {
  const given = request.headers.get("x-request-id") ?? "";
  const response = errorResponse(error, /^[A-Za-z0-9._-]{1,100}$/.test(given) ? given : crypto.randomUUID());
  return request.method === "HEAD" ? new Response(null, response) : response;
}
