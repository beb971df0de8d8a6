/** The KPI feed and E, with values computed by hand. */
import { expect, test } from "vitest";
import type { Fields } from "../../support/requests.ts";
import type { Open } from "../http_contract.ts";

const GOALS = {
  kpis: {
    nrr_quarterly: { baseline: 1.02, target: 1.12, weight: 3 },
    incident_rate: { baseline: 0.04, target: 0.01, weight: 2 },
  },
};

/**
 * Feeds under GOALS. A KPI's part of E is 0.5 at its baseline, 1 at its target and 0 at its floor, which is as far from the baseline
 * as the target: 0.92 and 0.07. E is the average of the parts by weight.
 */
const FEEDS_WITH_GOALS: [Fields, E: number][] = [
  [{ nrr_quarterly: 1.02 }, 0.5],
  [{ nrr_quarterly: 1.12 }, 1],
  [{ nrr_quarterly: 1.07 }, 0.75],
  [{ nrr_quarterly: 0.92 }, 0],
  [{ nrr_quarterly: 2 }, 1],
  [{ nrr_quarterly: -5 }, 0],
  [{ incident_rate: 0.04 }, 0.5],
  [{ incident_rate: 0.025 }, 0.75],
  [{ incident_rate: 0 }, 1],
  [{ incident_rate: 0.5 }, 0],
  [{ nrr_quarterly: 1.02, incident_rate: 0.01 }, 0.7],
  [{ nrr_quarterly: 2, incident_rate: 0.5 }, 0.6],
];

/** Feeds without goals: the first value is the baseline, and the target is 20 % better. */
const FEEDS_WITHOUT_GOALS: [kpi: string, first: number, second: number, E: number][] = [
  ["csat", 4, 4, 0.5],
  ["csat", 4, 4.4, 0.75],
  ["csat", 4, 4.8, 1],
  ["csat", 4, 3.2, 0],
  ["nrr_quarterly", 1, 1.1, 0.75],
  ["deal_win_rate", 0.2, 0.18, 0.25],
  ["weekly_active_sales_pct", 50, 60, 1],
  ["sales_cycle_days_p50", 30, 27, 0.75],
  ["sales_cycle_days_p50", 30, 36, 0],
  ["incident_rate", 0.05, 0.045, 0.75],
  ["incident_rate", 0.05, 0.06, 0],
  ["csat", -10, -9, 0.75],
];

export function kpiRules(open: Open): void {
  test.each(FEEDS_WITH_GOALS)("the feed %o gives E = %f", async (feed, effect) => {
    const api = await open({ intent: GOALS });
    const { status, body } = await api.post("kpi", feed);
    expect(status).toBe(200);
    expect(body.E).toBeCloseTo(effect, 12);
    expect(body).toMatchObject({ refreshed: true, accepted: feed });
    expect((await api.get("/api/state")).body.E).toBe(body.E);
  });

  test.each(FEEDS_WITHOUT_GOALS)("%s fed as %f, then as %f gives E = %f", async (kpi, first, second, effect) => {
    const api = await open();
    expect((await api.post("kpi", { [kpi]: first })).body).toMatchObject({ E: 0.5, refreshed: true });
    expect((await api.post("kpi", { [kpi]: second })).body.E).toBeCloseTo(effect, 12);
  });

  test("E uses the last value of a KPI that is not fed again", async () => {
    const api = await open({ intent: GOALS });
    await api.post("kpi", { nrr_quarterly: 1.02 });
    expect((await api.post("kpi", { incident_rate: 0.01 })).body.E).toBeCloseTo(0.7, 12);
  });

  test("KPIs without a weight have weight 1", async () => {
    const api = await open({ intent: GOALS });
    const { body } = await api.post("kpi", { nrr_quarterly: 1.12, incident_rate: 0.01, csat: 4 });
    expect(body.E).toBeCloseTo((3 + 2 + 0.5) / 6, 12);
  });

  test("a KPI whose first value is 0 never counts", async () => {
    const api = await open();
    expect((await api.post("kpi", { csat: 0 })).body).toMatchObject({ refreshed: false, E: null });
    expect((await api.post("kpi", { csat: 5 })).body).toMatchObject({ refreshed: false, E: null });
    expect((await api.post("kpi", { csat: 5, nrr_quarterly: 1 })).body).toMatchObject({ refreshed: true, E: 0.5 });
    expect((await api.post("kpi", { csat: 6 })).body).toMatchObject({ refreshed: false, E: 0.5 });
  });

  test("a KPI whose target equals its baseline does not count", async () => {
    const api = await open({ intent: { kpis: { csat: { baseline: 4, target: 4 } } } });
    expect((await api.post("kpi", { csat: 5 })).body).toMatchObject({ refreshed: false, E: null });
  });

  test("without data, E is null and not 0", async () => {
    const api = await open({ intent: GOALS });
    const { body } = await api.get("/api/state");
    expect(body.E).toBeNull();
    expect(body.goals).toContainEqual(
      expect.objectContaining({
        kpi: "incident_rate",
        baseline: 0.04,
        target: 0.01,
        current: null,
        progress: null,
        status: "no_data",
      }),
    );
    expect((await api.get("intent")).body.last_kpi_at).toBeNull();
  });

  test("E is returned with the values that it is computed from", async () => {
    const api = await open({ intent: GOALS });
    await api.post("kpi", { nrr_quarterly: 1.07, csat: 0 });
    const { dimensions, goals } = (await api.get("/api/state")).body;
    expect(dimensions.E.parts).toMatchObject([
      { kpi: "csat", value: 0, attainment: null, reason: expect.any(String) },
      { kpi: "nrr_quarterly", value: 1.07, baseline: 1.02, target: 1.12, weight: 3, reason: null },
    ]);
    const nrr = goals.find(({ kpi }: { kpi: string }) => kpi === "nrr_quarterly");
    expect(nrr.progress).toBeCloseTo(0.5, 12);
    expect(nrr.status).toBe("under_way");
  });

  test("one feed is one kpi_refreshed entry, and the intent shows its time", async () => {
    const api = await open({ intent: GOALS });
    const feed = { nrr_quarterly: 1.07, csat: 4.5 };
    const { body } = await api.post("kpi", feed);
    expect(await api.steps()).toEqual([body.audit_entry]);
    expect(body.audit_entry).toMatchObject({ event_type: "kpi_refreshed", change_id: "", tenant: "" });
    expect(JSON.parse(body.audit_entry.detail)).toMatchObject({ values: feed });
    expect((await api.get("intent")).body.last_kpi_at).toBe(body.at);
    expect(body.at).toBe(body.audit_entry.timestamp);
  });

  test("the six KPIs of the specification and those of the intent are accepted", async () => {
    const standardKpis = {
      nrr_quarterly: 1.1,
      deal_win_rate: 0.3,
      sales_cycle_days_p50: 40,
      weekly_active_sales_pct: 60,
      csat: 4.4,
      incident_rate: 0.02,
    };
    expect((await (await open()).post("kpi", standardKpis)).body.accepted).toEqual(standardKpis);
    const api = await open({ intent: { kpis: { page_load_ms: { baseline: 900, target: 300 } } } });
    expect((await api.post("kpi", { ...standardKpis, page_load_ms: 600 })).status).toBe(200);
  });

  test.each([
    ["no field", {}],
    ["an unknown KPI", { csat: 4, revenue: 1 }],
    ["one bad value", { csat: 4, nrr_quarterly: "good" }],
    ["an empty value", { csat: 4, nrr_quarterly: "" }],
  ])("a feed with %s is rejected completely", async (_, feed) => {
    const api = await open();
    expect(await api.post("kpi", feed as Fields)).toMatchObject({ status: 400, body: { code: "invalid_field" } });
    expect((await api.get("/api/state")).body.dimensions.E.parts).toEqual([]);
    expect(await api.audit()).toEqual([]);
  });
}
