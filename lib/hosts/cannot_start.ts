/** The answer of a serverless host when the service behind it cannot be opened. */
import { AppError } from "../kit/errors.ts";
import { toAppError } from "../http/error_response.ts";
import { IntentInvalid } from "../changes/rules/intent.ts";
import { IdentityMismatch } from "../changes/open.ts";
import { SettingInvalid } from "./settings.ts";

/** Errors of a start whose message is for people and repeats no secret. */
const REPORTABLE_ERRORS = [IntentInvalid, IdentityMismatch, SettingInvalid];

/** The next request tries again, so a cause that passes is soon over. Seconds. */
const RETRY_HEADERS = { "retry-after": "5" };

/**
 * Returns the error of a failed start for clients: 503 `cannot_start` with the fault of the configuration, as far as it
 * is known. An error with a code of its own keeps it, such as that of a contended store.
 */
export function startError(error: unknown): AppError {
  const own = toAppError(error);
  if (own.code !== "internal" || own === error) return own;
  const reported = REPORTABLE_ERRORS.some((kind) => error instanceof kind)
    ? (error as Error).message
    : "the service's log has the cause";
  return new AppError("cannot_start", `the service cannot start: ${reported}`, {}, RETRY_HEADERS);
}
