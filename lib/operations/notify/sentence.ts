/** A notification in one sentence that says who, what and for whom, whose word is missing, and until when. */
import type { ActivityRow } from "../../projections/activity.ts";
import type { Change } from "../../changes/rules/change.ts";
import { describeAutomation } from "../../changes/rules/automation_words.ts";
import { parseDetail } from "../../changes/rules/event.ts";
import { findReviewDue } from "../../changes/rules/current_state.ts";
import type { MissingConsent } from "../../changes/rules/missing.ts";
import type { Outcome } from "../../changes/rules/outcome.ts";
import { describeMovement, describeVerdict } from "../../changes/rules/outcome_words.ts";
import { toOneLine, shorten } from "../../kit/quote.ts";
import { describe, type Described } from "../../wording/describe.ts";
import { nameChange, nameProposer } from "../../wording/names.ts";
import { capitalize, type ForeignText, joinParts, type Part } from "../../wording/part.ts";
import type { NotificationType } from "./notification.ts";
import { lacking, listed, named, on, people, said } from "./words.ts";

/** Parts of a sentence. */
export interface Matter {
  type: NotificationType;
  /** The change as it is now. */
  change: Change | undefined;
  /** The entry that records it; absent where none does. */
  entry?: Described | undefined;
  missing: readonly MissingConsent[];
  expires_at: string | null;
  /** Who may review it, where the intent names them. */
  reviewers?: readonly string[] | undefined;
  outcome?: Outcome | null | undefined;
  /** The consented value of a place that was changed outside the service, and what it holds; `null`: nothing. */
  values?: { consented: unknown; held: { value: unknown } | null } | undefined;
  /** Milliseconds since the epoch. */
  now?: number | undefined;
  /** `of_entry`: the words are all ours. */
  notice?: (Pick<ActivityRow, "title" | "detail" | "ref"> & { of_entry: boolean }) | undefined;
}

const LONGEST = 1200;
/** Characters of a value that are shown. */
const MAX_VALUE = 200;

/** The sentence. */
export function describeMatter(matter: Matter): string {
  const { change } = matter;
  return `${shorten(change ? ofChange(matter, change) : ofService(matter), LONGEST)}.`;
}

/** Parts as text; what others wrote cannot call a channel or turn the direction of what follows. */
const show = (parts: readonly Part[]): string =>
  joinParts(parts, ({ given, quoted }: ForeignText) => (quoted ? said(given) : named(given)));

function ofChange(matter: Matter, change: Change): string {
  const { entry, missing, expires_at, notice, now } = matter;
  if (entry && matter.type !== "change.waiting_for_consent") return ofEntry(entry, change, matter);
  const what = subject(change);
  const proposed = `${what}, proposed by ${proposer(change)}`;
  const weight = weightOf(change, now);
  switch (matter.type) {
    case "change.waiting_for_consent":
      if (change.status !== "pending_consent")
        return `Proposed by ${proposer(change)}: ${what}${weight}; meanwhile it is ${ended(change)}`;
      return `Consent is needed${until(expires_at)}: ${proposer(change)} proposes ${what}${weight}${given(change)}${still(missing)}`;
    case "change.expiring":
      return expiring(matter, change, proposed);
    case "change.review_due": {
      const { reviewers } = matter;
      const who = reviewers === undefined ? "" : reviewers.length === 0 ? "nobody" : listed(reviewers, "or");
      const may = who && `; it may be reviewed by ${who}`;
      return `A review is due${until(expires_at)}: ${proposed}, was approved in an emergency by ${byEmergency(change)}${weight}${may}`;
    }
    case "outcome.verdict": {
      if (!matter.outcome) return ofNotice(notice!, what);
      const how = matter.outcome.state === "final" ? "is in the end" : "is so far";
      return `The outcome of ${what} ${how} ${describeVerdict(matter.outcome)}: ${plain(describeMovement(matter.outcome))}`;
    }
    default:
      return notice ? ofNotice(notice, what) : what;
  }
}

/** An entry: what happened to which change, why, and what is possible now. */
function ofEntry(entry: Described, change: Change, { expires_at, values, now }: Matter): string {
  const { event_type, detail } = entry;
  const { what, reason } = describe(entry);
  const isProposal = event_type === "change_proposed";
  const { decision } = typeof detail === "string" ? parseDetail(detail) : (detail as { decision?: string });
  const isGrave = event_type === "change_applied" || decision === "approved";
  const kind = event_type.endsWith("_failed") ? "error: " : "note: ";
  const cause = reason === undefined ? "" : `; ${typeof reason === "string" ? reason : `${kind}${show([reason])}`}`;
  const proposed = isProposal ? "" : `, proposed by ${proposer(change)}`;
  return `${show(capitalize(what))}: ${subject(change)}${proposed}${isGrave ? weightOf(change, now) : ""}${cause}${both(values)}${next(event_type, change, expires_at)}`;
}

/** The consented value and the one that is there instead. */
function both(values: Matter["values"]): string {
  if (!values) return "";
  const shown = (value: unknown): string => said(shorten(JSON.stringify(value), MAX_VALUE));
  const held = values.held === null ? "nothing" : shown(values.held.value);
  return `; it holds ${held}, and ${shown(values.consented)} was consented to`;
}

function next(event_type: string, change: Change, expires_at: string | null): string {
  const { status } = change;
  if (event_type === "change_apply_failed") return "; it is still approved";
  if (event_type === "change_rollback_failed") return "; it is still applied";
  const automation = describeAutomation(change);
  if (status === "approved" && automation) return `; it ${automation}`;
  if (status !== "approved") return "";
  // The moment of an emergency's consent may be when its review is due, which ends nothing.
  return `; it can be applied${expires_at === findReviewDue(change) ? "" : until(expires_at)}`;
}

/** About the service, or about more than one change. */
function ofService({ type, notice }: Matter): string {
  if (!notice) return type;
  if (type !== "breach.found") return ofNotice(notice, "");
  return `${plain(notice.title)}: ${said(notice.detail)}; nothing is decided on it until it is put right, or the store is restored from a backup`;
}

/** The remark of the service, with the change by its words instead of its id. */
function ofNotice({ title, detail, ref, of_entry }: NonNullable<Matter["notice"]>, what: string): string {
  const said_of = plain(ref !== null && what !== "" ? title.split(ref).join(what) : title);
  if (detail.trim() === "") return said_of;
  return `${said_of}${of_entry ? `; ${lower(plain(detail))}` : `: ${said(detail)}`}`;
}

function expiring({ missing, expires_at, now }: Matter, change: Change, proposed: string): string {
  const when = expires_at === null ? "soon" : on(expires_at);
  const weight = weightOf(change, now);
  if (change.status === "pending_consent")
    return `Time runs out: without consent it expires ${when}: ${proposed}${weight}${given(change)}${still(missing)}`;
  if (change.status === "approved")
    return `Time runs out: approved and not applied, it lapses ${when}: ${proposed}${weight}${still(missing)}`;
  return `Time ran out for ${proposed}; meanwhile it is ${ended(change)}`;
}

const subject = (change: Change): string => show(nameChange(change));
const proposer = (change: Change): string => show(nameProposer(change));
const until = (at: string | null): string => (at === null ? "" : ` until ${on(at).replace("on ", "")}`);

/** The gravity of a change, as its proposer stated it. */
function weightOf(change: Change, now: number | undefined): string {
  const { risk, reversible, affected_users: reached, sets_nothing, status } = change;
  const parts = [
    status === "pending_consent" && describeAutomation(change, now),
    sets_nothing && "sets nothing",
    risk === "high" && "high risk",
    !reversible && "cannot be undone",
    reached !== null && `reaches ${people(reached)}`,
  ].filter(Boolean);
  return parts.length === 0 ? "" : `; ${parts.join(", ")}`;
}

function given({ approvals }: Change): string {
  const names = [...new Set(approvals.map(({ approver }) => approver))];
  return names.length === 0 ? "" : `; consent so far of ${listed(names)}`;
}

const still = (missing: readonly MissingConsent[]): string =>
  missing.length === 0 ? "" : `; still missing: ${lacking(missing)}`;

const byEmergency = ({ approvals }: Change): string =>
  listed([...new Set(approvals.flatMap(({ approver, emergency }) => (emergency ? [approver] : [])))]);

const ended = ({ status, resolution }: Change): string =>
  resolution ?? (status === "pending_consent" ? "pending" : status.replace("_", " "));

/** Words of ours, without the stop at their end. */
const plain = (words: string): string => toOneLine(words).replace(/\.$/, "");
const lower = (words: string): string => words.charAt(0).toLowerCase() + words.slice(1);
