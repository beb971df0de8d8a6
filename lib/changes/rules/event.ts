/** Entries about a change, and the facts in them that alter the change. */
import { once } from "../../kit/once.ts";
import type { FedTotals } from "../../rollout/samples.ts";
import type { GuardrailEvidence } from "./guardrail.ts";
import { isSameTarget } from "./target_key.ts";
import type { ChangeInForce } from "./stale_target.ts";
import type { MandateApproval } from "./mandate_approval.ts";
import type { StepBase } from "./value_limits.ts";
import type { Change, LateItem, Resolution, Status, Tier } from "./change.ts";

/** The event types that are about a change. */
export type ChangeEventType =
  | "change_proposed"
  | "consent_decision"
  | "change_applied"
  | "change_apply_failed"
  | "change_rolled_back"
  | "change_rollback_failed"
  | "change_drifted"
  | "value_restored"
  | "automation_stopped"
  | "stage_advanced"
  | "stage_held"
  | "stage_resumed"
  | "stage_stopped"
  | "release_checked"
  | "emergency_reviewed"
  | "content_erased"
  | "note_added"
  | "record_rebuilt";

/** An entry with its detail parsed. */
export interface ChangeEvent {
  id: number;
  timestamp: string;
  event_type: string;
  change_id: string;
  detail: EventDetail;
}

/** The fields of an entry's detail that `evolve` reads. */
export interface EventDetail {
  status?: Status;
  /** Status before the event, if the event alone does not show it. */
  from?: Status;
  tier?: Tier;
  /** The target of a proposal, an apply or a rollback; the name of a plan. */
  target?: string;
  /** The targets of a plan that the entry reports, with the facts of each. */
  sets?: readonly PlanTarget[];
  /** Spelling of the target at its first apply, if the change spells it differently. */
  target_spelling?: string;
  /** The change in force on the target before an apply; in a rollback, that change if it is still applied. */
  target_held?: string | null;
  /** The change in force on the target after a rollback. */
  target_holds?: string | null;
  /** In a proposal under `on_conflict: block`: no other change of its target was open. */
  alone?: true;
  /** Number of a minor change on its day; a plan counts each of its targets. */
  minor_number?: number;
  /** The consent of a mandate: its id, the number of the change on its day, and the remaining limits. */
  mandate?: MandateApproval;
  decision?: "approved" | Resolution;
  approver?: string | null;
  note?: string | null;
  required_approvers?: number;
  proposer_kind?: Change["proposer_kind"];
  asked_by?: Change["asked_by"];
  supersedes?: Change["supersedes"];
  unstated?: Change["unstated"];
  tier_reason?: Change["tier_reason"];
  sets_nothing?: Change["sets_nothing"];
  value_hint?: Change["value_hint"];
  places?: Change["places"];
  /** Why a change no longer applies by itself; in a rollout, why it holds. */
  reason?: string;
  /** The stages of a proposal: the shares of its steps, and their feeder. */
  stages?: { shares: readonly number[]; fed_by: string };
  /** The step of a rollout before the event. */
  step?: number;
  /** The next entry id at the moment when an advance on a target system was ordered. */
  ordered?: number;
  /** Totals that a decision used. */
  totals?: readonly FedTotals[];
  /** Digests of the values that the approver saw, or for a minor change of those at its proposal. */
  seen?: string[];
  digest?: string;
  /** The chat message that requested a model's draft. */
  message_id?: string;
  /** Digest of the content that an erasure left. */
  remaining_digest?: string;
  /** The key of a signed decision, the signed statement, its proof, and the intent. */
  key?: string;
  statement?: string;
  proof?: unknown;
  manifest_hash?: string;
  kpis?: Record<string, number>;
  /** Values of a feed, and the guardrails that it tripped. */
  values?: Record<string, number>;
  tripped?: (Omit<GuardrailEvidence, "at" | "entry"> & { change_id: string })[];
  previous_digest?: string | null;
  /** Current numbers of targets with a step limit where another program set them; the limit counts from these. */
  step_base?: readonly StepBase[];
  /** The change in force on the target at the approval. */
  target_owner?: ChangeInForce;
  emergency?: boolean;
  /** In the consent that completes an emergency's quorum. */
  review_hours?: number;
  verdict?: NonNullable<Change["review"]>["verdict"];
  /** Item of a late note. */
  item?: LateItem;
  actor?: string | null;
}

/** A target of a plan in an entry, with the facts that differ by target. */
export interface PlanTarget extends Pick<
  EventDetail,
  "target_spelling" | "target_held" | "target_holds" | "previous_digest"
> {
  tenant_id: string;
  target: string;
}

/** Returns true for a target that the entry of a rollback reports as rolled back; only these targets have `target_holds`. */
export const isRolledBack = ({ target_holds }: PlanTarget): boolean => target_holds !== undefined;

/** Lists the targets that an entry reports; for a plan those that it sets. */
export function listTargets({ tenant, detail }: { tenant: string; detail: string }): readonly PlanTarget[] {
  const fields = parseDetail(detail);
  const { target, sets } = fields;
  if (Array.isArray(sets))
    return sets.filter((facts) => typeof facts?.tenant_id === "string" && typeof facts.target === "string");
  return target === undefined ? [] : [{ ...fields, tenant_id: tenant, target }];
}

/** Returns the facts of an entry about one target; undefined if it reports nothing about it. */
export const findTargetFacts = (entry: Parameters<typeof listTargets>[0], key: { tenant_id: string; target: string }) =>
  listTargets(entry).find((facts) => isSameTarget(facts, key));

/** Parses the detail of an entry. */
export const parseEvent = (entry: Omit<ChangeEvent, "detail"> & { detail: string }): ChangeEvent => ({
  ...entry,
  detail: parseDetail(entry.detail),
});

/** Cache of parsed details, since one decision reads the same entries several times. */
const detailCache = once(() => new Map<string, EventDetail>());
const MAX_CACHED_DETAILS = 256;

/** Parses the text of a detail; returns an empty object for text that is no JSON object or list. All callers share the result. */
export function parseDetail(text: string): EventDetail {
  const detail = detailCache().get(text) ?? Object.freeze(parseObject(text));
  if (detailCache().size === MAX_CACHED_DETAILS) detailCache().clear();
  detailCache().set(text, detail);
  return detail;
}

function parseObject(text: string): EventDetail {
  try {
    const detail: unknown = JSON.parse(text);
    return typeof detail === "object" && detail !== null ? detail : {};
  } catch {
    return {};
  }
}
