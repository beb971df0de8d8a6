/** Turns errors into answers. */
import { AppError } from "../kit/errors.ts";
import { answer, etag, toResponse } from "./answer.ts";
import { RevisionConflict, StoreBusy, StoreMoved, StoreUnavailable, StoreUnreadable } from "../store/store.ts";

/** Converts any error for a client; an unexpected one gets a fixed message, so that nothing leaks. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  // This class and the next one extend `StoreUnavailable`, so they come before it.
  if (error instanceof StoreMoved)
    return new AppError("store_moved", `the store takes no writes: ${error.shown}; nothing was changed`);
  if (error instanceof StoreUnreadable)
    return new AppError(
      "store_unavailable",
      `the store cannot be read now${error.shown ? `: ${error.shown}` : ""}; nothing was changed; try again, and see the service's log where it lasts`,
    );
  if (error instanceof StoreUnavailable)
    return new AppError(
      "store_unavailable",
      `the store cannot write${error.shown ? `: ${error.shown}` : ""}; nothing was changed; see the service's log`,
    );
  if (error instanceof StoreBusy || error instanceof RevisionConflict)
    return new AppError(
      "store_busy",
      "the store is contended; nothing was changed; try again",
      {},
      { "retry-after": "1" },
    );
  return new AppError("internal", "internal error; the service's log has it under this request_id");
}

/** The error as a JSON response: `{ error, code, status, request_id, … }`. */
export function errorResponse(error: AppError, requestId: string, ResponseType?: typeof Response): Response {
  const { message, code, status, details } = error;
  const { current_revision } = details;
  const headers =
    code === "version_mismatch" ? { ...error.headers, etag: etag(current_revision as number) } : error.headers;
  const body = { error: message, code, status, request_id: requestId, ...details };
  return toResponse(answer(body, status, headers), requestId, ResponseType);
}
