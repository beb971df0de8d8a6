/** The need N, which only overdue items change. */
import { describe, expect, test } from "vitest";
import { HOUR } from "../../support/clock.ts";
import { seededFractions } from "../projections/test_log.ts";
import { openOperations, type OperationsService } from "./operations_service.ts";

const need = async (service: OperationsService) => (await service.get("/api/state")).body.dimensions.N;
/** N for a weight of overdue items: it is 0.5 at a weight of 8; a waiting change weighs 4. */
const valueOf = (weight: number): number => weight / (weight + 8);
/** A change is overdue after a day of waiting; a task of low priority after seven days. */
const DAY_HOURS = 24;

describe("N", () => {
  test("is 0 while nothing is overdue; an unauthenticated caller's tasks count only when overdue", async () => {
    const service = await openOperations();
    await service.propose();
    expect((await need(service)).value).toBe(0);
    service.passHours(DAY_HOURS + 1);
    expect(await need(service)).toMatchObject({ value: valueOf(4), weight: 4, open: 1, overdue: 1 });
    for (let count = 0; count < 40; count++) await service.post("/api/tasks", { title: `t${count}`, priority: "low" });
    expect(await need(service)).toMatchObject({ value: valueOf(4), weight: 4, open: 41, overdue: 1 });
    service.passHours(7 * DAY_HOURS + 1);
    // A task of low priority weighs a half.
    expect(await need(service)).toMatchObject({ value: valueOf(4 + 40 / 2), open: 41, overdue: 41 });
  });

  test("counts approved changes that wait for their apply, from the approval on", async () => {
    const service = await openOperations();
    const { change_id } = await service.propose();
    service.passHours(DAY_HOURS - 1);
    await service.must("approve", change_id);
    service.passHours(DAY_HOURS);
    expect(await need(service)).toMatchObject({ value: 0, items: [{ item: "approved_changes", open: 1, overdue: 0 }] });
    service.deps.clock.advance(1);
    expect(await need(service)).toMatchObject({ value: valueOf(4), items: [{ item: "approved_changes", overdue: 1 }] });
    await service.must("apply", change_id);
    expect(await need(service)).toMatchObject({ value: 0, items: [] });
  });

  test.each([
    ["of low risk", { risk: "low" }, 4],
    ["of high risk", { risk: "high" }, 8],
    ["that cannot be undone", { reversible: false }, 8],
    ["that cannot be undone and is of high risk", { risk: "high", reversible: false }, 8],
    ["that is major by its tier only", { tier: "major" }, 4],
  ] as const)("weighs a change %s, both pending and approved", async (_, fields, weight) => {
    const service = await openOperations();
    const { change_id } = await service.propose({ ...fields });
    service.passHours(DAY_HOURS + 1);
    expect((await need(service)).weight).toBe(weight);
    await service.must("approve", change_id);
    service.passHours(DAY_HOURS + 1);
    expect((await need(service)).weight).toBe(weight);
  });

  test("weighs a due review 8 and a stale KPI 2, immediately", async () => {
    const intent = {
      kpis: { csat: { baseline: 4, target: 5 } },
      policy: {
        required_approvers: { standard: 2 },
        break_glass: { approvers: ["ana"], required: 1, review_hours: 72 },
      },
    };
    const service = await openOperations({ intent });
    const { change_id } = await service.propose();
    await service.post("approve", { change_id, approver: "ana", emergency: true, note: "down" });
    expect(await need(service)).toMatchObject({
      weight: 8,
      items: [{ item: "approved_changes" }, { item: "review_due" }],
    });
    await service.must("apply", change_id);
    await service.post("kpi", { csat: 4 });
    service.passHours(7 * DAY_HOURS + 1);
    expect((await need(service)).weight).toBe(8 + 2);
  });
});

test("in a random scenario only overdue work changes N, and never lowers it", async () => {
  const service = await openOperations();
  const random = seededFractions(7);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const approved: string[] = [];
  let riseCount = 0;
  let before = 0;
  for (let step = 0; step < 120; step++) {
    const kind = pick(["task", "change", "approved", "hours"]);
    if (kind === "hours") service.deps.clock.advance(pick([1, 5, 30]) * HOUR);
    // Items become overdue only as time passes, and stay overdue.
    const aged = (await need(service)).value;
    expect(aged).toBeGreaterThanOrEqual(before);
    riseCount += Number(aged > before);
    if (kind === "task")
      await service.post("/api/tasks", { title: "t", priority: pick(["low", "normal", "high", "urgent"]) });
    if (kind === "change") await service.propose({ target: `ui.t${step}`, risk: pick(["low", "high"]) });
    if (kind === "approved") approved.push(await service.bring("approved", { target: `ui.t${step}` }));
    before = (await need(service)).value;
    expect(before, kind).toBe(aged);
  }
  expect(riseCount).toBeGreaterThan(5);
  for (const change_id of approved) await service.must("apply", change_id);
  expect((await need(service)).value).toBeLessThan(before);
});
