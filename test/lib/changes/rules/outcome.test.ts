/** Verdicts, horizons, trends and side effects of outcomes. */
import { expect, test } from "vitest";
import type { KpiGoal } from "../../../../lib/changes/rules/intent.ts";
import type { KpiState, KpiValue } from "../../../../lib/changes/rules/kpi.ts";
import {
  type ApplyFacts,
  isCutShort,
  isJudged,
  measureOutcome,
  type OutcomeMoment,
  openOutcome,
  makeOutcome,
} from "../../../../lib/changes/rules/outcome.ts";
import {
  describeMovement,
  describeOutcome,
  describeSharing,
  describeVerdict,
} from "../../../../lib/changes/rules/outcome_words.ts";

const APPLIED = "2026-03-10T12:00:00.000Z";
const HORIZON = "2026-03-17T12:00:00.000Z";
const OPEN: OutcomeMoment = { at: "2026-03-12T00:00:00.000Z" };
const kpiValue = (value: number, overrides: Partial<KpiValue> = {}): KpiValue => ({
  ...{ value, at: "2026-03-10T00:00:00.000Z", entry: 5, first: value, first_at: "2026-03-10T00:00:00.000Z" },
  ...overrides,
});
const makeKpis = (values: KpiState["values"]): KpiState => ({ values, last_at: null });
const goal = (overrides: Partial<KpiGoal> = {}): Record<string, KpiGoal> => ({
  k: { baseline: 1, target: 2, weight: 1, ...overrides },
});

/** Returns the record of a change that was applied with entry 10 and expects `k` to gain 4. */
function openRecord(
  overrides: Partial<ApplyFacts> = {},
  change: { kpi?: string | null; expected_delta_k?: number | null } = {},
) {
  const facts = { at: APPLIED, entry: 10, tenant: "t1", kpis: makeKpis({ k: kpiValue(10) }), earlier: undefined };
  const others = { intent: { kpis: {} }, counts: { opened: 1, over: 0 }, open: [] };
  return openOutcome(
    { change_id: "chg_1", kpi: "k", expected_delta_k: 4, ...change },
    { ...facts, ...others, ...overrides },
  );
}
/** Returns what an outcome is measured by: a feed of `k` after the apply, with entry 11, and the goals of the KPIs. */
const makeInput = (value: number, kpis = {}) => ({
  kpis: makeKpis({ k: kpiValue(value, { entry: 11, at: HORIZON }) }),
  intent: { kpis },
  counts: { k: { opened: 1, over: 0 } },
});
const AT_HORIZON: OutcomeMoment = { at: HORIZON, by: "horizon" };

test.each<[string, value: number, expected: number | null, OutcomeMoment, verdict: string]>([
  ["as much as expected at the horizon", 14, 4, AT_HORIZON, "met"],
  ["more than expected", 15, 4, AT_HORIZON, "met"],
  ["less than expected", 13, 4, AT_HORIZON, "missed"],
  ["nothing, expecting nothing", 10, null, AT_HORIZON, "inconclusive"],
  ["a loss", 9, 4, AT_HORIZON, "regressed"],
  ["a loss, expecting nothing", 9, null, AT_HORIZON, "regressed"],
  ["a smaller loss than expected", 9, -2, AT_HORIZON, "met"],
  ["a loss before the horizon", 9, 4, OPEN, "too_early"],
  ["a loss that a guardrail ended", 9, 4, { ...OPEN, by: "guardrail" }, "regressed"],
  ["a gain that a guardrail ended", 11, 4, { ...OPEN, by: "guardrail" }, "too_early"],
  ["no movement that a guardrail ended", 10, 4, { ...OPEN, by: "guardrail" }, "too_early"],
  ["a loss that a rollback ended", 9, 4, { ...OPEN, by: "rollback" }, "too_early"],
])("the verdict of %s", (_, value, expected_delta_k, moment, verdict) => {
  expect(measureOutcome(openRecord({}, { expected_delta_k }), makeInput(value), moment)).toMatchObject({
    verdict,
    realised_delta: value - 10,
    state: moment.by ? "final" : "open",
    ended_by: moment.by ?? null,
    as_of: moment.at,
  });
});

test("a KPI whose good direction is down gains by falling", () => {
  const kpis = goal({ target: 0.5 });
  const outcome = measureOutcome(openRecord(), makeInput(6, kpis), AT_HORIZON);
  expect(outcome).toMatchObject({ good: "down", realised_delta: 4, verdict: "met" });
  expect(outcome.words).toBe("k: expected to fall by 4, it fell by 4 (better), a KPI of the whole product.");
});

test.each<[string, OutcomeMoment, string]>([
  ["before the horizon is inconclusive while it is open", OPEN, "inconclusive"],
  ["before the horizon ends too early", { ...OPEN, by: "change" }, "too_early"],
  ["at the horizon is inconclusive", AT_HORIZON, "inconclusive"],
])("an outcome without a feed after the apply %s", (_, moment, verdict) => {
  const none = { ...makeInput(0), kpis: makeKpis({ k: kpiValue(10, { entry: 10 }) }) };
  expect(measureOutcome(openRecord(), none, moment)).toMatchObject({ verdict, current: null, realised_delta: null });
});

test("an outcome without a KPI is inconclusive and shared with no change", () => {
  expect(measureOutcome(openRecord({}, { kpi: null }), makeInput(1), OPEN)).toMatchObject({
    ...{ verdict: "inconclusive", good: null, current: null, shared_count: 0, scope: null, baseline: null },
    words: "The change names no KPI.",
  });
});

test.each<[string, Record<string, KpiGoal>, string]>([
  ["seven days after the apply", {}, HORIZON],
  ["at the KPI's deadline if sooner", goal({ deadline: "2026-03-12" }), "2026-03-13T00:00:00.000Z"],
  ["in seven days when the deadline is later", goal({ deadline: "2026-04-12" }), HORIZON],
  ["in seven days when the deadline was over", goal({ deadline: "2026-03-01" }), HORIZON],
  ["in seven days when the deadline is the apply itself", goal({ deadline: APPLIED }), HORIZON],
])("an outcome is judged %s", (_, kpis, judged_from) => {
  expect(openRecord({ intent: { kpis } }).judged_from).toBe(judged_from);
});

test.each<[string, Partial<KpiValue>, KpiValue | undefined, [earlier: number | null, days: number | null]]>([
  ["the value of 30 days before", {}, kpiValue(7, { entry: 1 }), [7, 30]],
  // Entry 5 is that of the newest value.
  ["nothing where that is the newest value itself", {}, kpiValue(7, { entry: 5 }), [null, null]],
  ["the first value", { first: 3, first_at: "2026-03-08T00:00:00.000Z" }, undefined, [3, 2.5]],
  ["nothing in the first day", { first: 3, first_at: "2026-03-09T13:00:00.000Z" }, undefined, [null, null]],
  [
    "nothing where the first value is the newest",
    { at: "2026-03-08T00:00:00.000Z", first_at: "2026-03-08T00:00:00.000Z" },
    undefined,
    [null, null],
  ],
])("the trend before an apply begins with %s", (_, overrides, earlier, [value, days]) => {
  const record = openRecord({ kpis: makeKpis({ k: kpiValue(10, overrides) }), earlier });
  expect([record.earlier, record.trend_days]).toEqual([value, days]);
  expect(measureOutcome(record, makeInput(11), OPEN).trend_before).toBe(value === null ? null : 10 - value);
});

test.each([
  ["product", undefined],
  ["tenant", "t1"],
  ["other_tenant", "t2"],
] as const)("the scope of an outcome is %s for a KPI of the tenant %s", (scope, tenant) => {
  expect(openRecord({ intent: { kpis: goal(tenant ? { tenant } : {}) } }).scope).toBe(scope);
});

test("the age of the baseline is in hours, with one decimal", () => {
  expect(openRecord({ at: "2026-03-10T02:10:00.000Z" })).toMatchObject({ baseline: 10, baseline_age_hours: 2.2 });
  expect(openRecord({ kpis: makeKpis({}) })).toMatchObject({
    baseline: null,
    baseline_age_hours: null,
    trend_days: null,
  });
});

test("side effects are the other KPIs that moved after the apply, sorted by name", () => {
  const before = { k: kpiValue(10), z: kpiValue(1), b: kpiValue(1), still: kpiValue(1), unfed: kpiValue(1) };
  const fed = (value: number) => kpiValue(value, { entry: 12 });
  const kpis = makeKpis({ ...before, k: fed(12), z: fed(2.5), b: fed(0), still: fed(1) });
  const { side_effects } = measureOutcome(openRecord({ kpis: makeKpis(before) }), { ...makeInput(12), kpis }, OPEN);
  expect(side_effects).toEqual([
    { kpi: "b", from: 1, to: 0, effect: "worse", words: "b fell by 1, worse" },
    { kpi: "z", from: 1, to: 2.5, effect: "better", words: "z rose by 1.5, better" },
  ]);
});

test("a movement is shared with overlapping changes, of which ten are named", () => {
  const open = Array.from({ length: 9 }, (_, index) => `chg_${index}`);
  const record = openRecord({ open, counts: { opened: 20, over: 3 } });
  const shared = { ...makeInput(12), counts: { k: { opened: 16, over: 3 } }, later: ["chg_x", "chg_y"] };
  const { shared_with, shared_count } = measureOutcome(record, shared, OPEN);
  expect(shared_with).toEqual(["chg_x", "chg_y", ...open.slice(0, 8)]);
  // Neither this change counts nor the three that had ended before its apply: 16 - 1 - 3.
  expect(shared_count).toBe(12);
});

test("a final outcome is unchanged, with the later movement of its KPI", () => {
  const record = openRecord();
  expect(makeOutcome(record, makeInput(14), OPEN.at)).toMatchObject({ state: "open", as_of: OPEN.at, later: null });
  const final = makeOutcome(record, makeInput(14), "2026-03-20T00:00:00.000Z");
  expect(final).toMatchObject({ state: "final", ended_by: "horizon", as_of: HORIZON, verdict: "met" });
  const ended = { ...record, final, ended_entry: 11 };
  // The newest feed is entry 11, so there is no later movement; entry 12 is a later feed.
  expect(makeOutcome(ended, makeInput(14), HORIZON)).toEqual(final);
  const later = { ...makeInput(0), kpis: makeKpis({ k: kpiValue(7, { entry: 12 }) }) };
  expect(makeOutcome(ended, later, HORIZON)).toMatchObject({
    verdict: "met",
    later: { current: 7, realised_delta: -3, words: "fell by 3 (worse) since the apply" },
  });
  expect(makeOutcome({ ...ended, baseline: null }, later, HORIZON).later).toMatchObject({
    realised_delta: null,
    words: "not measured at the apply",
  });
});

test("an outcome is judged unless it is inconclusive or too early", () => {
  const verdicts = ["met", "missed", "regressed", "inconclusive", "too_early"] as const;
  expect(verdicts.filter((verdict) => isJudged({ verdict }))).toEqual(["met", "missed", "regressed"]);
});

test.each<[Parameters<typeof isCutShort>[0], boolean]>([
  [{ ended_by: "rollback", judged_from: HORIZON, as_of: OPEN.at }, true],
  [{ ended_by: null, judged_from: HORIZON, as_of: OPEN.at }, false],
  [{ ended_by: "horizon", judged_from: HORIZON, as_of: HORIZON }, false],
])("an outcome with %o was cut short: %s", (outcome, isShort) => {
  expect(isCutShort(outcome)).toBe(isShort);
});

const MOVED = {
  kpi: "k",
  good: "up",
  expected_delta_k: 4,
  realised_delta: 2,
  shared_count: 0,
  scope: "tenant",
} as const;
test.each<[describe: () => string, expected: string]>([
  [() => describeMovement(MOVED), "k: expected to rise by 4, it rose by 2 (better)."],
  [() => describeMovement({ ...MOVED, expected_delta_k: null }), "k: nothing was expected, it rose by 2 (better)."],
  [
    () => describeMovement({ ...MOVED, realised_delta: null, shared_count: 1 }),
    "k: expected to rise by 4, not measured since the apply.",
  ],
  [() => describeMovement({ ...MOVED, good: null }), "The change names no KPI."],
  [
    () => describeMovement({ ...MOVED, shared_count: 2, scope: "other_tenant" }),
    "k: expected to rise by 4, it rose by 2 (better), shared with 2 others, a KPI of another tenant.",
  ],
  [
    () => describeOutcome({ ...MOVED, trend_before: -1, trend_days: 30 }),
    "k: expected to rise by 4, it rose by 2 (better). In the 30 days before the apply it fell by 1 (worse).",
  ],
  [() => describeOutcome({ ...MOVED, trend_before: null, trend_days: null }), describeMovement(MOVED)],
  [() => describeSharing({ shared_count: 1 }), "shared with 1 other"],
  [() => describeSharing({ shared_count: 0 }), ""],
  [() => describeVerdict({ verdict: "met", state: "final" }), "met"],
  [() => describeVerdict({ verdict: "too_early", state: "open" }), "too early to judge"],
  [() => describeVerdict({ verdict: "too_early", state: "final" }), "ended too early to judge"],
])("the description of an outcome, case %#", (describe, expected) => {
  expect(describe()).toBe(expected);
});
