/** Goals: the status of a KPI on its way to its target. */
import { expect, test } from "vitest";
import { listGoals } from "../../../lib/operations/goals.ts";
import { formatBusinessMetrics } from "../../../lib/operations/business_metrics.ts";
import { NO_KPIS, type KpiState } from "../../../lib/changes/rules/kpi.ts";
import { DAY } from "../../support/clock.ts";
import { openOperations } from "./operations_service.ts";

const BEGUN = Date.parse("2026-01-01T00:00:00.000Z");
const at = (days: number): string => new Date(BEGUN + days * DAY).toISOString();

// The baseline is 4, the target 5. `on_pace` is null without a deadline.
test.each<
  [
    situation: string,
    value: number | null,
    days: number,
    deadline: string | undefined,
    status: string,
    on_pace: boolean | null,
  ]
>([
  ["no value", null, 0, undefined, "no_data", null],
  ["at its baseline", 4, 10, undefined, "behind", null],
  ["below its baseline", 3.9, 10, undefined, "behind", null],
  ["better than its baseline, without a deadline", 4.1, 10, undefined, "under_way", null],
  ["at its target", 5, 10, undefined, "met", null],
  ["half of the way after half of the time", 4.5, 50, at(100), "on_track", true],
  ["less than half of the way after half of the time", 4.4, 50, at(100), "behind", false],
  ["below its target after the deadline", 4.9, 101, at(100), "behind", false],
  ["at its target after the deadline", 5, 101, at(100), "met", true],
  ["at its baseline on the first day", 4, 0, at(100), "behind", true],
])("%s: the value %s after %s days, with the deadline %s, is %s", (_, value, days, deadline, status, on_pace) => {
  const intent = { kpis: { csat: { baseline: 4, target: 5, weight: 1, ...(deadline && { deadline }) } } };
  const fed_at = value === null ? null : at(days);
  const kpis: KpiState =
    fed_at === null
      ? NO_KPIS
      : { values: { csat: { value: value!, at: fed_at, entry: 2, first: 4, first_at: at(0) } }, last_at: fed_at };
  const [goal] = listGoals(kpis, kpis, intent, BEGUN + days * DAY);
  expect(goal).toMatchObject({ status, on_pace, fed_at, deadline: deadline ?? null, current: value });
});

test.each<[value: number, status: "met" | "behind", progress: 0 | 1]>([
  [4, "met", 1],
  [4.2, "met", 1],
  [3.9, "behind", 0],
])("a goal to stay at its baseline of 4: the value %s is %s", (value, status, progress) => {
  const fed_at = at(10);
  const kpis: KpiState = {
    values: { csat: { value, at: fed_at, entry: 2, first: 4, first_at: fed_at } },
    last_at: fed_at,
  };
  const [goal] = listGoals(kpis, kpis, { kpis: { csat: { baseline: 4, target: 4, weight: 1 } } }, BEGUN + 10 * DAY);
  expect(goal).toMatchObject({ status, progress });
});

test("an infinite progress is left out of the metrics", async () => {
  const svc = await openOperations({ intent: { kpis: { csat: { baseline: 4, target: 4.000001 } } } });
  // The distance to the baseline, divided by a millionth, is beyond the largest number.
  await svc.post("kpi", { csat: -1e308 });
  const text = await formatBusinessMetrics(svc.deps);
  expect(text).toContain("countersign_kpi_value");
  expect(text).not.toContain("countersign_kpi_goal_progress_ratio{");
  expect(text).not.toMatch(/Inf$/m);
});

test("a goal whose KPI was not fed for more than 7 days is stale until the next feed", async () => {
  const intent = { kpis: { csat: { baseline: 4, target: 5 }, nrr_quarterly: { baseline: 1, target: 2 } } };
  const service = await openOperations({ intent });
  await service.post("kpi", { csat: 4.5, nrr_quarterly: 2 });
  const fed_at = service.deps.clock.iso();
  const statuses = async () =>
    (await service.get("/api/state")).body.goals.map((one: { status: string }) => one.status);
  expect(await statuses()).toEqual(["under_way", "met"]);
  service.passHours(13 * 24);
  expect(await statuses()).toEqual(["stale", "stale"]);
  const { goals, dimensions } = (await service.get("/api/state")).body;
  expect(goals[0]).toMatchObject({ current: 4.5, progress: 0.5, fed_at });
  // In E, the baseline scores 0.5 and the target 1.
  expect(dimensions.E.parts).toMatchObject([{ stale: true, attainment: 0.75 }, { stale: true }]);
  await service.post("kpi", { csat: 4.5 });
  expect(await statuses()).toEqual(["under_way", "stale"]);
});
