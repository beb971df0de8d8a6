/** Changes whose stored record does not match the log or is missing: the error, and reads that ignore it. */
import { AppError } from "../kit/errors.ts";

/** Creates the error 409 `evidence_mismatch`; `fields` name the differences. */
export const createMismatchError = (changeId: string, fields: readonly string[]): AppError =>
  new AppError(
    "evidence_mismatch",
    `the stored record of ${changeId} does not match the audit log (${fields.join(", ")}), and nothing is decided on it; POST /api/action/run-now with action=rebuild rebuilds it from the log, or restore the store`,
    { change_id: changeId, fields },
  );

/** Resolves to undefined if a change's record does not match the log, so that other changes are not affected. */
export const ignoreMismatch = <T>(read: Promise<T>): Promise<T | undefined> =>
  read.catch((error: unknown) => {
    if (error instanceof AppError && error.code === "evidence_mismatch") return undefined;
    throw error;
  });

/** Resolves to undefined if the store has no record of a change. */
export const ignoreMissing = <T>(read: Promise<T>): Promise<T | undefined> =>
  read.catch((error: unknown) => {
    if (error instanceof AppError && error.code === "change_not_found") return undefined;
    throw error;
  });
