/** Errors as data: a stable code with its HTTP status, a sentence for people, and details that help to fix the request. */
export const STATUS_BY_CODE = {
  invalid_field: 400,
  illegal_transition: 400,
  already_decided: 400,
  task_not_completed: 400,
  adapter_rejected: 400,
  no_target_system: 400,
  impossible_sample: 400,
  value_not_allowed: 400,
  invalid_identity: 400,
  unauthorized: 401,
  host_not_allowed: 403,
  cross_site: 403,
  identity_mismatch: 403,
  person_required: 403,
  agent_may_not: 403,
  agent_required: 403,
  self_approval_forbidden: 403,
  not_an_approver: 403,
  not_the_proposer: 403,
  not_permitted: 403,
  forbidden_target: 403,
  mandate_not_allowed: 403,
  proof_required: 403,
  proof_invalid: 403,
  proposer_unknown: 403,
  consent_incomplete: 403,
  checkpoint_untrusted: 403,
  not_found: 404,
  change_not_found: 404,
  task_not_found: 404,
  mandate_not_found: 404,
  method_not_allowed: 405,
  approval_stale: 409,
  evidence_mismatch: 409,
  target_conflict: 409,
  operation_in_progress: 409,
  too_many_attempts: 409,
  target_moved: 409,
  target_drifted: 409,
  restore_contested: 409,
  not_in_force: 409,
  rollout_in_progress: 409,
  content_needed: 409,
  frozen: 409,
  outside_window: 409,
  promotion_not_ready: 409,
  version_mismatch: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  checkpoint_inconsistent: 422,
  too_many_open: 429,
  internal: 500,
  adapter_failed: 502,
  product_runtime_disabled: 503,
  store_unavailable: 503,
  store_busy: 503,
  store_moved: 503,
  reads_busy: 503,
  too_many_streams: 503,
  too_many_tasks: 503,
  too_many_waiting: 503,
  chain_broken: 503,
  clock_behind: 503,
  intent_outdated: 503,
  cannot_start: 503,
  interrupted: 503,
} as const;

/** A stable code that programs may rely on. */
export type ErrorCode = keyof typeof STATUS_BY_CODE;

/** An input field with its error. */
export interface FieldError {
  field: string;
  message: string;
}

/** An error that is sent to the client as it is, so it holds no secret. */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly status: number;
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: Record<string, unknown> = {},
    readonly headers: Record<string, string> = {},
  ) {
    super(message);
    this.status = STATUS_BY_CODE[code];
  }
}

/** Returns the HTTP status of a code. */
export const httpStatus = (code: ErrorCode): number => STATUS_BY_CODE[code];

/** Creates a 400 `invalid_field` with one sentence about all fields, and a message for each. */
export function invalidFields(fields: FieldError[]): AppError {
  const sentence = fields.map(({ field, message }) => `${field} ${message}`).join("; ");
  return new AppError("invalid_field", sentence, { fields });
}

/** Creates a 400 `invalid_field` for a single field. */
export const invalidField = (field: string, message: string): AppError => invalidFields([{ field, message }]);
