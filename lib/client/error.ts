/** Error of a call: words for people and a code for programs. */
import type { ErrorCode, FieldError } from "../kit/errors.ts";

/** The codes of the service, and two of the client: no answer came, or another program answered. */
export type CountersignErrorCode = ErrorCode | "unreachable" | "unexpected_answer";

/** The service rejected a call, did not answer, or something else answered in its place. */
export class CountersignError extends Error {
  override readonly name = "CountersignError";
  readonly code: CountersignErrorCode;
  /** Status of the answer; 0 where none came. */
  readonly status: number;
  /** The first field that is wrong, and all of them: of `invalid_field`. */
  readonly field: string | undefined;
  readonly fields: readonly FieldError[];
  /** Names the request in the service's log. */
  readonly request_id: string | undefined;
  /** All that the service said: `current_status`, `allowed` and the like. */
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

/** The error of an answer that is no success; `body` is what it holds, parsed where it is JSON. */
export function toError({ status, url }: Response, body: unknown): CountersignError {
  const { error, code } = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  if (typeof error === "string" && typeof code === "string")
    return new CountersignError(code as ErrorCode, error, status, body as Record<string, unknown>);
  const sentence = `${url} answered ${status}, and not as Countersign does: is this the address of the service?`;
  return new CountersignError("unexpected_answer", sentence, status, { body });
}
