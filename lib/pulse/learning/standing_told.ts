/** What waits and for whom, what became of promises, and what is due: as it stands when the report is written. */
import { reviewersOf } from "../../governance/rules/break_glass.ts";
import type { Change } from "../../governance/rules/change.ts";
import { deadlineOf } from "../../governance/rules/in_force.ts";
import type { Intent, Policy } from "../../governance/rules/intent.ts";
import type { Missing } from "../../governance/rules/missing.ts";
import { deadlineOf as goalBy } from "../../governance/rules/kpi.ts";
import { type Outcome, type Verdict } from "../../governance/rules/outcome.ts";
import { movementOf, wordOf } from "../../governance/rules/outcome_words.ts";
import { DAY_MS } from "../../kit/days.ts";
import { code, list } from "../markdown.ts";
import { briefOf, moment, nameOf, who } from "./told.ts";
import { capped, type WeekSeen } from "./week_seen.ts";

/** Everything that waits for somebody, with whom it waits for; what is lost first comes first. */
export function waitingTold(seen: WeekSeen, intent: Intent): string {
  const { pending, approved, reviews, drifting, missing } = seen;
  const over = (change: Change) => endOf(change, intent.policy);
  const items = [
    ...linesOf(seen, reviews, (change) => [
      change.review!.due_at,
      `review of an emergency, due ${moment(change.review!.due_at)}, by ${anyOf(reviewersOf(change, intent) ?? [])}`,
    ]),
    ...linesOf(seen, pending, (change) => [
      over(change),
      `consent of ${(missing.get(change.change_id) ?? []).map(lackOf).join(" and of ")}, since ${moment(change.created_at)}${until("expires", over(change))}`,
    ]),
    ...linesOf(seen, approved, (change) => [
      over(change),
      `its apply, approved ${moment(change.decided_at!)}${until("lapses", over(change))}`,
    ]),
    ...linesOf(seen, drifting, (_, { drift }) => [
      undefined,
      `somebody to mend its drift: ${drift!.state} on the host since ${moment(drift!.since)}`,
    ]),
  ];
  items.sort((a, b) => ((a.by ?? "~") < (b.by ?? "~") ? -1 : 1));
  return list(capped(items.map(({ line }) => line))) ?? "Nothing waits for anybody.";
}

function linesOf(
  { changes }: WeekSeen,
  ids: readonly string[],
  told: (
    change: Change,
    found: NonNullable<ReturnType<WeekSeen["changes"]["get"]>>,
  ) => [by: string | undefined, string],
): { by: string | undefined; line: string }[] {
  return ids.flatMap((id) => {
    const found = changes.get(id);
    if (!found) return [];
    const [by, waits] = told(found.change, found);
    return { by, line: `${nameOf(found.change)} waits for ${waits}` };
  });
}

const lackOf = ({ count, of }: Missing): string => (count > 1 ? `${count} of ${anyOf(of, ", ")}` : anyOf(of));

const anyOf = (names: readonly string[], between = " or "): string =>
  names.length === 0 ? "anybody" : names.map(who).join(between);

const until = (what: string, at: string | undefined): string => (at === undefined ? "" : `, ${what} ${moment(at)}`);

/** When the time of what waits is over, where the intent sets it a limit. */
function endOf(change: Change, policy: Policy): string | undefined {
  const deadline = deadlineOf(change, policy);
  return deadline === undefined ? undefined : new Date(deadline).toISOString();
}

const PROMISES: readonly [string, readonly Verdict[]][] = [
  ["Broken", ["missed", "regressed"]],
  ["Kept", ["met"]],
  ["Too early to judge", ["too_early"]],
  ["Not to be judged", ["inconclusive"]],
];

/** What applied changes promised, and what has come of it: those whose outcome is open, or was closed in the week. */
export function promisesTold({ changes, judged }: WeekSeen): (string | undefined)[] {
  const all = judged.map((id) => changes.get(id)!);
  const blocks = PROMISES.flatMap(([title, verdicts]) => {
    const group = all.filter(({ outcome }) => verdicts.includes(outcome!.verdict));
    const lines = group.map(
      ({ change, outcome }) =>
        `${nameOf(change)}: ${wordOf(outcome!)}, ${stateOf(outcome!)}. ${movementOf(outcome!)}${sharersOf(outcome!, changes)}`,
    );
    return lines.length === 0 ? [] : [`### ${title}: ${lines.length}`, list(capped(lines))];
  });
  return blocks.length === 0
    ? ["No applied change whose time is not over promised anything."]
    : [...blocks, "A movement is a correlation: nothing here shows that a change caused it."];
}

const stateOf = ({ ended_by, judged_from }: Outcome): string =>
  ended_by === null
    ? `judged on ${moment(judged_from)}`
    : `final, ended by ${ended_by === "change" ? "another change" : ended_by}`;

/** The targets of those with whom a movement is shared. */
function sharersOf({ shared_with, realised_delta }: Outcome, changes: WeekSeen["changes"]): string {
  const targets = shared_with.flatMap((id) => changes.get(id)?.change.target ?? []);
  return realised_delta === null || targets.length === 0 ? "" : ` It shares that with ${targets.map(code).join(", ")}.`;
}

/** What is late is due at once; a deadline that was missed long ago is not told each week anew. */
const isSoon = (away: number): boolean => away <= 7 * DAY_MS && away > -7 * DAY_MS;

/** What time brings within seven days, in order. */
export function dueTold(seen: WeekSeen, intent: Intent, until: string | null): string {
  const { changes, now } = seen;
  const { policy } = intent;
  const of = (ids: readonly string[], what: string, at: (change: Change) => string | undefined) =>
    ids.flatMap((id) => {
      const change = changes.get(id)?.change;
      return change ? { at: at(change), what: `${briefOf(change)} ${what}` } : [];
    });
  const open = seen.judged.filter((id) => changes.get(id)!.outcome!.state === "open");
  const due = [
    ...of(seen.pending, "expires", (change) => endOf(change, policy)),
    ...of(seen.approved, "lapses", (change) => endOf(change, policy)),
    ...of(seen.reviews, "is to be reviewed", ({ review }) => review?.due_at),
    ...of(open, "is judged", (change) => changes.get(change.change_id)!.outcome!.judged_from),
    { at: until ?? undefined, what: "the freeze ends" },
    ...Object.entries(intent.kpis).map(([kpi, goal]) => ({
      at: goal.deadline === undefined ? undefined : new Date(goalBy(goal)).toISOString(),
      what: `the deadline of the goal for ${code(kpi)}`,
    })),
  ].flatMap(({ at, what }) => (at !== undefined && isSoon(Date.parse(at) - now) ? { at, what } : []));
  due.sort((a, b) => (a.at < b.at ? -1 : 1));
  return list(capped(due.map(({ at, what }) => `${moment(at)}: ${what}`))) ?? "Nothing is due within seven days.";
}
