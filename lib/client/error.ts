/** The error of a failed call, with a message for people and a code for programs. */
import type { ErrorCode, FieldError } from "../kit/errors.ts";

/** The error codes of the service, and two of the client: no answer arrived, or another program answered. */
export type CountersignErrorCode = ErrorCode | "unreachable" | "unexpected_answer";

/** The service rejected a call, did not answer, or something else answered in its place. */
export class CountersignError extends Error {
  override readonly name = "CountersignError";
  readonly code: CountersignErrorCode;
  /** HTTP status of the answer; 0 without an answer. */
  readonly status: number;
  /** The first invalid field, and all invalid fields, for the code `invalid_field`. */
  readonly field: string | undefined;
  readonly fields: readonly FieldError[];
  /** Id of the request in the service's log. */
  readonly request_id: string | undefined;
  /** The complete body of the answer, with fields such as `current_status` and `allowed`. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: CountersignErrorCode, message: string, status = 0, details: Record<string, unknown> = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.fields = Array.isArray(details["fields"]) ? (details["fields"] as FieldError[]) : [];
    this.field = this.fields[0]?.field;
    this.request_id = typeof details["request_id"] === "string" ? details["request_id"] : undefined;
    this.details = details;
  }
}

/** Creates the error of an unsuccessful answer; `body` is its body, parsed if it is JSON. */
export function toError({ status, url }: Response, body: unknown): CountersignError {
  const { error, code } = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  if (typeof error === "string" && typeof code === "string")
    return new CountersignError(code as ErrorCode, error, status, body as Record<string, unknown>);
  const sentence = `${url} answered ${status}, and not as Countersign does: is this the address of the service?`;
  return new CountersignError("unexpected_answer", sentence, status, { body });
}
