/** Formats errors for a model. */
import { toAppError } from "../http/error_response.ts";

/** Formats an error with the same message and code as for other clients. An unexpected error is rethrown. */
export function rejectionText(error: unknown): string {
  const appError = toAppError(error);
  if (appError.code === "internal") throw error;
  const { message, code, status, details } = appError;
  return JSON.stringify({ error: message, code, status, ...details });
}
