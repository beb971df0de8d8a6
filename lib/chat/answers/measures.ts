/** What is measured of changes, by which they are put in order: how many people, how long, how often, how much. */
import { isLive } from "../../governance/rules/in_force.ts";
import { queryEvents } from "../../pulse/query/event_query.ts";
import { type Row, timesOf } from "../../pulse/query/row.ts";
import type { Measure, Span } from "../question/measure.ts";
import type { Asking } from "./asking.ts";
import { withoutState } from "./kind.ts";

const since = (from: string | null | undefined, to: string | number | null | undefined): number | null => {
  if (!from || to === null || to === undefined) return null;
  return Math.max(0, (typeof to === "number" ? to : Date.parse(to)) - Date.parse(from));
};

/** How long a part of a change's life took, or takes by now; `null` where it did not come so far. */
export function spanOf(span: Span, row: Row, now: number, by?: string | readonly string[]): number | null {
  const { status, created_at, decided_at, applied_at, rolled_back_at } = row;
  const [approved] = timesOf(row, "approved");
  // Whoever is asked after is measured by their own decision.
  const own = by === undefined ? undefined : timesOf(row, "decided", by)[0];
  switch (span) {
    case "decision":
      if (by !== undefined) return since(created_at, own);
      return row.tier === "minor" || !isDecided(row) ? null : since(created_at, approved ?? decided_at);
    case "apply":
      return since(approved, applied_at);
    case "whole":
      return since(created_at, applied_at);
    case "force":
      return since(applied_at, rolled_back_at ?? now);
    case "waiting":
      return isLive(status) ? since(status === "approved" ? decided_at : created_at, now) : null;
  }
}

/** Whether people decided on it: what they left until its time was over, or its proposer took back, they did not. */
const isDecided = ({ status, resolution }: Row): boolean =>
  status !== "pending_consent" && resolution !== "expired" && resolution !== "withdrawn";

/** What a question measures changes by. */
export function measureIn(asking: Asking): Measure | undefined {
  const { question } = asking;
  const { has } = question;
  const isOfMost = has("most", "least");
  const isOfPeople = has("person") || /\b(?:customers?|clients?)\b|客户/i.test(question.text) || isOfMost;
  if (
    has("reach") &&
    isOfPeople &&
    (has("how_many", "most", "least", "who", "which") || question.named("target").length > 1)
  )
    return "users";
  if (has("attempts")) return has("how_many", "most", "least") ? "attempts" : undefined;
  if (has("duration") || LONGER.test(question.text)) return spanIn(asking);
  if (!isOfMost || !SIZE.test(question.text)) return undefined;
  return has("outcome", "kpis") || question.named("kpi").length > 0 ? "expected" : has("risk") ? undefined : "users";
}
/** A time to which others are compared: the figures are told, and not only those beyond it. */
export const LONGER =
  /(?:more|longer|less|over) than (?:an?|one|two|three|\d+) (?:hour|day|week)|(?:超过|不到|多于)[一两三四五\d]+个?(?:小时|天|周|星期)/i;
const SIZE = /\b(?:big|small|larg|wid|great)(?:g?est|est|er|ger)\b|最大|最小|范围最广|最广/i;

const STILL = /\b(?:is|are|has|have|been|waits|still|now)\b|还|现在|正|至今/i;

/** Which part of its life is meant: by what is said to have been done at its end. */
function spanIn({ question: { has, text } }: Asking): Span {
  if (has("proposed") && has("applied", "live")) return "whole";
  if (has("approved", "decided") && has("applied")) return "apply";
  const isStill = has("waits") && STILL.test(text) && !has("decided", "denied", "applied");
  if (isStill || (has("waits", "pending") && !has("approved", "decided", "denied", "applied"))) return "waiting";
  if (has("approved", "decided", "denied", "reviewed")) return "decision";
  if (has("live", "rolled_back")) return "force";
  return "whole";
}

/** Which changes are measured: of whoever waits those that they proposed, and whatever was done at the end, all to which it was. */
export function measured(asking: Asking, measure: Measure): Asking["plan"] {
  const { plan, question } = asking;
  const { person } = plan.filter;
  if (person && question.has("waits")) {
    const { period } = plan.filter;
    const isDated = period?.from !== undefined || period?.to !== undefined;
    const theirs = {
      person: { ...person, as: "proposer" as const },
      period: isDated ? { ...period, of: "approved" as const } : undefined,
    };
    return { ...plan, filter: { ...plan.filter, ...theirs } };
  }
  return measure === "waiting" ? withoutState(asking) : plan;
}

/** The entries that an attempt leaves, that which worked first. */
export const TRIED = {
  apply: ["change_applied", "change_apply_failed"],
  rollback: ["change_rolled_back", "change_rollback_failed"],
} as const;
const MOST_TRIED = 20_000;

/** What each of these changes measures; those of which the records do not say are left out. */
export async function valuesOf(asking: Asking, measure: Measure, rows: readonly Row[]): Promise<Map<string, number>> {
  const { deps } = asking;
  if (measure === "attempts") {
    const tried = await queryEvents(deps.store, {
      types: TRIED[asking.plan.deed === "rolled_back" ? "rollback" : "apply"],
      change_ids: new Set(rows.map(({ change_id }) => change_id)),
      limit: MOST_TRIED,
    });
    const counts = new Map<string, number>();
    for (const { change_id } of tried.entries) counts.set(change_id, (counts.get(change_id) ?? 0) + 1);
    return counts;
  }
  const now = deps.clock.now();
  const { person } = asking.plan.filter;
  const by = person && (person.as === "approver" || person.as === "decider") ? person.name : undefined;
  const of = (row: Row): number | null =>
    measure === "users"
      ? row.affected_users
      : measure === "expected"
        ? row.expected_delta_k
        : spanOf(measure, row, now, by);
  return new Map(
    rows.flatMap((row): [string, number][] => {
      const value = of(row);
      return value === null || value === undefined ? [] : [[row.change_id, value]];
    }),
  );
}
