/** The rule of rollouts: the published vectors, each condition, impossible totals, and how often it errs in random rollouts. */
import { describe, expect, test } from "vitest";
import type { Cell, Plan, Totals, WatchedKpi } from "../../../lib/rollout/plan.ts";
import { decideStep, type Decision, type RolloutState } from "../../../lib/rollout/rule.ts";
import { dice } from "../../support/dice.ts";
import vectors from "./vectors.json" with { type: "json" };
import { readPlan, readState } from "./vectors.ts";

/** Converts a decision to the field names of the vectors. */
const toVectorDecision = ({ step, readings, ...rest }: Decision) => ({
  ...rest,
  ...(step !== undefined && { stage: step }),
  readings: readings.map(({ step: stage, ...figures }) => ({ stage, ...figures })),
});

test.each(vectors.cases)("$name", (vector) => {
  expect(toVectorDecision(decideStep(readPlan(vector), readState(vector)))).toEqual(vector.expected);
});

const CONVERSION: WatchedKpi = { kpi: "conversion", kind: "binary", good: "up", allowed: 0.01 };

/** A plan whose steps share the same condition. */
const planWith = (advance: Plan["steps"][number]["advance"], watch = [CONVERSION]): Plan => ({
  max_silent_hours: 24,
  steps: [1000, 5000].map((share) => ({ share, advance, min_hours: 24, min_users: 500 })),
  watch,
});

const stateWith = (cell: Cell, fields: Partial<RolloutState> = {}): RolloutState => ({
  step: 0,
  hours: 24,
  silent: 0,
  cells: [{ conversion: cell }],
  ...fields,
});
const EQUAL: Cell = { treated: { n: 40_000, sum: 8000 }, control: { n: 360_000, sum: 72_000 } };
const WORSE: Cell = { ...EQUAL, treated: { n: 40_000, sum: 7000 } };
const LOST_USERS: Cell = { treated: { n: 36_000, sum: 7200 }, control: EQUAL.control };

describe("the rule", () => {
  test.each<[string, Plan, RolloutState, object]>([
    [
      "advances if all conditions are met",
      planWith("proven"),
      stateWith(EQUAL),
      { decision: "advance", reason: "proven" },
    ],
    [
      "rolls back before its hours",
      planWith("manual"),
      stateWith(WORSE, { hours: 1, silent: 99 }),
      { decision: "rollback" },
    ],
    [
      "rolls back in a mismatch",
      planWith("proven"),
      stateWith({ ...LOST_USERS, treated: { n: 36_000, sum: 6000 } }),
      { decision: "rollback", reason: "worse" },
    ],
    ["holds a mismatch", planWith("unless_worse"), stateWith(LOST_USERS), { decision: "hold", reason: "mismatch" }],
    [
      "holds a rollout without recent data",
      planWith("proven"),
      stateWith(EQUAL, { silent: 24.1 }),
      { decision: "hold", reason: "no_data" },
    ],
    [
      "holds a rollout that was never fed",
      planWith("proven"),
      stateWith(EQUAL, { cells: [] }),
      { decision: "hold", reason: "no_data" },
    ],
    ["leaves a manual step to a person", planWith("manual"), stateWith(EQUAL), { decision: "hold", reason: "manual" }],
    [
      "waits for its hours",
      planWith("proven"),
      stateWith(EQUAL, { hours: 23.9 }),
      { decision: "hold", reason: "min_hours" },
    ],
    [
      "waits for users",
      planWith("unless_worse"),
      stateWith({ treated: { n: 499, sum: 100 }, control: { n: 4500, sum: 900 } }),
      { decision: "hold", reason: "not_yet", kpi: "conversion", step: 0 },
    ],
    [
      "waits for every KPI",
      planWith("proven", [CONVERSION, { ...CONVERSION, kpi: "signups" }]),
      stateWith(EQUAL, {
        cells: [{ conversion: EQUAL, signups: { treated: { n: 1, sum: 0 }, control: { n: 9, sum: 1 } } }],
      }),
      { decision: "hold", reason: "not_yet", kpi: "signups" },
    ],
  ])("%s", (_, plan, state, expected) => {
    expect(decideStep(plan, state)).toMatchObject(expected);
  });
});

describe("impossible totals are detected", () => {
  const mean: WatchedKpi = { kpi: "revenue", kind: "mean", good: "up", allowed: 1, bounds: [-5, 10] };
  const ratio: WatchedKpi = { ...mean, kpi: "rate", kind: "ratio", bounds: [0, 5], per_bounds: [1, 10] };
  // The sum of squares of n values between a and b is at least sum²/n and at most (a+b)·sum − n·a·b: here 40 to 600 for `sum2`,
  // and 250 to 450 for `per2`. The sum of products, `cross`, differs from sum·per/n = 100 by at most √((60−40)·(300−250)) = 32.
  const TEN_MEANS: Totals = { n: 10, sum: 20, sum2: 60 };
  const TEN_RATIOS: Totals = { n: 10, sum: 20, sum2: 60, per: 50, per2: 300, cross: 100 };
  const possibleTotals = new Map<WatchedKpi, Totals>([
    [CONVERSION, { n: 10, sum: 1 }],
    [mean, TEN_MEANS],
    [ratio, TEN_RATIOS],
  ]);
  test.each<[string, WatchedKpi, Totals]>([
    ["fewer successes than none", CONVERSION, { n: 10, sum: -1 }],
    ["more successes than users", CONVERSION, { n: 10, sum: 11 }],
    ["sum is outside", mean, { ...TEN_MEANS, sum: 101 }],
    ["sum is outside", mean, { ...TEN_MEANS, sum: -51 }],
    ["sum2 is less", mean, { ...TEN_MEANS, sum2: 39 }],
    ["sum2 is less", mean, { n: 10, sum: 20 }],
    ["sum2 is more", mean, { ...TEN_MEANS, sum2: 601 }],
    ["per is outside", ratio, { ...TEN_RATIOS, per: 9 }],
    ["per2 is less", ratio, { ...TEN_RATIOS, per2: 249 }],
    ["per2 is more", ratio, { ...TEN_RATIOS, per2: 451 }],
    ["cross is beyond", ratio, { ...TEN_RATIOS, cross: 135 }],
    ["cross is beyond", ratio, { ...TEN_RATIOS, cross: undefined }],
  ])("%s", (bad, watched, treated) => {
    const control = possibleTotals.get(watched)!;
    const state = (cell: Cell) => stateWith(cell, { cells: [{ [watched.kpi]: cell }] });
    const plan = planWith("proven", [watched]);
    const hold = { decision: "hold", reason: "impossible_data", kpi: watched.kpi };
    for (const cell of [
      { treated, control },
      { treated: control, control: treated },
    ]) {
      const decision = decideStep(plan, state(cell));
      expect(decision).toMatchObject(hold);
      expect(decision.readings[0]!.bad).toContain(bad);
    }
    expect(decideStep(plan, state({ treated: control, control }))).not.toMatchObject(hold);
  });
});

describe("random rollouts with 30 decisions each", () => {
  /** Yields the decisions of a step in which 20 % of the control and `rate` of the treated users convert. */
  function* decideRepeatedly(seed: number, plan: Plan, rate: number) {
    const random = dice(seed);
    const treated = { n: 0, sum: 0 };
    const control = { n: 0, sum: 0 };
    for (let users = 0; users < 30 * 1000; users += 1) {
      const arm = random(10_000) < plan.steps[0]!.share ? treated : control;
      arm.n += 1;
      if (random(10_000) < 10_000 * (arm === treated ? rate : 0.2)) arm.sum += 1;
      if (users % 1000 === 999) yield decideStep(plan, stateWith({ treated, control }));
    }
  }
  const PLAN: Plan = { ...planWith("proven"), steps: [{ share: 5000, advance: "proven", min_hours: 24 }] };
  const countSeeds = (rate: number, decision: Decision["decision"]) =>
    Array.from({ length: 40 }, (_, seed) => seed).filter((seed) =>
      [...decideRepeatedly(seed, PLAN, rate)].some((made) => made.decision === decision),
    ).length;

  test("at most 2 of 40 changes whose loss is exactly the allowed one are rolled back", () => {
    expect(countSeeds(0.19, "rollback")).toBeLessThanOrEqual(2);
  });

  test("at most 2 of 40 changes whose loss is more than allowed ever advance", () => {
    expect(countSeeds(0.189, "advance")).toBeLessThanOrEqual(2);
  });

  test("a change that loses a quarter of the conversions is rolled back", () => {
    expect(countSeeds(0.15, "rollback")).toBe(40);
  });
});
