/** English for changes, entries and what waits. */
import type { Entry } from "../../follow/entries.ts";
import type { DriftEpisode } from "../../governance/drift.ts";
import type { Change } from "../../governance/rules/change.ts";
import type { Gate } from "../../governance/rules/gates.ts";
import { lateOn } from "../../governance/rules/late_items.ts";
import { type Missing, QUORUM } from "../../governance/rules/missing.ts";
import type { Outcome } from "../../governance/rules/outcome.ts";
import { caveatsOf } from "../../governance/rules/outcome_words.ts";
import { label, quote } from "../../kit/quote.ts";
import type { ChangeDetail } from "../facts.ts";
import { dayIn } from "./days.ts";
import { standing, verdict } from "./en_query.ts";
import { figure } from "./figure.ts";

const EVENTS: Partial<Record<Entry["event_type"], string>> = {
  kpi_refreshed: "KPIs fed",
  change_proposed: "proposed",
  change_applied: "applied",
  change_rolled_back: "rolled back",
  change_apply_failed: "the apply failed",
  change_rollback_failed: "the rollback failed",
  change_drifted: "drift noticed",
  proposal_refused: "a proposal was refused",
  intent_in_force: "an intent came into force",
  emergency_reviewed: "emergency reviewed",
  service_frozen: "applies frozen",
  service_unfrozen: "freeze lifted",
  record_rebuilt: "record rebuilt from the log",
  clock_accepted: "clock accepted",
  content_erased: "content erased",
  note_added: "late note added",
  store_moved: "the store moved",
  loss_accepted: "loss of the log's end accepted",
};
const DECISIONS: Record<string, string> = {
  approved: "approved",
  denied: "denied",
  withdrawn: "withdrawn",
  expired: "expired",
  revoked: "consent revoked",
  lapsed: "lapsed",
};

const deedOf = ({ event_type, facts }: Entry): string =>
  event_type === "consent_decision"
    ? `${DECISIONS[facts.decision ?? ""] ?? "decided"}${facts.emergency ? " in an emergency" : ""}`
    : (EVENTS[event_type] ?? event_type);

const whoMay = ({ rule, count, of }: Missing): string =>
  `${count} more ${count === 1 ? "consent" : "consents"}${of.length === 0 ? ", of anybody who may approve" : `, of ${of.map(label).join(" or ")}`}${rule === QUORUM ? "" : ` (${rule})`}`;

/** What was said afterwards, behind what is told to lack it. */
const saidLate = (late: ReturnType<typeof lateOn>): string =>
  late
    ? `; said late${late.actor === null ? "" : ` by ${label(late.actor)}`} on ${dayIn(late.at)}: ${quote(late.note, 500)}`
    : "";

/** What an entry adds: who, why, what went wrong, what a guardrail saw. */
function factsOf({ event_type, facts }: Entry, who: string | null): string {
  const evidence = (facts as { evidence?: { kpi: string; regression: number; max_regression: number } }).evidence;
  const values = Object.entries(facts.values ?? {}).map(([kpi, value]) => `${kpi} ${value}`);
  return [
    who === null || event_type === "kpi_refreshed" ? "" : ` by ${label(who)}`,
    facts.code ? ` (${facts.code}, target ${label(facts.target ?? "")})` : "",
    values.length > 0 ? `: ${values.join(", ")}` : "",
    facts.error ? `: ${quote(facts.error, 200)}` : "",
    evidence
      ? `: ${evidence.kpi} was worse by ${figure(evidence.regression)}, and ${figure(evidence.max_regression)} is allowed`
      : "",
    facts.note ? `: ${quote(facts.note, 300)}` : "",
    facts.until ? `, until ${dayIn(facts.until)}` : "",
  ].join("");
}

const TITLES: Partial<Record<EventsAsked["what"], string>> = {
  failures: "Failures and drift",
  unnoted: "Consents without a note",
  proposal_refused: "Proposals that were refused",
  consent_decision: "Decisions",
  change_drifted: "Entries about drift",
  emergency_reviewed: "Reviews of emergencies",
  service_frozen: "Freezes of all applies",
};

/** Which entries were asked for: about what, by whom, in which days. */
export interface EventsAsked {
  query: string;
  who: string | readonly string[] | undefined;
  days: string;
  what: "all" | "failures" | "unnoted" | Entry["event_type"];
}

export const records = {
  whichChange: (newest: readonly Change[]): string =>
    newest.length === 0
      ? "There is no change yet."
      : `Which change? Name its id, its target or words of its summary. The newest: ${newest.map(({ change_id, target }) => `${label(target)} (${change_id})`).join("; ")}.`,
  change: ({
    change_id,
    target,
    tenant_id,
    summary,
    rationale,
    kind,
    tier,
    risk,
    proposer,
    asked_by,
    created_at,
    late_notes,
    ...rest
  }: ChangeDetail): string =>
    [
      `${change_id} on ${label(target)} of ${label(tenant_id)} (${kind}, ${tier}, ${risk} risk): ${quote(summary, 200)}. It is ${standing(rest)}.`,
      `Proposed ${proposer === null ? "" : `by ${label(proposer)} `}${asked_by ? `for ${label(asked_by)} ` : ""}on ${dayIn(created_at)}. Rationale: ${rationale ? quote(rationale, 500) : `none was given${saidLate(lateOn({ late_notes }, "rationale"))}`}.`,
    ].join("\n"),
  /** Steps after the proposal, each on a line. */
  step: (entry: Entry, who: string | null): string[] =>
    entry.event_type === "change_proposed"
      ? []
      : [`- ${dayIn(entry.timestamp)} ${deedOf(entry)}${factsOf(entry, who)} (audit entry ${entry.id})`],
  summaryOf: ({ change_id, target, tenant_id, summary, ...change }: Change): string =>
    `- ${change_id} ${label(target)} (${label(tenant_id)}), ${quote(summary, 120)}: ${standing(change)}`,
  outcome: (outcome: Outcome): string =>
    outcome.kpi === null
      ? "No KPI was named, so there is no verdict on it."
      : `${outcome.kpi}: ${figure(outcome.expected_delta_k)} expected, ${figure(outcome.realised_delta)} realised, ${[verdict(outcome.verdict), ...caveatsOf(outcome)].join(", ")} (a correlation).`,
  blocked: (messages: readonly string[]): string => `What blocks it: ${messages.join("; ")}.`,
  missing: (id: string, missing: readonly Missing[], page: string): string =>
    `${id} waits for ${missing.map(whoMay).join("; and for ")}. ${page}`,
  approvedAlready: (name: string, at: string): string => `${label(name)} approved it on ${dayIn(at)} already`,
  deadline: (status: Change["status"], at: string): string =>
    `It ${status === "approved" ? "lapses" : "expires"} on ${dayIn(at)}.`,
  lacksNothing: (change: Change): string =>
    `${change.change_id} waits for nobody's consent: it is ${standing(change)}.`,
  others: (ids: readonly string[]): string => `Other changes that fit: ${ids.join(", ")}.`,
  mayApprove: (name: string, { change_id, status }: Change, page: string): string =>
    status === "pending_consent" || status === "approved"
      ? `Yes, ${label(name)} may approve ${change_id}: ${page}`
      : `By the intent ${label(name)} may decide on ${change_id}, which waits for no consent any more.`,
  mayNot: (_name: string, { change_id }: Change, why: string): string => `No, not ${change_id}: ${why}.`,
  holds: ({ change_id, value }: Change): string =>
    value === undefined ? "" : `  ${change_id} sets ${quote(JSON.stringify(value), 200)}`,

  pending: (count: number): string =>
    count === 0
      ? "Nothing waits for consent."
      : `${count} ${count === 1 ? "change waits" : "changes wait"} for consent:`,
  approved: (count: number): string =>
    count === 0 ? "" : `${count} approved ${count === 1 ? "change waits" : "changes wait"} for its apply:`,
  ready: (count: number): string => (count === 0 ? "Nothing is ready to apply." : `Ready to apply: ${count}`),
  held: (count: number): string => `Approved, and something is in the way of ${count}:`,
  waiting: ({
    change,
    until,
    missing,
    blocked_by,
  }: {
    change: Change;
    until: string | null;
    missing: readonly Missing[];
    blocked_by: readonly Gate[];
  }): string => {
    const { change_id, target, tenant_id, tier, risk, summary, proposer, approvals, created_at } = change;
    const given = [...new Set(approvals.map(({ approver }) => label(approver)))];
    const needed = change.required_approvers;
    const gates = blocked_by
      .filter(({ gate }) => gate !== "consent" && gate !== "owners")
      .map(({ message }) => message);
    return [
      `- ${change_id} ${label(target)} (${label(tenant_id)}), ${tier}, ${risk} risk: ${quote(summary, 120)}, proposed ${proposer === null ? "" : `by ${label(proposer)} `}on ${dayIn(created_at)}`,
      ` (${given.length} of ${needed} consents${given.length > 0 ? `: ${given.join(", ")}` : ""})`,
      missing.length > 0 ? `; waits for ${missing.map(whoMay).join("; and for ")}` : "",
      gates.length > 0 ? `; in its way: ${gates.join("; ")}` : "",
      until === null ? "" : `; ${change.status === "approved" ? "lapses" : "expires"} on ${dayIn(until)}`,
    ].join("");
  },
  reviews: (count: number): string =>
    count === 0
      ? "No review of an emergency is due."
      : `${count} ${count === 1 ? "review" : "reviews"} of emergencies ${count === 1 ? "is" : "are"} due:`,
  reviewers: (able: readonly string[] | undefined): string =>
    able
      ? `  may be reviewed by ${able.map(label).join(" or ") || "nobody"}`
      : "  may be reviewed by anybody who had no part in it",
  reviewDue: ({ change_id, target, review, summary }: Change): string =>
    `- ${change_id} ${label(target)}, ${quote(summary, 120)}: its emergency consent is to be reviewed by ${dayIn(review?.due_at ?? "")}`,
  waitsFor: (person: string, count: number, of: string): string =>
    count === 0
      ? `No change${of} waits for a consent of ${label(person)}.`
      : `${count} ${count === 1 ? "change" : "changes"}${of} ${count === 1 ? "waits" : "wait"} for a consent of ${label(person)}:`,
  waitsNot: (
    person: string,
    { own, done, others }: { own: readonly Change[]; done: readonly Change[]; others: number },
    of: string,
  ): string => {
    const ids = (of: readonly Change[]): string =>
      of
        .slice(0, 5)
        .map(({ change_id, target }) => `${change_id} ${label(target)}`)
        .join(", ");
    const parts = [
      own.length > 0 ? `${own.length} that they proposed themselves (${ids(own)})` : "",
      done.length > 0 ? `${done.length} that they have approved (${ids(done)})` : "",
      others > 0 ? `${others} on which only others may still decide` : "",
    ].filter(Boolean);
    return parts.length === 0 ? "" : `Pending${of}, and not waiting for ${label(person)}: ${parts.join("; ")}.`;
  },
  approvedToo: (count: number): string =>
    `${count} approved ${count === 1 ? "change waits" : "changes wait"} for whoever may apply: ask what is ready.`,
  whoAsks:
    "Nobody is named as asking, so this is what waits for anybody. Send an author to be told what waits for you.",

  events: ({ query, who, days, what }: EventsAsked, total: number): string =>
    `${TITLES[what] ?? "What the log tells"}${query}${who === undefined ? "" : ` by ${[who].flat().map(label).join(" or ")}`}${days}: ${total === 0 ? "none" : `${total} ${total === 1 ? "entry" : "entries"}`}.`,
  eventCounts: (counts: Partial<Record<Entry["event_type"], number>>): string =>
    `${Object.entries(counts)
      .map(([type, count]) => `${type} ${count}`)
      .join(", ")}.`,
  newestEvents: (count: number): string => `The newest ${count}; all of them: countersign audit list`,
  lookedAtEntries: (count: number): string => `Only the newest ${count} entries of these days were looked at.`,
  event: (entry: Entry, who: string | null, change: Change | undefined): string =>
    `- ${dayIn(entry.timestamp)} ${deedOf(entry)}${factsOf(entry, who)}${change ? `; ${change.change_id} ${label(change.target)} (${label(change.tenant_id)}), ${quote(change.summary, 120)}` : ""} (audit entry ${entry.id})`,
  due: (of: string, count: number): string => `Due${of}, the soonest first: ${count === 0 ? "nothing" : count}.`,
  /** Behind what is asked for: by when it is to be decided. */
  dueIn: (days: string): string => ` due${days}`,
  dueChange: (
    at: string,
    is: "review" | "consent" | "apply",
    { change_id, target, tenant_id, summary }: Change,
  ): string =>
    `- ${dayIn(at)} ${is === "review" ? "the review of an emergency is due" : is === "consent" ? "it expires without consent" : "it lapses without its apply"}: ${change_id} ${label(target)} (${label(tenant_id)}), ${quote(summary, 120)}`,
  dueGoal: (at: string, kpi: string): string => `- ${dayIn(at)} the deadline of the goal of ${label(kpi)}`,
  drift: (count: number, checked_at: string | null, of: string): string =>
    `${count === 0 ? "Nothing drifts" : count === 1 ? "One target drifts" : `${count} targets drift`}${of}${checked_at === null ? "; no check has run yet" : ` as of the check on ${dayIn(checked_at)}`}.`,
  noDriftCheck: "Drift is not checked: there is no adapter to the host product.",
  driftRow: ({ change_id, target, tenant_id, state, since }: DriftEpisode): string =>
    `- ${change_id} ${label(target)} (${label(tenant_id)}): ${state === "missing" ? "missing on the host" : "drifted"} since ${dayIn(since)}`,
};
