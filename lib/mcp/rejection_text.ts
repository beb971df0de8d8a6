import { toAppError } from "../http/error_response.ts";

/** Describes an error for a model, with the same words and code as for other clients. An unexpected error is rethrown. */
export function rejectionText(error: unknown): string {
  const answered = toAppError(error);
  if (answered.code === "internal") throw error;
  const { message, code, status, details } = answered;
  return JSON.stringify({ error: message, code, status, ...details });
}
