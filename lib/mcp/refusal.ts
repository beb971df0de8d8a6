import { toAppError } from "../http/error_response.ts";

/** What a model is told of a refusal: the same words and code as any client. What nobody expected is thrown on. */
export function refusalText(error: unknown): string {
  const told = toAppError(error);
  if (told.code === "internal") throw error;
  const { message, code, status, details } = told;
  return JSON.stringify({ error: message, code, status, ...details });
}
