/** The verdict of a rollout by its measured bounds, and the text about them. */
import { expect, test } from "vitest";
import {
  describeMeasured,
  judgeRolloutOutcome,
  type MeasuredKpi,
  measureRollout,
} from "../../../../lib/changes/rules/rollout_outcome.ts";

const bounds = (worse_at_least: number | null, worse_at_most: number | null, overrides = {}): MeasuredKpi => ({
  kpi: "conversion",
  step: 1,
  worse_at_least,
  worse_at_most,
  ...overrides,
});

test.each<[verdict: string, expected: number | null, measured: MeasuredKpi[], text: string]>([
  ["met", 0.01, [bounds(-0.05, -0.02)], "conversion is at most 0.05 better and at least 0.02 better"],
  ["missed", 0.1, [bounds(-0.05, -0.02)], "conversion is at most 0.05 better and at least 0.02 better"],
  ["missed", 0.01, [bounds(0.01, 0.03)], "conversion is at least 0.01 worse and at most 0.03 worse"],
  ["inconclusive", 0.01, [bounds(-0.03, 0.0123456)], "conversion is at most 0.03 better and at most 0.0123 worse"],
  ["inconclusive", 0.01, [bounds(null, null)], "conversion is without a bound yet"],
  ["inconclusive", null, [bounds(-0.05, -0.02)], "conversion is at most 0.05 better and at least 0.02 better"],
  [
    "inconclusive",
    0.01,
    [bounds(-0.05, -0.02, { kpi: "errors" })],
    "errors is at most 0.05 better and at least 0.02 better",
  ],
  [
    "inconclusive",
    0.01,
    [bounds(-0.05, -0.02, { relative: true })],
    "conversion is at most 5 % better and at least 2 % better",
  ],
])("the verdict is %s if a gain of %s was expected", (verdict, expected_delta_k, kpis, text) => {
  const judge = (is_worse: boolean, isDue: boolean) =>
    judgeRolloutOutcome({ kpi: "conversion", expected_delta_k }, { kpis, is_worse }, isDue);
  expect([judge(false, true), judge(false, false), judge(true, false)]).toEqual([verdict, "too_early", "regressed"]);
  expect(describeMeasured(kpis)).toBe(`Measured against users without it: ${text}.`);
});

test("a KPI is measured in its newest step with figures, and worse earlier readings count", () => {
  const watch = [
    { kpi: "conversion", allowed: 0.01 },
    { kpi: "errors", allowed: { relative: 0.1 } },
    { kpi: "unfed", allowed: 0.01 },
  ];
  const reading = (step: number, kpi: string, figures: object = {}) => ({ step, kpi, ...figures });
  const readings = [
    reading(0, "conversion", { treated: 0.2, worse_low: -0.05, worse_high: -0.01, is_worse: true }),
    reading(0, "errors", { treated: 3, worse_low: null, worse_high: 0.2, is_worse: false }),
    reading(0, "unfed"),
    reading(1, "conversion", { treated: 0.3, worse_low: -0.04, worse_high: 0.02, is_worse: false }),
    reading(1, "errors"),
  ];
  expect(measureRollout({ watch } as never, readings)).toEqual({
    kpis: [
      { kpi: "conversion", step: 1, worse_at_least: -0.04, worse_at_most: 0.02 },
      { kpi: "errors", step: 0, relative: true, worse_at_least: null, worse_at_most: 0.2 },
    ],
    is_worse: true,
  });
  expect(measureRollout({ watch } as never, readings.slice(1)).is_worse).toBe(false);
});
