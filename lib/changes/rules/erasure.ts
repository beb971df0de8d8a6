/** Erasing the content of a change: when it is possible, and which fields remain. */
import { hasNoValue } from "./list_entries.ts";
import { AppError } from "../../kit/errors.ts";
import { isReviewDue } from "./current_state.ts";
import type { Change } from "./change.ts";
import type { Content } from "./content.ts";
import type { Intent } from "./intent.ts";
import type { ChangeInForce } from "./stale_target.ts";
import { listAllowedActions } from "./transitions.ts";

const ERASED = "erased";

/** Fields that an erasure removes. The others are in the log, or needed to measure the outcome. */
export const ERASED_FIELDS = ["value", "sets", "summary", "rationale", "affected_users"] as const;

/** Returns the content after an erasure. It still shows that there was a rationale, because statistics count rationales. */
export function redactContent(content: Content): Content {
  const { value: _, ...otherFields } = content;
  const rationale = content.rationale.trim() === "" ? "" : ERASED;
  const sets = content.sets?.map(({ tenant_id, target }) => ({ tenant_id, target }));
  return { ...otherFields, ...(sets && { sets }), summary: ERASED, rationale, affected_users: null };
}

/** Data that an erasure does not remove, in words. */
export const UNERASED_DATA = [
  "the entries of the audit log about it, with its tenant, target, kind, tier, risk, KPI, names and notes, and what adapters answered",
  "its expected_delta_k, by which its outcome is measured",
  "the digest of the content, and the digest of its value in the entry of the change that replaced it; a short value, or one of a few possible ones, can be guessed from it",
  "what left the service before: exports, certificates, notifications, values sent to the host product, and insights sent to peers",
  "backups and copies of the store, and texts that people wrote elsewhere",
] as const;

/**
 * Requires that the content of a change is no longer needed. Errors: 400 `illegal_transition` while the change is open or if
 * its content is erased already, 409 `content_needed`. `target_owner`: the newest applied change of its target, or of each target of a
 * plan.
 */
export function requireErasable(
  change: Change,
  { target_owner }: { target_owner: ChangeInForce },
  intent: Intent,
): void {
  const { change_id, status } = change;
  const allowed = listAllowedActions(change, intent);
  const details = { change_id, current_status: status, allowed };
  if (change.erased)
    throw new AppError("illegal_transition", `the content of ${change_id} was erased on ${change.erased.at}`, details);
  if (status !== "denied" && status !== "rolled_back" && status !== "applied")
    throw new AppError(
      "illegal_transition",
      `cannot erase the content of ${change_id}: it is ${status}, and what is decided on must be there; possible now: ${allowed.join(", ")}`,
      details,
    );
  const createNeededError = (reason: string) =>
    new AppError("content_needed", `cannot erase the content of ${change_id}: ${reason}`, details);
  if (isReviewDue(change)) throw createNeededError("its emergency waits for a review");
  if (status !== "applied") return;
  if ([target_owner].flat().includes(change_id))
    throw createNeededError("it is what its target holds now; roll it back first");
  if (!hasNoValue(change))
    throw createNeededError(
      "a rollback of a later change brings its value back; roll it back first, which leaves the host product as it is, since a later change holds the target",
    );
}
