/** Outcomes: the realised movement of a KPI, compared with the expected one. Verdicts are final at the horizon, after 7 days. */
import { expect, test } from "vitest";
import type { Client } from "../../support/client.ts";
import { DAY, HOUR } from "../../support/clock.ts";
import type { Fields } from "../../support/requests.ts";
import type { Open } from "../http_contract.ts";

/** `expected` and `realised` are gains: a fall of `incident_rate` or `sales_cycle_days_p50` is positive. */
type Case = [
  kpi: string,
  before: number,
  expected: number | undefined,
  after: number,
  realised: number,
  verdict: string,
];

const CASES: Case[] = [
  ["nrr_quarterly", 0.2, 0.1, 0.3, 0.1, "met"],
  ["nrr_quarterly", 1, 0.1, 1.2, 0.2, "met"],
  ["nrr_quarterly", 1, 0.1, 1.05, 0.05, "missed"],
  ["nrr_quarterly", 1, 0.1, 1, 0, "missed"],
  ["nrr_quarterly", 1, 0.1, 0.9, -0.1, "regressed"],
  ["nrr_quarterly", 1, 0, 1, 0, "met"],
  ["nrr_quarterly", 1, -0.2, 0.9, -0.1, "met"],
  ["nrr_quarterly", 1, -0.2, 0.7, -0.3, "regressed"],
  ["incident_rate", 0.04, 0.01, 0.03, 0.01, "met"],
  ["incident_rate", 0.04, 0.01, 0.05, -0.01, "regressed"],
  ["sales_cycle_days_p50", 30, 5, 27, 3, "missed"],
  ["csat", 4, undefined, 4.5, 0.5, "inconclusive"],
  ["csat", 4, undefined, 3.5, -0.5, "regressed"],
];

/** Feeds KPIs, if there are any, then applies a change. Returns its id. */
async function applyChange(api: Client, before: Fields, change: Fields): Promise<string> {
  if (Object.keys(before).length > 0) await api.post("kpi", before);
  return api.bring("applied", change);
}

export function outcomeRules(open: Open): void {
  test.each(CASES)(
    "%s from %f with expected gain %s and then %f has the realised gain %f and the verdict %s",
    async (kpi, before, expected, after, realised, verdict) => {
      const api = await open();
      const expectation: Fields = expected === undefined ? { kpi } : { kpi, expected_delta_k: expected };
      const change_id = await applyChange(api, { [kpi]: before }, expectation);
      await api.post("kpi", { [kpi]: after });
      expect((await api.change(change_id)).outcome).toMatchObject({ realised_delta: realised, verdict: "too_early" });
      api.advance(7 * DAY);
      const [outcome] = (await api.get("outcomes")).body.outcomes;
      expect(outcome).toMatchObject({
        change_id,
        kpi,
        expected_delta_k: expected ?? null,
        baseline: before,
        current: after,
        realised_delta: realised,
        verdict,
        state: "final",
        ended_by: "horizon",
        basis: "correlation",
      });
      expect((await api.change(change_id)).outcome).toEqual(outcome);
    },
  );

  test.each([
    ["without a kpi", { csat: 4 }, {}, { csat: 5 }],
    ["before the first feed after the apply", { csat: 4 }, { kpi: "csat" }, {}],
    ["when another KPI was fed", { csat: 4 }, { kpi: "csat" }, { nrr_quarterly: 1 }],
    ["without a value at the apply", {}, { kpi: "csat" }, { csat: 5 }],
  ] as [when: string, before: Fields, change: Fields, after: Fields][])(
    "an outcome is inconclusive %s",
    async (_, before, change, after) => {
      const api = await open();
      const change_id = await applyChange(api, before, { ...change, expected_delta_k: 0.1 });
      if (Object.keys(after).length > 0) await api.post("kpi", after);
      const inconclusive = { realised_delta: null, verdict: "inconclusive" };
      expect((await api.change(change_id)).outcome).toMatchObject(inconclusive);
      api.advance(8 * DAY);
      expect((await api.change(change_id)).outcome).toMatchObject(inconclusive);
    },
  );

  test("the direction of a KPI in the intent is used", async () => {
    const api = await open({ intent: { kpis: { page_load_ms: { baseline: 900, target: 300 } } } });
    const change_id = await applyChange(api, { page_load_ms: 900 }, { kpi: "page_load_ms", expected_delta_k: 100 });
    await api.post("kpi", { page_load_ms: 700 });
    api.advance(7 * DAY);
    expect((await api.change(change_id)).outcome).toMatchObject({ realised_delta: 200, verdict: "met" });
  });

  test("a verdict is fixed at the horizon; later movement is reported separately", async () => {
    const api = await open();
    const change_id = await applyChange(api, { csat: 4, incident_rate: 0.04 }, { kpi: "csat", expected_delta_k: 1 });
    const readOutcome = async () => (await api.change(change_id)).outcome;
    await api.post("kpi", { csat: 5 });
    expect(await readOutcome()).toMatchObject({ state: "open", ended_by: null, later: null, realised_delta: 1 });
    await api.post("kpi", { csat: 3.5, incident_rate: 0.05 });
    expect(await readOutcome()).toMatchObject({
      verdict: "too_early",
      realised_delta: -0.5,
      words: "csat: expected to rise by 1, it fell by 0.5 (worse), a KPI of the whole product.",
      side_effects: [{ kpi: "incident_rate", words: "incident_rate rose by 0.01, worse" }],
    });
    api.advance(7 * DAY + 1);
    await api.post("kpi", { csat: 6, incident_rate: 0.01 });
    await api.must("rollback", change_id);
    await api.post("kpi", { csat: 6.5 });
    expect(await readOutcome()).toMatchObject({
      verdict: "regressed",
      current: 3.5,
      realised_delta: -0.5,
      state: "final",
      ended_by: "horizon",
      later: { current: 6.5, realised_delta: 2.5, words: "rose by 2.5 (better) since the apply" },
      side_effects: [{ from: 0.04, to: 0.05 }],
    });
  });

  test("an outcome ends as too_early when another change of its target is applied", async () => {
    const api = await open();
    const first = await applyChange(api, { csat: 4 }, { kpi: "csat", expected_delta_k: 0.1 });
    await api.post("kpi", { csat: 4.5 });
    const second = await applyChange(api, {}, { kpi: "csat", expected_delta_k: 0.1 });
    api.advance(8 * DAY);
    await api.post("kpi", { csat: 5 });
    expect((await api.change(first)).outcome).toMatchObject({
      verdict: "too_early",
      realised_delta: 0.5,
      state: "final",
      ended_by: "change",
      replaced_by: second,
    });
    expect((await api.change(second)).outcome).toMatchObject({ ended_by: "horizon", replaced_by: null });
  });

  test("an outcome of a change rolled back before its horizon is final and too_early", async () => {
    const api = await open();
    const change_id = await applyChange(api, { csat: 4 }, { kpi: "csat", expected_delta_k: 1 });
    await api.post("kpi", { csat: 4.2 });
    await api.must("rollback", change_id);
    api.advance(8 * DAY);
    expect((await api.change(change_id)).outcome).toMatchObject({
      verdict: "too_early",
      realised_delta: 0.2,
      state: "final",
      ended_by: "rollback",
    });
  });

  test("a KPI deadline shortens the horizon, unless it was over at the apply", async () => {
    const kpi = { baseline: 4, target: 5 };
    const { as_of } = (await (await open()).get("/api/state")).body;
    const inDays = (days: number) => new Date(Date.parse(as_of) + days * DAY).toISOString();
    const deadlines: [deadline: string, days: number][] = [
      [inDays(2), 2],
      [inDays(20), 7],
      [inDays(-2), 7],
    ];
    for (const [deadline, days] of deadlines) {
      const api = await open({ intent: { kpis: { csat: { ...kpi, deadline } } } });
      const change_id = await applyChange(api, { csat: 4 }, { kpi: "csat", expected_delta_k: 0.1 });
      await api.post("kpi", { csat: 5 });
      api.advance(days * DAY - HOUR);
      expect((await api.change(change_id)).outcome.verdict, deadline).toBe("too_early");
      api.advance(HOUR);
      expect((await api.change(change_id)).outcome.verdict, deadline).toBe("met");
    }
    const api = await open({ intent: { kpis: { csat: { ...kpi, deadline: inDays(1).slice(0, 10) } } } });
    const { outcome } = await api.change(await applyChange(api, { csat: 4 }, { kpi: "csat" }));
    expect(outcome.judged_from, "a deadline without a time includes its day").toBe(
      `${inDays(2).slice(0, 10)}T00:00:00.000Z`,
    );
  });

  test("overlapping changes of a KPI are reported as sharing its movement, others are not", async () => {
    const api = await open();
    const applyOn = (target: string) => applyChange(api, {}, { target, kpi: "nrr_quarterly", expected_delta_k: 0.01 });
    await api.post("kpi", { nrr_quarterly: 1 });
    const rolledBack = await applyOn("ui.rolled_back");
    await api.post("kpi", { nrr_quarterly: 1.01 });
    await api.must("rollback", rolledBack);
    const overlapping: string[] = [];
    for (const target of ["ui.a", "ui.b", "ui.c", "ui.d"]) {
      overlapping.push(await applyOn(target));
      api.advance(HOUR);
    }
    const csat = await applyChange(api, { csat: 4 }, { target: "ui.e", kpi: "csat" });
    await api.post("kpi", { nrr_quarterly: 1.016 });
    api.advance(7 * DAY);
    const readOutcome = async (id: string) => (await api.change(id)).outcome;
    for (const id of overlapping) {
      const { shared_with, ...outcome } = await readOutcome(id);
      expect(outcome).toMatchObject({ realised_delta: 0.006, verdict: "missed", shared_count: 3 });
      expect(shared_with.toSorted()).toEqual(overlapping.filter((other) => other !== id).sort());
    }
    for (const id of [rolledBack, csat])
      expect(await readOutcome(id)).toMatchObject({ shared_with: [], shared_count: 0 });
    api.advance(30 * DAY);
    const later = await applyOn("ui.f");
    expect(await readOutcome(later)).toMatchObject({ shared_count: 0 });
    expect(await readOutcome(overlapping[0]!)).toMatchObject({ shared_count: 3, state: "final" });
    const { outcomes, calibration } = (await api.get("outcomes")).body;
    expect(outcomes.filter(({ shared_count }: { shared_count: number }) => shared_count > 0)).toHaveLength(4);
    // Calibration uses only final outcomes that no other change shares; the one rolled back ended too early.
    expect(calibration.map(({ by, n, shared }: Record<string, unknown>) => [by, n, shared])).toEqual([
      ["kind", 0, 4],
      ["proposer_kind", 0, 4],
    ]);
  });

  test("an outcome has the age of its baseline, the trend before and the scope of the KPI", async () => {
    const kpis = {
      nrr_quarterly: { baseline: 1, target: 2 },
      sales_cycle_days_p50: { baseline: 30, target: 20, tenant: "t1" },
      csat: { baseline: 4, target: 5, tenant: "t2" },
    };
    const api = await open({ intent: { kpis } });
    await api.post("kpi", { sales_cycle_days_p50: 40 });
    api.advance(40 * DAY);
    await api.post("kpi", { sales_cycle_days_p50: 36, csat: 4 });
    api.advance(2 * HOUR + HOUR / 2);
    const fields = { tenant_id: "t1", expected_delta_k: 1 };
    const applyAndReadOutcome = async (kpi: string) =>
      (await api.change(await applyChange(api, {}, { ...fields, target: `ui.${kpi}`, kpi }))).outcome;
    // The trend is the gain in the 30 days before the apply: 40 was still the value when they began.
    expect(await applyAndReadOutcome("sales_cycle_days_p50")).toMatchObject({
      baseline: 36,
      baseline_age_hours: 2.5,
      trend_before: 4,
      trend_days: 30,
      scope: "tenant",
    });
    expect(await applyAndReadOutcome("csat")).toMatchObject({
      trend_before: null,
      trend_days: null,
      scope: "other_tenant",
    });
    expect(await applyAndReadOutcome("nrr_quarterly")).toMatchObject({ baseline_age_hours: null, scope: "product" });
    // A day after the first feed of csat.
    api.advance(DAY - 2.5 * HOUR);
    await api.post("kpi", { csat: 4.5 });
    expect(await applyAndReadOutcome("csat")).toMatchObject({
      trend_before: 0.5,
      trend_days: 1,
      baseline_age_hours: 0,
    });
  });

  test("calibration compares unshared expectations with effects by KPI, kind and proposer", async () => {
    const api = await open();
    for (const [target, expected, before, after] of [
      ["ui.a", 0.2, 4, 4.3],
      ["ui.b", 0.4, 4, 4.1],
    ] as const) {
      const change = { target, kpi: "csat", expected_delta_k: expected, proposer: "Pat", kind: "workflow" };
      await applyChange(api, { csat: before }, change);
      api.advance(DAY);
      await api.post("kpi", { csat: after });
      api.advance(30 * DAY);
      // A feed of any KPI evaluates the outcomes that are due.
      await api.post("kpi", { nrr_quarterly: 1 });
    }
    const figures = {
      kpi: "csat",
      n: 2,
      met: 1,
      missed: 1,
      regressed: 0,
      mean_promised: 0.3,
      mean_realised: 0.2,
      shared: 0,
    };
    const { calibration, next } = (await api.get("outcomes?limit=1")).body;
    expect(calibration).toEqual([
      { by: "kind", group: "workflow", ...figures },
      { by: "proposer_kind", group: "unknown", ...figures },
      { by: "proposer", group: "pat", ...figures },
    ]);
    expect((await api.get(`outcomes?before=${next}`)).body.calibration).toBeNull();
  });

  test("a change that was not applied has no outcome", async () => {
    const api = await open();
    const change_id = await api.bring("approved");
    expect((await api.change(change_id)).outcome).toBeNull();
    expect((await api.get("outcomes")).body).toEqual({ outcomes: [], calibration: [], next: null });
  });

  test("pages visit every outcome once, newest first", async () => {
    const api = await open();
    const changeIds: string[] = [];
    for (let index = 0; index < 5; index++) changeIds.push(await api.bring("applied", { target: `ui.x${index}` }));
    for (const limit of [1, 2, 5, 6]) {
      const listed: string[] = [];
      let before = "";
      do {
        const cursor = before && `&before=${before}`;
        const { body } = await api.get(`outcomes?limit=${limit}${cursor}`);
        expect(body.outcomes.length).toBeLessThanOrEqual(limit);
        listed.push(...body.outcomes.map((outcome: { change_id: string }) => outcome.change_id));
        before = body.next ?? "";
      } while (before);
      expect(listed, `limit ${limit}`).toEqual([...changeIds].reverse());
    }
  });
}
