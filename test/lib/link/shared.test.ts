import { beforeEach, describe, expect, test } from "vitest";
import { insightMaker, listNewestShared, readShared } from "../../../lib/link/shared.ts";
import { projectAll } from "../../../lib/projections/projector.ts";
import type { SharedInsight } from "../../../lib/link/insight.ts";
import { runCycle } from "../../../lib/operations/cycle.ts";
import type { OperationsDeps } from "../../../lib/operations/deps.ts";
import { DAY, pass } from "../../support/clock.ts";
import { service, type TestService } from "../../support/service.ts";
import { identity } from "./ends.ts";

const self = identity("a");
const intent = { kpis: { csat: { baseline: 4, target: 5 } } };

let svc: TestService;
let make: ReturnType<typeof insightMaker>;
beforeEach(async () => {
  svc = await service({ intent });
  make = insightMaker(svc.deps, self);
});

const applied = (over = {}) => svc.bring("applied", { kpi: "csat", expected_delta_k: 0.2, ...over });
const feed = (csat: number) => svc.post("kpi", { csat });
/** Ends the horizon of what was applied. */
const horizon = () => svc.deps.clock.advance(7 * DAY);

describe("an own insight", () => {
  test("is made at the verdict, and later samples do not change it", async () => {
    await feed(4);
    await applied();
    await feed(4.1);
    expect(await make()).toEqual([]);
    const fedAt = svc.deps.clock.iso();
    horizon();
    const [first] = await make();
    expect(first).toMatchObject({ realised_delta: 0.1, verdict: "missed", target: "ui.banner", observed_at: fedAt });
    svc.deps.clock.advance(DAY);
    await feed(4.3);
    for (const insight of await make()) expect(insight).toMatchObject({ realised_delta: 0.1, verdict: "missed" });
    expect(await listNewestShared(svc.deps.store, 10)).toMatchObject([
      { insight_id: first!.insight_id, realised_delta: 0.1, verdict: "missed" },
    ]);
  });

  test("is not rebuilt without a change, also after a restart", async () => {
    await feed(4);
    await applied();
    horizon();
    await feed(4.1);
    expect(await make()).toHaveLength(1);
    expect(await make()).toEqual([]);
    expect(await insightMaker(svc.deps, self)()).toEqual([]);
    expect((await readShared(svc.deps.store, self, 0, 50)).last).toBe(1);
  });

  test("ends with its outcome: the rollback's figures are the last", async () => {
    await feed(4);
    const id = await applied();
    await feed(3.5);
    horizon();
    await make();
    await svc.must("rollback", id);
    await feed(4.5);
    await make();
    expect(await listNewestShared(svc.deps.store, 10)).toMatchObject([{ realised_delta: -0.5, verdict: "regressed" }]);
    expect(await make()).toEqual([]);
  });

  test("is made of a change that a guardrail rolled back early, not of one a person rolled back", async () => {
    const guardrails = [{ kpi: "csat", max_regression: 0.1, action: "rollback" }];
    svc = await service({ intent: { ...intent, policy: { guardrails } } });
    make = insightMaker(svc.deps, self);
    await feed(4);
    await make();
    await svc.must("rollback", await applied({ target: "ui.person" }));
    const id = await applied();
    await feed(3.5);
    await runCycle(svc.deps);
    expect((await svc.change(id)).outcome).toMatchObject({ verdict: "regressed", ended_by: "guardrail" });
    expect(await make()).toMatchObject([{ target: "ui.banner", realised_delta: -0.5, verdict: "regressed" }]);
  });

  test("is made when the horizon is over, also where nothing is written", async () => {
    await feed(4);
    await applied();
    await feed(4.1);
    await projectAll(svc.deps);
    expect(await make()).toEqual([]);
    await pass(svc.deps, 7 * DAY + 1);
    await projectAll(svc.deps);
    expect(await make()).toMatchObject([{ realised_delta: 0.1, verdict: "missed" }]);
  });

  test("is made when the clock reaches its horizon, before that time is confirmed", async () => {
    await feed(4);
    await applied();
    svc.deps.clock.advance(DAY);
    await applied({ target: "ui.other" });
    await feed(4.1);
    await projectAll(svc.deps);
    expect(await make()).toEqual([]);
    svc.deps.clock.advance(6 * DAY);
    expect(await make()).toMatchObject([{ target: "ui.banner", verdict: "missed" }]);
    expect(await make()).toEqual([]);
    svc.deps.clock.advance(DAY);
    expect(await make()).toMatchObject([{ target: "ui.other", verdict: "missed" }]);
  });

  test("is made in the cycle that confirms the time, before this cycle contacts peers", async () => {
    await feed(4);
    await applied();
    await feed(4.1);
    const reported: SharedInsight[] = [];
    const sync = async () => void reported.push(...(await make()));
    const deps = { ...svc.deps, link: { sync } } as unknown as OperationsDeps;
    await runCycle(deps);
    await pass(svc.deps, 7 * DAY + 1);
    await runCycle(deps);
    expect(reported).toMatchObject([{ realised_delta: 0.1, verdict: "missed" }]);
  });

  test("is made of outcomes that ended before the link was enabled", async () => {
    await feed(4);
    await applied();
    await feed(3.5);
    svc.deps.clock.advance(31 * DAY);
    await projectAll(svc.deps);
    expect(await make()).toMatchObject([{ realised_delta: -0.5 }]);
  });

  test("is made of an outcome without an expectation, so that not only regressions are reported", async () => {
    await feed(4);
    await svc.bring("applied", { kpi: "csat" });
    horizon();
    await feed(4.4);
    expect(await make()).toMatchObject([{ expected_delta_k: null, realised_delta: 0.4, verdict: "inconclusive" }]);
  });

  test("is not made of a change without a KPI, nor of one that is not applied", async () => {
    await feed(4);
    await svc.bring("applied");
    await svc.bring("approved", { kpi: "csat", target: "ui.other" });
    await feed(4.4);
    expect(await make()).toEqual([]);
  });

  test("contains no text by people", async () => {
    await feed(4);
    const words = {
      tenant_id: "tenant-globex",
      summary: "words of a summary",
      rationale: "words of a rationale",
      proposer: "pat-proposer",
    };
    await applied(words);
    horizon();
    await feed(4.4);
    const reported = await make();
    expect(reported).toHaveLength(1);
    const text = JSON.stringify(reported);
    for (const word of [...Object.values(words), "chg_"]) expect(text).not.toContain(word);
  });

  test("uses the current names after a restart with other names", async () => {
    await feed(4);
    await applied();
    horizon();
    await feed(4.4);
    await make();
    const renamed = { ...self, instance_id: "acme-crm@elsewhere" };
    expect((await readShared(svc.deps.store, renamed, 0, 50)).insights).toMatchObject([
      { origin_instance_id: "acme-crm@elsewhere" },
    ]);
  });
});

test("pages are in order of update: an updated insight is returned again, others are not", async () => {
  await feed(4);
  await applied();
  await applied({ target: "ui.second", kpi: "nrr_quarterly" });
  horizon();
  await svc.post("kpi", { csat: 4.1, nrr_quarterly: 1 });
  await make();
  const store = svc.deps.store;
  const all = await readShared(store, self, 0, 50);
  expect(all).toMatchObject({ next: 1, last: 1, insights: [{ target: "ui.banner" }] });
  await applied({ target: "ui.third" });
  horizon();
  await svc.post("kpi", { csat: 4.2 });
  await make();
  const rest = await readShared(store, self, all.next, 50);
  expect(rest.insights.map(({ target }) => target).sort()).toEqual(["ui.banner", "ui.third"]);
  expect(await readShared(store, self, rest.next, 50)).toMatchObject({ insights: [], next: rest.next });
  expect((await readShared(store, self, all.next, 1)).next).toBe(all.next + 1);
  expect((await readShared(store, self, 999, 50)).insights).toHaveLength(2);
});

test("an outcome after its horizon keeps its last figures, and is not evaluated again", async () => {
  await feed(4);
  await applied();
  await feed(4.1);
  await make();
  svc.deps.clock.advance(6 * DAY);
  await feed(4.5);
  await pass(svc.deps, 2 * DAY);
  await projectAll(svc.deps);
  await make();
  await feed(5);
  expect(await make()).toEqual([]);
  expect(await listNewestShared(svc.deps.store, 10)).toMatchObject([{ realised_delta: 0.5 }]);
});
