/** A change of which the store has another record than the log tells of. */
import { AppError } from "../kit/errors.ts";

/** 409 `evidence_mismatch`. */
export const createMismatchError = (changeId: string, fields: readonly string[]): AppError =>
  new AppError(
    "evidence_mismatch",
    `the stored record of ${changeId} is not what the audit log tells (${fields.join(", ")}), and nothing is decided on it; POST /api/action/run-now with action=rebuild rebuilds it from the log, or restore the store`,
    { change_id: changeId, fields },
  );

/** The result for a change; undefined where its record does not match the log, which must not hold up other changes. */
export const ignoreMismatch = <T>(read: Promise<T>): Promise<T | undefined> =>
  read.catch((error: unknown) => {
    if (error instanceof AppError && error.code === "evidence_mismatch") return undefined;
    throw error;
  });

/** Returns what is read of a change; undefined where the store has no record of it. */
export const ignoreMissing = <T>(read: Promise<T>): Promise<T | undefined> =>
  read.catch((error: unknown) => {
    if (error instanceof AppError && error.code === "change_not_found") return undefined;
    throw error;
  });
