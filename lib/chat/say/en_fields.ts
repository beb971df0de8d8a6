/** English for what is measured of changes. */
import type { Change } from "../../governance/rules/change.ts";
import { label, quote } from "../../kit/quote.ts";
import type { Measure, Span } from "../question/measure.ts";
import { dayIn } from "./days.ts";
import { figure } from "./figure.ts";
import { partsOf } from "./span.ts";

/** `1 day 22 h 30 min` */
export function spanIn(ms: number): string {
  const { days, hours, minutes } = partsOf(ms);
  const parts = [
    days > 0 ? `${days} ${days === 1 ? "day" : "days"}` : "",
    hours > 0 ? `${hours} h` : "",
    minutes > 0 ? `${minutes} min` : "",
  ];
  return parts.filter(Boolean).join(" ") || "less than a minute";
}

const BY: Record<Measure, string> = {
  users: "people affected, as proposers stated",
  expected: "the gain that was promised",
  attempts: "attempts",
  decision: "the time from proposal to decision",
  apply: "the time from approval to apply",
  whole: "the time from proposal to apply",
  force: "the time in force",
  waiting: "the time that they have waited",
};
const OF: Record<Exclude<Span, "force">, string> = {
  decision: "from its proposal to the decision",
  apply: "from its approval to its apply",
  whole: "from its proposal to its apply",
  waiting: "waiting so far",
};

const told = (measure: Measure, value: number): string =>
  measure === "users"
    ? `${value} people`
    : measure === "attempts"
      ? `${value} ${value === 1 ? "attempt" : "attempts"}`
      : measure === "expected"
        ? figure(value)
        : spanIn(value);

export const fields = {
  measured: (
    measure: Measure,
    { query, known, total, isLeast }: { query: string; known: number; total: number; isLeast: boolean },
  ): string =>
    known === 0
      ? `${query}: none of ${total} has it on record: ${BY[measure]}.`
      : `${query}, by ${BY[measure]}, the ${isLeast ? "least" : "most"} first; on record for ${known} of ${total}.`,
  spread: (measure: Measure, { least, most, mean }: Record<"least" | "most" | "mean", number>): string =>
    `On average ${told(measure, measure === "users" ? Math.round(mean) : measure === "attempts" ? Number(mean.toFixed(1)) : mean)}; from ${told(measure, least)} to ${told(measure, most)}.`,
  measure: (measure: Measure, value: number, { kpi, rolled_back_at }: Change): string =>
    measure === "users"
      ? `${value} people affected`
      : measure === "attempts"
        ? told(measure, value)
        : measure === "expected"
          ? `${figure(value)} of ${label(kpi ?? "-")} was promised`
          : measure === "force"
            ? `${spanIn(value)} in force${rolled_back_at === null ? " so far" : ""}`
            : `${spanIn(value)} ${OF[measure]}`,
  because: (rationale: string): string =>
    rationale === "" ? "No rationale was given." : `Rationale: ${quote(rationale, 300)}.`,
  usersOf: (users: number | null): string =>
    users === null
      ? "How many people it affects was not stated."
      : `It affects ${users} people, as its proposer stated.`,
  spansOf: (spans: readonly { span: Span; ms: number }[], change: Change): string =>
    spans.length === 0
      ? "It needed no consent, and was not applied."
      : `How long: ${spans.map(({ span, ms }) => fields.measure(span, ms, change)).join("; ")}.`,
  attemptsOf: (operation: "apply" | "rollback", count: number, failed: number): string =>
    count === 0
      ? "Nobody has tried to apply it."
      : `Attempts to ${operation === "apply" ? "apply it" : "roll it back"}: ${count}${failed > 0 ? `, ${failed} of which failed` : ""}.`,
  reversibleOf: (reversible: boolean | undefined): string =>
    reversible === undefined
      ? "Nobody stated whether it can be undone."
      : reversible
        ? "Its proposer says that it can be undone."
        : "Its proposer says that it cannot be undone.",
  reviewTime: ({ due_at, at }: NonNullable<Change["review"]>): string => {
    const late = at === null ? 0 : Date.parse(at) - Date.parse(due_at);
    const done =
      at === null ? "not done yet" : `done on ${dayIn(at)}, ${late > 0 ? `${spanIn(late)} late` : "in time"}`;
    return `The review was due by ${dayIn(due_at)}: ${done}.`;
  },
  consentsOf: ({ approvals, required_approvers, tier }: Change): string =>
    tier === "minor"
      ? "It is minor and needs no consent."
      : `Consents: ${new Set(approvals.map(({ approver }) => approver)).size} given, ${required_approvers} needed.`,
};
