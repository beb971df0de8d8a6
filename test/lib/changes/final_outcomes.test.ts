/** Outcomes become final at their horizon of 7 days. */
import { expect, test } from "vitest";
import { runCycle } from "../../../lib/operations/cycle.ts";
import { DAY, MINUTE, pass } from "../../support/clock.ts";
import { restartDeps } from "../../support/deps.ts";
import { service } from "../../support/service.ts";

/** Opens a service with an applied change that has met its expectation. */
async function serviceWithMetOutcome() {
  const api = await service();
  await api.post("kpi", { csat: 4 });
  const change_id = await api.bring("applied", { kpi: "csat", expected_delta_k: 0.5 });
  await api.post("kpi", { csat: 5 });
  const outcome = async () => (await api.change(change_id)).outcome;
  return { api, change_id, outcome };
}

test("an outcome is open for 7 days, and the next cycle makes it final", async () => {
  const { api, outcome } = await serviceWithMetOutcome();
  api.deps.clock.advance(7 * DAY - MINUTE);
  expect((await runCycle(api.deps)).outcomes_closed).toBe(0);
  expect(await outcome()).toMatchObject({ state: "open", verdict: "too_early" });
  // The first sample is at the horizon itself; an outcome ends only after it, which the second sample confirms.
  await pass(api.deps, MINUTE);
  await pass(api.deps, MINUTE);
  expect((await runCycle(api.deps)).outcomes_closed).toBe(1);
  expect(await outcome()).toMatchObject({ state: "final", ended_by: "horizon", verdict: "met", current: 5 });
  await api.post("kpi", { csat: 1 });
  expect(await outcome()).toMatchObject({ state: "final", verdict: "met", current: 5 });
  expect((await runCycle(api.deps)).outcomes_closed).toBe(0);
});

test("a rollback after 7 days does not change the final outcome", async () => {
  const { api, change_id, outcome } = await serviceWithMetOutcome();
  api.deps.clock.advance(8 * DAY);
  await runCycle(api.deps);
  await api.must("rollback", change_id);
  expect(await outcome()).toMatchObject({ state: "final", ended_by: "horizon" });
});

test("a read after 7 days shows the outcome as final before any cycle", async () => {
  const { api, outcome } = await serviceWithMetOutcome();
  api.deps.clock.advance(8 * DAY);
  expect(await outcome()).toMatchObject({ state: "final", ended_by: "horizon", verdict: "met" });
  expect((await api.get("outcomes")).body.outcomes[0]).toMatchObject({ state: "final" });
});

test("a KPI feed after 7 days does not count, even before a cycle", async () => {
  const { api, outcome } = await serviceWithMetOutcome();
  api.deps.clock.advance(8 * DAY);
  await api.post("kpi", { csat: 1 });
  await runCycle(api.deps);
  expect(await outcome()).toMatchObject({ state: "final", verdict: "met", current: 5 });
});

test("a process started with the clock 400 days ahead closes no outcome", async () => {
  const { api, outcome } = await serviceWithMetOutcome();
  api.deps.clock.shift(400 * DAY);
  const wrong = await restartDeps(api.deps);
  for (let cycle = 0; cycle < 3; cycle++) {
    expect((await runCycle(wrong)).outcomes_closed).toBe(0);
    api.deps.clock.advance(MINUTE);
  }
  api.deps.clock.shift(-400 * DAY);
  await runCycle(await restartDeps(api.deps));
  expect(await outcome()).toMatchObject({ state: "open" });
});
