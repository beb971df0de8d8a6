/** Expected against realised KPI movement. */
import { expect, test } from "vitest";
import type { Client } from "../../support/client.ts";
import type { Fields } from "../../support/requests.ts";
import type { Open } from "../http_contract.ts";

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

/** Feeds, then applies a change that is about the KPI. */
async function applied(api: Client, before: Fields, change: Fields): Promise<string> {
  if (Object.keys(before).length > 0) await api.post("kpi", before);
  return api.bring("applied", change);
}

export function outcomeRules(open: Open): void {
  test.each(CASES)(
    "%s from %f, expected %s, then %f: realised %f, %s",
    async (kpi, before, expected, after, realised, verdict) => {
      const api = await open();
      const stated: Fields = expected === undefined ? { kpi } : { kpi, expected_delta_k: expected };
      const change_id = await applied(api, { [kpi]: before }, stated);
      await api.post("kpi", { [kpi]: after });
      const [outcome] = (await api.get("outcomes")).body.outcomes;
      expect(outcome).toMatchObject({
        change_id,
        kpi,
        expected_delta_k: expected ?? null,
        baseline: before,
        current: after,
        realised_delta: realised,
        verdict,
        state: "open",
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
  ] as [string, Fields, Fields, Fields][])("inconclusive %s", async (_, before, change, after) => {
    const api = await open();
    const change_id = await applied(api, before, { ...change, expected_delta_k: 0.1 });
    if (Object.keys(after).length > 0) await api.post("kpi", after);
    expect((await api.change(change_id)).outcome).toMatchObject({ realised_delta: null, verdict: "inconclusive" });
  });

  test("an intent's own direction counts", async () => {
    const api = await open({ intent: { kpis: { page_load_ms: { baseline: 900, target: 300 } } } });
    const change_id = await applied(api, { page_load_ms: 900 }, { kpi: "page_load_ms", expected_delta_k: 100 });
    await api.post("kpi", { page_load_ms: 700 });
    expect((await api.change(change_id)).outcome).toMatchObject({ realised_delta: 200, verdict: "met" });
  });

  test("an open outcome follows each feed; a rollback freezes it", async () => {
    const api = await open();
    const change_id = await applied(api, { csat: 4 }, { kpi: "csat", expected_delta_k: 1 });
    const verdict = async () => (await api.change(change_id)).outcome;
    await api.post("kpi", { csat: 5 });
    expect(await verdict()).toMatchObject({ verdict: "met", state: "open", closed_by: null });
    await api.post("kpi", { csat: 3 });
    expect(await verdict()).toMatchObject({ verdict: "regressed", realised_delta: -1 });
    await api.must("rollback", change_id);
    await api.post("kpi", { csat: 6 });
    expect(await verdict()).toMatchObject({
      verdict: "regressed",
      current: 3,
      realised_delta: -1,
      state: "final",
      closed_by: "rollback",
    });
  });

  test("a change that was not applied has no outcome", async () => {
    const api = await open();
    const change_id = await api.bring("approved");
    expect((await api.change(change_id)).outcome).toBeNull();
    expect((await api.get("outcomes")).body).toEqual({ outcomes: [], next: null });
  });

  test("pages visit every outcome once, newest first", async () => {
    const api = await open();
    const made: string[] = [];
    for (let one = 0; one < 5; one++) made.push(await api.bring("applied", { target: `ui.x${one}` }));
    for (const limit of [1, 2, 5, 6]) {
      const seen: string[] = [];
      let before = "";
      do {
        const { body } = await api.get(`outcomes?limit=${limit}${before && `&before=${before}`}`);
        expect(body.outcomes.length).toBeLessThanOrEqual(limit);
        seen.push(...body.outcomes.map((outcome: { change_id: string }) => outcome.change_id));
        before = body.next ?? "";
      } while (before);
      expect(seen, `limit ${limit}`).toEqual([...made].reverse());
    }
  });
}
