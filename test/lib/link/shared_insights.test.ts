/** Own insights: they are created from outcomes, and read by peers in pages. */
import { beforeEach, describe, expect, test } from "vitest";
import { insightMaker, listNewestShared, readShared } from "../../../lib/link/shared_insights.ts";
import { projectAll } from "../../../lib/projections/projector.ts";
import type { SharedInsight } from "../../../lib/link/insight.ts";
import { runCycle } from "../../../lib/operations/cycle.ts";
import type { OperationsDeps } from "../../../lib/operations/deps.ts";
import { DAY, pass } from "../../support/clock.ts";
import { service, type TestService } from "../../support/service.ts";
import { identity } from "./test_sessions.ts";

const self = identity("a");
const intent = { kpis: { csat: { baseline: 4, target: 5 } } };

let svc: TestService;
let makeInsights: ReturnType<typeof insightMaker>;
beforeEach(async () => {
  svc = await service({ intent });
  makeInsights = insightMaker(svc.deps, self);
});

const applyChange = (fields = {}) => svc.bring("applied", { kpi: "csat", expected_delta_k: 0.2, ...fields });
const feedCsat = (csat: number) => svc.post("kpi", { csat });
/** Advances the clock to the horizon of the applied changes. Unlike `pass`, it takes no clock sample that confirms the time. */
const reachHorizon = () => svc.deps.clock.advance(7 * DAY);

describe("an own insight", () => {
  test("is created at the verdict, and later samples do not change it", async () => {
    await feedCsat(4);
    await applyChange();
    await feedCsat(4.1);
    expect(await makeInsights()).toEqual([]);
    const fedAt = svc.deps.clock.iso();
    reachHorizon();
    const [first] = await makeInsights();
    expect(first).toMatchObject({ realised_delta: 0.1, verdict: "missed", target: "ui.banner", observed_at: fedAt });
    svc.deps.clock.advance(DAY);
    await feedCsat(4.3);
    for (const insight of await makeInsights())
      expect(insight).toMatchObject({ realised_delta: 0.1, verdict: "missed" });
    expect(await listNewestShared(svc.deps.store, 10)).toMatchObject([
      { insight_id: first!.insight_id, realised_delta: 0.1, verdict: "missed" },
    ]);
  });

  test("is created once, also after a restart", async () => {
    await feedCsat(4);
    await applyChange();
    reachHorizon();
    await feedCsat(4.1);
    expect(await makeInsights()).toHaveLength(1);
    expect(await makeInsights()).toEqual([]);
    expect(await insightMaker(svc.deps, self)()).toEqual([]);
    expect((await readShared(svc.deps.store, self, 0, 50)).last).toBe(1);
  });

  test("keeps its figures after a later rollback of its change", async () => {
    await feedCsat(4);
    const id = await applyChange();
    await feedCsat(3.5);
    reachHorizon();
    await makeInsights();
    await svc.must("rollback", id);
    await feedCsat(4.5);
    await makeInsights();
    expect(await listNewestShared(svc.deps.store, 10)).toMatchObject([{ realised_delta: -0.5, verdict: "regressed" }]);
    expect(await makeInsights()).toEqual([]);
  });

  test("is created for a change that a guardrail rolled back early, not if a person did so", async () => {
    const guardrails = [{ kpi: "csat", max_regression: 0.1, action: "rollback" }];
    svc = await service({ intent: { ...intent, policy: { guardrails } } });
    makeInsights = insightMaker(svc.deps, self);
    await feedCsat(4);
    await makeInsights();
    await svc.must("rollback", await applyChange({ target: "ui.person" }));
    const id = await applyChange();
    await feedCsat(3.5);
    await runCycle(svc.deps);
    expect((await svc.change(id)).outcome).toMatchObject({ verdict: "regressed", ended_by: "guardrail" });
    expect(await makeInsights()).toMatchObject([{ target: "ui.banner", realised_delta: -0.5, verdict: "regressed" }]);
  });

  test("is created after the horizon, also without further entries", async () => {
    await feedCsat(4);
    await applyChange();
    await feedCsat(4.1);
    await projectAll(svc.deps);
    expect(await makeInsights()).toEqual([]);
    await pass(svc.deps, 7 * DAY + 1);
    await projectAll(svc.deps);
    expect(await makeInsights()).toMatchObject([{ realised_delta: 0.1, verdict: "missed" }]);
  });

  test("is created when the clock reaches its horizon, before that time is confirmed", async () => {
    await feedCsat(4);
    await applyChange();
    svc.deps.clock.advance(DAY);
    await applyChange({ target: "ui.other" });
    await feedCsat(4.1);
    await projectAll(svc.deps);
    expect(await makeInsights()).toEqual([]);
    svc.deps.clock.advance(6 * DAY);
    expect(await makeInsights()).toMatchObject([{ target: "ui.banner", verdict: "missed" }]);
    expect(await makeInsights()).toEqual([]);
    svc.deps.clock.advance(DAY);
    expect(await makeInsights()).toMatchObject([{ target: "ui.other", verdict: "missed" }]);
  });

  test("is created in the cycle that confirms the time, before this cycle contacts peers", async () => {
    await feedCsat(4);
    await applyChange();
    await feedCsat(4.1);
    const created: SharedInsight[] = [];
    const sync = async () => void created.push(...(await makeInsights()));
    const deps = { ...svc.deps, link: { sync } } as unknown as OperationsDeps;
    await runCycle(deps);
    await pass(svc.deps, 7 * DAY + 1);
    await runCycle(deps);
    expect(created).toMatchObject([{ realised_delta: 0.1, verdict: "missed" }]);
  });

  test("is created for outcomes that ended before the link was enabled", async () => {
    await feedCsat(4);
    await applyChange();
    await feedCsat(3.5);
    svc.deps.clock.advance(31 * DAY);
    await projectAll(svc.deps);
    expect(await makeInsights()).toMatchObject([{ realised_delta: -0.5 }]);
  });

  test("is created for an outcome without expectation, with the verdict inconclusive", async () => {
    await feedCsat(4);
    await svc.bring("applied", { kpi: "csat" });
    reachHorizon();
    await feedCsat(4.4);
    expect(await makeInsights()).toMatchObject([
      { expected_delta_k: null, realised_delta: 0.4, verdict: "inconclusive" },
    ]);
  });

  test("is not created for a change without a KPI, nor for one that is not applied", async () => {
    await feedCsat(4);
    await svc.bring("applied");
    await svc.bring("approved", { kpi: "csat", target: "ui.other" });
    await feedCsat(4.4);
    expect(await makeInsights()).toEqual([]);
  });

  test("contains no text by people", async () => {
    await feedCsat(4);
    const words = {
      tenant_id: "tenant-globex",
      summary: "words of a summary",
      rationale: "words of a rationale",
      proposer: "pat-proposer",
    };
    await applyChange(words);
    reachHorizon();
    await feedCsat(4.4);
    const created = await makeInsights();
    expect(created).toHaveLength(1);
    const text = JSON.stringify(created);
    for (const word of [...Object.values(words), "chg_"]) expect(text).not.toContain(word);
  });

  test("uses the current names after a restart with other names", async () => {
    await feedCsat(4);
    await applyChange();
    reachHorizon();
    await feedCsat(4.4);
    await makeInsights();
    const renamed = { ...self, instance_id: "acme-crm@elsewhere" };
    expect((await readShared(svc.deps.store, renamed, 0, 50)).insights).toMatchObject([
      { origin_instance_id: "acme-crm@elsewhere" },
    ]);
  });
});

test("pages are in order of update: an updated insight is returned again, others are not", async () => {
  await feedCsat(4);
  await applyChange();
  await applyChange({ target: "ui.second", kpi: "nrr_quarterly" });
  reachHorizon();
  await svc.post("kpi", { csat: 4.1, nrr_quarterly: 1 });
  await makeInsights();
  const store = svc.deps.store;
  // The KPI of ui.second had no value before the apply, so there is no insight about it.
  const all = await readShared(store, self, 0, 50);
  expect(all).toMatchObject({ next: 1, last: 1, insights: [{ target: "ui.banner" }] });
  await applyChange({ target: "ui.third" });
  reachHorizon();
  await svc.post("kpi", { csat: 4.2 });
  await makeInsights();
  // The change of ui.third was applied at the horizon of ui.banner, whose insight now counts a shared movement.
  const rest = await readShared(store, self, all.next, 50);
  expect(rest.insights.map(({ target }) => target).sort()).toEqual(["ui.banner", "ui.third"]);
  expect(await readShared(store, self, rest.next, 50)).toMatchObject({ insights: [], next: rest.next });
  expect((await readShared(store, self, all.next, 1)).next).toBe(all.next + 1);
  // A cursor beyond the last update is of another counter, so everything is returned.
  expect((await readShared(store, self, 999, 50)).insights).toHaveLength(2);
});

test("an outcome after its horizon keeps its last figures, and is not evaluated again", async () => {
  await feedCsat(4);
  await applyChange();
  await feedCsat(4.1);
  await makeInsights();
  svc.deps.clock.advance(6 * DAY);
  await feedCsat(4.5);
  await pass(svc.deps, 2 * DAY);
  await projectAll(svc.deps);
  await makeInsights();
  await feedCsat(5);
  expect(await makeInsights()).toEqual([]);
  expect(await listNewestShared(svc.deps.store, 10)).toMatchObject([{ realised_delta: 0.5 }]);
});
