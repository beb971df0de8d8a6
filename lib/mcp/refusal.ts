import { toAppError } from "../http/error_response.ts";
import { AppError } from "../kit/errors.ts";

/** The sentence that something is refused with, or null. */
export function refusalOf(attempt: () => void): string | null {
  try {
    attempt();
    return null;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

/** What a model is told of a refusal: the same words and code as any client. What nobody expected is thrown on. */
export function refusalText(error: unknown): string {
  const told = toAppError(error);
  if (told.code === "internal") throw error;
  const { message, code, status, details } = told;
  return JSON.stringify({ error: message, code, status, ...details });
}
