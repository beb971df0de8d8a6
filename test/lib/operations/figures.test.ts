/** The rules by which M, R and N are computed. */
import { describe, expect, test } from "vitest";
import type { Change } from "../../../lib/changes/rules/change.ts";
import type { Outcome } from "../../../lib/changes/rules/outcome.ts";
import { checkRecord } from "../../../lib/projections/outcomes/record_keeping.ts";
import { computeReliability, computeWilsonInterval } from "../../../lib/operations/reliability.ts";
import { inLong } from "../../support/run_length.ts";
import { openOperations } from "./operations_service.ts";

describe("R", () => {
  // Published values of the interval, to four places.
  test.each([
    [0, 1, 0, 0.7935],
    [1, 1, 0.2065, 1],
    [8, 10, 0.4902, 0.9433],
    [0, 10, 0, 0.2775],
    [81, 263, 0.2553, 0.3662],
  ])("Wilson's interval for %i of %i is %f to %f", (successes, n, low, high) => {
    expect(computeWilsonInterval(successes, n).low).toBeCloseTo(low, 4);
    expect(computeWilsonInterval(successes, n).high).toBeCloseTo(high, 4);
  });

  test("without attempts there is no data", () => {
    const window = { from: "2026-01-01", to: "2026-01-30" };
    expect(computeReliability({}, window)).toMatchObject({ value: null, n: 0, interval: null });
    expect(computeReliability({ attempts: 4, attempts_failed: 1 }, window)).toMatchObject({
      value: 0.75,
      n: 4,
      failed: 1,
    });
  });

  test("an attempt that drifted and was rolled back counts as one failure with two causes", async () => {
    const { bring, host, cycle, passHours, act, get } = await openOperations();
    const id = await bring("applied");
    host.host.delete(id);
    await cycle();
    passHours(24);
    host.host.set(id, "applied");
    await act("rollback", id);
    expect((await get("/api/state")).body.dimensions.R).toMatchObject({
      n: 1,
      failed: 1,
      causes: { adapter_failure: 0, rolled_back: 1, drifted: 1 },
    });
  });

  test("an attempt that drifts twice counts as one failure, and twice in the trend", async () => {
    const { bring, host, cycle, get, passHours } = await openOperations();
    const id = await bring("applied");
    // Drifted, in sync again, and drifted again.
    for (const state of ["absent", "applied", "unknown"] as const) {
      host.host.set(id, state);
      await cycle();
      passHours(1 / 6);
    }
    expect((await get("/api/state")).body.dimensions.R).toMatchObject({ n: 1, failed: 1, causes: { drifted: 1 } });
    expect((await get("/api/l1l5_trend")).body.totals.L5).toBe(2);
  });

  test("a failure counts on the day of its attempt until 30 days after the apply", async () => {
    const { bring, passHours, act, get } = await openOperations();
    const id = await bring("applied");
    passHours(29 * 24);
    await act("rollback", id);
    expect((await get("/api/state")).body.R).toBe(0);
    passHours(24);
    expect((await get("/api/state")).body.R).toBeNull();
  });
});

describe("M", () => {
  const makeChange = (fields: Partial<Change>): Change =>
    ({ rationale: "r", approver: "ana", approval_note: "n", approvals: [], ...fields }) as Change;
  const makeOutcome = (verdict: Outcome["verdict"]): Outcome => ({ verdict }) as Outcome;

  // Each case: name, fields of the change, its outcome, the items that its record needs, and those that it lacks.
  test.each<[string, Partial<Change>, Outcome | null, string[], string[]]>([
    ["denied and complete", {}, null, ["rationale", "decider", "note"], []],
    ["applied and complete", {}, makeOutcome("missed"), ["rationale", "decider", "note", "verdict"], []],
    ["blank rationale", { rationale: " \n" }, null, ["rationale", "decider", "note"], ["rationale"]],
    ["no note", { approval_note: "" }, null, ["rationale", "decider", "note"], ["note"]],
    [
      "a note with the first of two consents",
      { approval_note: "", approvals: [{ approver: "bo", note: "yes", at: "" }] },
      null,
      ["rationale", "decider", "note"],
      [],
    ],
    [
      "expired without a decision",
      { approver: "policy:expiry" },
      null,
      ["rationale", "decider", "note"],
      ["decider", "note"],
    ],
    [
      "minor: no note is due",
      { approver: "policy:minor", approval_note: null },
      makeOutcome("met"),
      ["rationale", "decider", "verdict"],
      [],
    ],
    ["nothing was measured", {}, makeOutcome("inconclusive"), ["rationale", "decider", "note", "verdict"], ["verdict"]],
  ])("%s", (_, fields, result, expected, missing) => {
    expect(checkRecord(makeChange(fields), result)).toEqual({ expected, missing });
  });
});

test("M covers the last 90 days, also for gaps", async () => {
  const { bring, passHours, get } = await openOperations();
  const id = await bring("denied");
  const memory = async () => (await get("/api/state")).body.dimensions.M;
  passHours(89 * 24);
  expect(await memory()).toMatchObject({ closed: 1, gaps: [{ change_id: id }] });
  passHours(24);
  expect(await memory()).toMatchObject({ value: null, closed: 0, gaps: [] });
});

test("a revocation does not count as a second decision in the levels of autonomy", async () => {
  const service = await openOperations();
  const change_id = await service.bring("approved");
  const totals = async () => (await service.get("/api/l1l5_trend")).body.totals;
  const before = await totals();
  expect(before.L1).toBe(1);
  await service.must("revoke", change_id);
  expect(await totals()).toEqual(before);
});

describe("N", () => {
  const items = async (service: Awaited<ReturnType<typeof openOperations>>) =>
    (await service.get("/api/state")).body.dimensions.N.items;

  test("a change is overdue when it has been pending for more than 24 hours, and not before", async () => {
    const service = await openOperations();
    await service.propose();
    service.passHours(24);
    expect(await items(service)).toEqual([{ item: "pending_changes", open: 1, overdue: 0 }]);
    service.deps.clock.advance(1);
    expect(await items(service)).toEqual([{ item: "pending_changes", open: 1, overdue: 1 }]);
  });

  test.each([
    ["urgent", 4, "tasks_urgent"],
    ["high", 24, "tasks_high"],
    ["normal", 72, "tasks_normal"],
    ["low", 168, "tasks_low"],
    ["7", 4, "tasks_urgent"],
    ["3.5", 24, "tasks_high"],
    ["0", 168, "tasks_low"],
    ["-5", 168, "tasks_low"],
  ])("a task of priority %s is overdue after %i hours", async (priority, limit, item) => {
    const service = await openOperations();
    await service.post("/api/tasks", { title: "t", priority });
    service.passHours(limit);
    expect(await items(service)).toEqual([{ item, open: 1, overdue: 0 }]);
    service.deps.clock.advance(1);
    expect(await items(service)).toEqual([{ item, open: 1, overdue: 1 }]);
  });

  test("a KPI is stale 7 days after its last feed", async () => {
    const service = await openOperations({ intent: { kpis: { csat: { baseline: 4, target: 5 } } } });
    await service.post("kpi", { csat: 4.1 });
    service.passHours(7 * 24);
    expect(await items(service)).toEqual([]);
    service.deps.clock.advance(1);
    expect(await items(service)).toEqual([{ item: "stale_kpis", open: 1, overdue: 1 }]);
  });

  test("drift and a broken chain are overdue immediately", async () => {
    const service = await openOperations();
    const id = await service.bring("applied");
    service.host.host.set(id, "unknown");
    await service.cycle();
    service.deps.integrity.breach = { first_invalid: 2, reason: "its id is 9" };
    expect(await items(service)).toEqual([
      { item: "drift", open: 1, overdue: 1 },
      { item: "audit_chain", open: 1, overdue: 1 },
    ]);
    // N is weight / (weight + 8), and drift and a broken chain weigh 16 together.
    expect((await service.get("/api/state")).body.N).toBe(16 / (16 + 8));
  });

  inLong(test)("more overdue changes than the counting limit of 1,000 are reported as 'at least'", async () => {
    const service = await openOperations();
    const need = async () => (await service.get("/api/state")).body.dimensions.N;
    const propose = (count: number) => Promise.all(Array.from({ length: count }, () => service.propose()));
    await propose(999);
    service.passHours(25);
    expect(await need()).toMatchObject({ overdue: 999, open: 999, at_least: false });
    await propose(2);
    service.passHours(25);
    await service.cycle();
    expect(await need()).toMatchObject({ overdue: 1000, open: 1001, at_least: true });
  });
});
