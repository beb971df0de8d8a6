/** The error that a serverless host answers with when the service behind it cannot start. */
import { AppError } from "../kit/errors.ts";
import { toAppError } from "../http/error_response.ts";
import { IntentInvalid } from "../changes/rules/intent.ts";
import { IdentityMismatch } from "../changes/open_product.ts";
import { SettingInvalid } from "./settings.ts";

/** Errors whose messages contain no secret and may be sent to clients. */
const REPORTABLE_ERRORS = [IntentInvalid, IdentityMismatch, SettingInvalid];

/** Seconds; each request tries to start the service again. */
const RETRY_HEADERS = { "retry-after": "5" };

/**
 * Returns the error that clients get for a failed start: 503 `cannot_start`, with the cause if its message may be sent.
 * An error that has a code already, such as that of a contended store, is returned as it is.
 */
export function startError(error: unknown): AppError {
  const appError = toAppError(error);
  if (appError.code !== "internal" || appError === error) return appError;
  const reported = REPORTABLE_ERRORS.some((kind) => error instanceof kind)
    ? (error as Error).message
    : "the service's log has the cause";
  return new AppError("cannot_start", `the service cannot start: ${reported}`, {}, RETRY_HEADERS);
}
