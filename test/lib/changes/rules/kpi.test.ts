/** The direction, goal, effect and description of KPIs. */
import { expect, test } from "vitest";
import { computeEffect } from "../../../../lib/changes/rules/effect.ts";
import type { Intent, KpiGoal } from "../../../../lib/changes/rules/intent.ts";
import {
  goalDeadline,
  kpiDirection,
  addFeedValues,
  findGoal,
  isStale,
  NO_KPIS,
} from "../../../../lib/changes/rules/kpi.ts";
import { describeGain, describeDelta, describePromise } from "../../../../lib/changes/rules/kpi_words.ts";
import { describeSideEffect, formatDelta, describeRegression } from "../../../../lib/changes/rules/kpi_words.ts";

const DAY = 86_400_000;
const NOW = Date.parse("2026-03-10T12:00:00Z");
const intentWith = (kpis: Record<string, KpiGoal>): Intent => ({ kpis }) as Intent;
const feedValues = (values: Record<string, number>, at = "2026-03-10T00:00:00Z") =>
  addFeedValues(NO_KPIS, values, at, 1);

test("a feed replaces the newest value and leaves the first one", () => {
  const twice = addFeedValues(feedValues({ a: 1, b: 2 }, "2026-03-01T00:00:00Z"), { a: 3 }, "2026-03-02T00:00:00Z", 9);
  expect(twice).toEqual({
    values: {
      a: { value: 3, at: "2026-03-02T00:00:00Z", entry: 9, first: 1, first_at: "2026-03-01T00:00:00Z" },
      b: { value: 2, at: "2026-03-01T00:00:00Z", entry: 1, first: 2, first_at: "2026-03-01T00:00:00Z" },
    },
    last_at: "2026-03-02T00:00:00Z",
  });
});

test.each<
  [title: string, firstValues: Record<string, number>, intentKpis: Record<string, KpiGoal>, goal: KpiGoal | undefined]
>([
  [
    "of the intent comes first",
    { a: 5 },
    { a: { baseline: 1, target: 2, weight: 3 } },
    { baseline: 1, target: 2, weight: 3 },
  ],
  ["is a fifth above the first value", { a: 10 }, {}, { baseline: 10, target: 12, weight: 1 }],
  // Without a goal in the intent, down is good for `incident_rate` and `sales_cycle_days_p50` only.
  ["is a fifth below it where down is good", { incident_rate: 10 }, {}, { baseline: 10, target: 8, weight: 1 }],
  ["of a negative value goes up as well", { a: -10 }, {}, { baseline: -10, target: -8, weight: 1 }],
  ["is unknown without a feed", {}, {}, undefined],
  ["is unknown from a baseline of 0", { a: 0 }, {}, undefined],
])("a goal %s", (_, values, kpis, goal) => {
  const kpi = Object.keys(values)[0] ?? "a";
  expect(findGoal(kpi, feedValues(values), intentWith(kpis))).toEqual(goal);
});

test.each<[kpi: string, goal: KpiGoal | undefined, direction: 1 | -1]>([
  ["a", undefined, 1],
  ["sales_cycle_days_p50", undefined, -1],
  ["incident_rate", { baseline: 1, target: 2, weight: 1 }, 1],
  ["a", { baseline: 2, target: 2, weight: 1 }, 1],
  ["a", { baseline: 2, target: 1, weight: 1 }, -1],
])("the good direction of %s with the goal %o is %i", (kpi, goal, direction) => {
  expect(kpiDirection(kpi, intentWith(goal ? { [kpi]: goal } : {}))).toBe(direction);
});

test("a value is stale after seven days", () => {
  expect(isStale(new Date(NOW - 7 * DAY).toISOString(), NOW)).toBe(false);
  expect(isStale(new Date(NOW - 7 * DAY - 1).toISOString(), NOW)).toBe(true);
});

test("a deadline with a date only ends at the end of that day", () => {
  expect(goalDeadline({ deadline: "2026-03-10" })).toBe(Date.parse("2026-03-11T00:00:00Z"));
  expect(goalDeadline({ deadline: "2026-03-10T12:00:00Z" })).toBe(NOW);
  expect(goalDeadline({})).toBe(Infinity);
});

/** Its floor is 0, as far below the baseline as the target is above it. */
const GOAL = { baseline: 10, target: 20, weight: 1 };
test.each<[title: string, value: number, goal: KpiGoal, attainment: number | null, reason: string | null]>([
  ["half at its baseline", 10, GOAL, 0.5, null],
  ["full at its target", 20, GOAL, 1, null],
  ["full beyond its target", 25, GOAL, 1, null],
  ["nothing at its floor", 0, GOAL, 0, null],
  ["nothing below its floor", -5, GOAL, 0, null],
  // Two of the five from the baseline to the target: 0.5 + 0.5 · 2 / 5.
  ["in proportion where down is good", 8, { baseline: 10, target: 5, weight: 1 }, 0.7, null],
  ["not where its target is its baseline", 10, { ...GOAL, target: 10 }, null, "its target is its baseline"],
  [
    "not where its numbers are too large",
    1,
    { ...GOAL, baseline: 1e308, target: -1e308 },
    null,
    "its numbers are too large",
  ],
])("a KPI counts %s", (_, value, goal, attainment, reason) => {
  const { value: effect, parts } = computeEffect(feedValues({ a: value }), intentWith({ a: goal }), NOW);
  expect(parts).toEqual([
    expect.objectContaining({ kpi: "a", value, attainment, reason, stale: false, target: goal.target, weight: 1 }),
  ]);
  expect(effect).toBe(attainment);
});

test("the effect is the weighted mean of the KPIs that count", () => {
  const kpis = { a: GOAL, b: { ...GOAL, weight: 3 } };
  const { value, parts } = computeEffect(feedValues({ b: 20, a: 10, none: 0 }), intentWith(kpis), NOW);
  expect(value).toBe((0.5 + 3) / 4);
  expect(parts.map(({ kpi, reason }) => [kpi, reason])).toEqual([
    ["a", null],
    ["b", null],
    ["none", "its baseline is 0"],
  ]);
  expect(computeEffect(NO_KPIS, intentWith({}), NOW)).toEqual({ value: null, parts: [] });
});

test.each<[describe: () => string, expected: string]>([
  [() => describeDelta(0, "up"), "did not move"],
  [() => describeDelta(2, "up"), "rose by 2 (better)"],
  [() => describeDelta(2, "down"), "rose by 2 (worse)"],
  [() => describeDelta(-2, "up"), "fell by 2 (worse)"],
  [() => describeDelta(-2, "down"), "fell by 2 (better)"],
  [() => describeSideEffect("a", 1.1, "down"), "a rose by 1.1, worse"],
  [() => describeSideEffect("a", -1.1, "down"), "a fell by 1.1, better"],
  [() => describeRegression(0.1, 0.4), "rose by 0.3 (worse)"],
  [() => describeRegression(0.4, 0.1), "fell by 0.3 (worse)"],
  [() => describeGain(2, "down"), "fell by 2 (better)"],
  [() => describeGain(2, "up"), "rose by 2 (better)"],
  [() => describePromise(2, "up"), "to rise by 2"],
  [() => describePromise(2, "down"), "to fall by 2"],
  [() => describePromise(0, "down"), "not to move"],
  [() => formatDelta(2), "+2"],
  [() => formatDelta(-2), "−2"],
  [() => formatDelta(0), "0"],
])("the description of a KPI, case %#", (describe, expected) => {
  expect(describe()).toBe(expected);
});
