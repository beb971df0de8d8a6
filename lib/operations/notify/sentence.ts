/** Describes a notification in one sentence: the event, the missing consents and the time limit. */
import type { ActivityRow } from "../../projections/activity.ts";
import type { Change } from "../../changes/rules/change.ts";
import { describeAutomation } from "../../changes/rules/automation_words.ts";
import { parseDetail } from "../../changes/rules/event.ts";
import { findReviewDue } from "../../changes/rules/current_state.ts";
import type { MissingConsent } from "../../changes/rules/missing_consents.ts";
import type { Outcome } from "../../changes/rules/outcome.ts";
import { describeMovement, describeVerdict } from "../../changes/rules/outcome_words.ts";
import { toOneLine, shorten } from "../../kit/quote.ts";
import { describe, type DescribableEntry } from "../../wording/describe.ts";
import { nameChange, nameProposer } from "../../wording/names.ts";
import { capitalize, type ForeignText, joinParts, type Part } from "../../wording/part.ts";
import type { NotificationType } from "./notification.ts";
import { describeMissing, joinNames, quoteName, formatTime, countPeople, quoteProse } from "./words.ts";

/** Facts of a sentence. */
export interface NotificationFacts {
  type: NotificationType;
  /** The change as it is now. */
  change: Change | undefined;
  /** The entry that records the event, if any. */
  entry?: DescribableEntry | undefined;
  missing: readonly MissingConsent[];
  /** When the consent or the approval expires; in an emergency, when the review is due. */
  expires_at: string | null;
  /** People who may review it, if the intent names them. */
  reviewers?: readonly string[] | undefined;
  outcome?: Outcome | null | undefined;
  /** The consented and the current value of a drifted target; `current` is null for no value. */
  values?: { consented: unknown; current: { value: unknown } | null } | undefined;
  /** Milliseconds since the epoch; decides whether an automatic apply is still ahead. */
  now?: number | undefined;
  /** `of_entry`: the notice contains no words of a user. */
  notice?: (Pick<ActivityRow, "title" | "detail" | "ref"> & { of_entry: boolean }) | undefined;
}

const MAX_LENGTH = 1200;
/** Characters of a value that are shown. */
const MAX_VALUE_LENGTH = 200;

export function describeNotification(facts: NotificationFacts): string {
  const { change } = facts;
  return `${shorten(change ? describeForChange(facts, change) : describeForService(facts), MAX_LENGTH)}.`;
}

/** Joins parts; text of users can neither mention a channel nor change the direction of the text after it. */
const joinText = (parts: readonly Part[]): string =>
  joinParts(parts, ({ text, quoted }: ForeignText) => (quoted ? quoteProse(text) : quoteName(text)));

function describeForChange(facts: NotificationFacts, change: Change): string {
  const { entry, missing, expires_at, notice, now } = facts;
  // A request for consent says more than its entry, the proposal.
  if (entry && facts.type !== "change.waiting_for_consent") return describeEntry(entry, change, facts);
  const subject = nameSubject(change);
  const proposed = `${subject}, proposed by ${formatProposer(change)}`;
  const weight = describeWeight(change, now);
  switch (facts.type) {
    case "change.waiting_for_consent":
      if (change.status !== "pending_consent")
        return `Proposed by ${formatProposer(change)}: ${subject}${weight}; meanwhile it is ${nameEndedStatus(change)}`;
      return `Consent is needed${describeUntil(expires_at)}: ${formatProposer(change)} proposes ${subject}${weight}${describeConsents(change)}${describeStillMissing(missing)}`;
    case "change.expiring":
      return describeExpiry(facts, change, proposed);
    case "change.review_due": {
      const { reviewers } = facts;
      const names = reviewers?.length === 0 ? "nobody" : joinNames(reviewers ?? [], "or");
      const reviewNote = reviewers === undefined ? "" : `; it may be reviewed by ${names}`;
      return `A review is due${describeUntil(expires_at)}: ${proposed}, was approved in an emergency by ${listEmergencyApprovers(change)}${weight}${reviewNote}`;
    }
    case "outcome.verdict": {
      if (!facts.outcome) return describeNotice(notice!, subject);
      const stateWords = facts.outcome.state === "final" ? "is in the end" : "is so far";
      return `The outcome of ${subject} ${stateWords} ${describeVerdict(facts.outcome)}: ${removeFullStop(describeMovement(facts.outcome))}`;
    }
    default:
      return notice ? describeNotice(notice, subject) : subject;
  }
}

/** Describes an entry: the event, its change, the reason, and the possible next step. */
function describeEntry(
  entry: DescribableEntry,
  change: Change,
  { expires_at, values, now }: NotificationFacts,
): string {
  const { event_type, detail } = entry;
  const { event, reason } = describe(entry);
  const isProposal = event_type === "change_proposed";
  const { decision } = typeof detail === "string" ? parseDetail(detail) : (detail as { decision?: string });
  // Risk and reach matter for what happens now or may happen next.
  const isGrave = event_type === "change_applied" || decision === "approved";
  const cause = describeCause(event_type, reason);
  const proposed = isProposal ? "" : `, proposed by ${formatProposer(change)}`;
  const weight = isGrave ? describeWeight(change, now) : "";
  const nextStep = describeNextStep(event_type, change, expires_at);
  return `${joinText(capitalize(event))}: ${nameSubject(change)}${proposed}${weight}${cause}${describeBothValues(values)}${nextStep}`;
}

function describeCause(event_type: string, reason: Part | undefined): string {
  if (reason === undefined) return "";
  if (typeof reason === "string") return `; ${reason}`;
  return `; ${event_type.endsWith("_failed") ? "error" : "note"}: ${joinText([reason])}`;
}

/** Describes the consented value and the current one. */
function describeBothValues(values: NotificationFacts["values"]): string {
  if (!values) return "";
  const quoteValue = (value: unknown): string => quoteProse(shorten(JSON.stringify(value), MAX_VALUE_LENGTH));
  const current = values.current === null ? "nothing" : quoteValue(values.current.value);
  return `; it holds ${current}, and ${quoteValue(values.consented)} was consented to`;
}

function describeNextStep(event_type: string, change: Change, expires_at: string | null): string {
  const { status } = change;
  if (event_type === "change_apply_failed") return "; it is still approved";
  if (event_type === "change_rollback_failed") return "; it is still applied";
  const automation = describeAutomation(change);
  if (status === "approved" && automation) return `; it ${automation}`;
  if (status !== "approved") return "";
  // In an emergency the time may be that of the due review, which does not end the consent.
  return `; it can be applied${expires_at === findReviewDue(change) ? "" : describeUntil(expires_at)}`;
}

/** Describes a notification about the service, or about several changes. */
function describeForService({ type, notice }: NotificationFacts): string {
  if (!notice) return type;
  if (type !== "breach.found") return describeNotice(notice, "");
  return `${removeFullStop(notice.title)}: ${quoteProse(notice.detail)}; nothing is decided on it until it is put right, or the store is restored from a backup`;
}

/** Describes a notice, with the change's name (`subject`) instead of its id. */
function describeNotice(
  { title, detail, ref, of_entry }: NonNullable<NotificationFacts["notice"]>,
  subject: string,
): string {
  const sentence = removeFullStop(ref !== null && subject !== "" ? title.split(ref).join(subject) : title);
  if (detail.trim() === "") return sentence;
  return `${sentence}${of_entry ? `; ${lowerFirst(removeFullStop(detail))}` : `: ${quoteProse(detail)}`}`;
}

function describeExpiry({ missing, expires_at, now }: NotificationFacts, change: Change, proposed: string): string {
  const when = expires_at === null ? "soon" : formatTime(expires_at);
  const weight = describeWeight(change, now);
  if (change.status === "pending_consent")
    return `Time runs out: without consent it expires ${when}: ${proposed}${weight}${describeConsents(change)}${describeStillMissing(missing)}`;
  if (change.status === "approved")
    return `Time runs out: approved and not applied, it lapses ${when}: ${proposed}${weight}${describeStillMissing(missing)}`;
  return `Time ran out for ${proposed}; meanwhile it is ${nameEndedStatus(change)}`;
}

const nameSubject = (change: Change): string => joinText(nameChange(change));
const formatProposer = (change: Change): string => joinText(nameProposer(change));
/** `formatTime` begins with "on", which does not go with "until". */
const describeUntil = (at: string | null): string => (at === null ? "" : ` until ${formatTime(at).replace("on ", "")}`);

/** Describes risk, reversibility and reach of a change as its proposer stated them; of a pending change also its automatic apply. */
function describeWeight(change: Change, now: number | undefined): string {
  const { risk, reversible, affected_users: reached, sets_nothing, status } = change;
  const parts = [
    status === "pending_consent" && describeAutomation(change, now),
    sets_nothing && "sets nothing",
    risk === "high" && "high risk",
    !reversible && "cannot be undone",
    reached !== null && `reaches ${countPeople(reached)}`,
  ].filter(Boolean);
  return parts.length === 0 ? "" : `; ${parts.join(", ")}`;
}

function describeConsents({ approvals }: Change): string {
  const names = [...new Set(approvals.map(({ approver }) => approver))];
  return names.length === 0 ? "" : `; consent so far of ${joinNames(names)}`;
}

const describeStillMissing = (missing: readonly MissingConsent[]): string =>
  missing.length === 0 ? "" : `; still missing: ${describeMissing(missing)}`;

const listEmergencyApprovers = ({ approvals }: Change): string =>
  joinNames([...new Set(approvals.flatMap(({ approver, emergency }) => (emergency ? [approver] : [])))]);

/** Names how a change ended, such as `withdrawn`; without an end, its status. */
const nameEndedStatus = ({ status, resolution }: Change): string =>
  resolution ?? (status === "pending_consent" ? "pending" : status.replace("_", " "));

/** Removes the full stop at the end of a sentence. */
const removeFullStop = (words: string): string => toOneLine(words).replace(/\.$/, "");
const lowerFirst = (words: string): string => words.charAt(0).toLowerCase() + words.slice(1);
