/** Compares when changes may be applied, and how long they wait. */
import { DAY_MS, HOUR_MS } from "../../lib/kit/days.ts";
import type { Intent, Policy } from "../../lib/changes/rules/intent.ts";
import { findClosure, DAYS, isAllowed, selectWindows } from "../../lib/changes/rules/windows.ts";
import {
  type TargetDifference,
  compareTargets,
  type Difference,
  createDifference,
  compareNumbers,
} from "./difference.ts";
import { makeChange, type TargetClass, type Universe } from "./universe.ts";

/** Lists the differences in windows and time limits. */
export const compareTimes = (old: Intent, next: Intent, universe: Universe): Difference[] => [
  ...compareTargets("policy.windows.deny", 4, universe, (target) => comparePeriods(target, old.policy, next.policy)),
  ...compareHours(old.policy, next.policy),
  ...compareLimits(old.policy, next.policy),
];

const QUARTER_MS = HOUR_MS / 4;

/** Compares denied periods between their beginnings and ends; yearly ones also in the next year. */
function comparePeriods(target: TargetClass, old: Policy, next: Policy): TargetDifference[] {
  const periods = [old, next].flatMap(({ windows }) => windows.deny);
  const moments = periods.flatMap(({ from, to, yearly }) => {
    const times = [Date.parse(from), Date.parse(to)];
    return yearly ? [...times, ...times.map(inNextYear)] : times;
  });
  const isDenied = (at: number, { windows }: Policy): boolean =>
    findClosure({ ...selectWindows(windows, makeChange(target)), allow: [] }, at) !== undefined;
  return findSpans(
    [...new Set(moments)].toSorted((a, b) => a - b),
    (at) => [isDenied(at, old), isDenied(at, next)],
  ).map(({ from, to, open }) => ({
    effect: open ? "wider" : "narrower",
    text: `Changes of {} may ${open ? "now" : "no longer"} be applied from ${formatMinute(from)} to ${formatMinute(to)}.`,
  }));
}

function inNextYear(at: number): number {
  const date = new Date(at);
  date.setUTCFullYear(date.getUTCFullYear() + 1);
  return date.getTime();
}

/** Joins neighbouring moments at which only one of the intents denies applies; `open`: the new one allows them. */
function findSpans(moments: readonly number[], isDenied: (at: number) => readonly [was: boolean, is: boolean]) {
  const spans: { from: number; to: number; open: boolean }[] = [];
  for (const [index, at] of moments.entries()) {
    const [was, is] = isDenied(at);
    const to = moments[index + 1];
    if (was === is || to === undefined) continue;
    const last = spans.at(-1);
    if (last?.to === at && last.open === was) last.to = to;
    else spans.push({ from: at, to, open: was });
  }
  return spans;
}

const formatMinute = (at: number): string => new Date(at).toISOString().replace(/:00\.000Z$/, "Z");

/** A Monday in January and one in July: winter and summer time in both hemispheres. */
const MONDAYS = [Date.UTC(2026, 0, 5), Date.UTC(2026, 6, 6)];

/**
 * Compares the allowed hours of a week in steps of 15 minutes, since offsets of time zones are multiples of that. Describes the
 * first of the two weeks that differs.
 */
function compareHours(old: Policy, next: Policy): Difference[] {
  for (const monday of MONDAYS) {
    const moments = Array.from({ length: (7 * DAY_MS) / QUARTER_MS + 1 }, (_, index) => monday + index * QUARTER_MS);
    const spans = findSpans(moments, (at) => [!isAllowed(old.windows.allow, at), !isAllowed(next.windows.allow, at)]);
    if (spans.length === 0) continue;
    const month = monday === MONDAYS[0] ? "January" : "July";
    return (["wider", "narrower"] as const).flatMap((effect) => {
      const hours = spans
        .filter(({ open }) => open === (effect === "wider"))
        .map(({ from, to }) => `${formatWeekTime(from)} to ${formatWeekTime(to)}`);
      const text = `Changes may ${effect === "wider" ? "now" : "no longer"} be applied on ${hours.join(", ")} UTC, as in ${month}.`;
      return hours.length === 0 ? [] : [createDifference("policy.windows.allow", 4, effect, text)];
    });
  }
  return [];
}

const formatWeekTime = (at: number): string => {
  const time = new Date(at);
  return `${DAYS[(time.getUTCDay() + 6) % 7]} ${time.toISOString().slice(11, 16)}`;
};

function compareLimits(old: Policy, next: Policy): Difference[] {
  const compareLimit = (field: "consent_ttl_hours" | "approval_ttl_hours", subject: string) => {
    const [was, is] = [old[field] ?? Infinity, next[field] ?? Infinity];
    const formatHours = (count: number) => (count === Infinity ? "as long as it takes" : `${count} hours`);
    const text = `${subject} now waits ${formatHours(is)}; it was ${formatHours(was)}.`;
    return was === is ? [] : [createDifference(`policy.${field}`, 4, compareNumbers(was, is), text)];
  };
  const compareBlock = (field: "on_conflict" | "on_stale" | "on_moved", subject: string) =>
    old[field] === next[field]
      ? []
      : [
          next[field] === "block"
            ? createDifference(`policy.${field}`, 4, "narrower", `${subject} is now rejected; it was reported only.`)
            : createDifference(`policy.${field}`, 4, "wider", `${subject} is now reported only; it was rejected.`),
        ];
  return [
    ...compareLimit("consent_ttl_hours", "A change without consent"),
    ...compareLimit("approval_ttl_hours", "An approved change that is not applied"),
    ...compareBlock("on_conflict", "A proposal on a target that has another live change"),
    ...compareBlock("on_stale", "An apply after another change of its target was applied"),
    ...compareBlock("on_moved", "An apply over another value than its approvers saw"),
    ...(old.on_drift === next.on_drift
      ? []
      : [
          createDifference(
            "policy.on_drift",
            4,
            "other",
            next.on_drift === "restore"
              ? "The service now restores a value that was changed outside of it."
              : "The service no longer restores a value that was changed outside of it.",
          ),
        ]),
  ];
}
