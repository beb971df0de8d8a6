/** Outcomes of rollouts: judged by the comparison of users with and without the change, not by the KPI over time. */
import { expect, test } from "vitest";
import { measureOutcomes } from "../../../lib/projections/outcomes/measure.ts";
import { outcomes } from "../../../lib/projections/outcomes.ts";
import { rebuild } from "../../../lib/projections/projector.ts";
import { readProjection } from "../../../lib/projections/snapshot.ts";
import { HOUR, pass } from "../../support/clock.ts";
import type { Core } from "../../support/core.ts";
import { openRollout, STAGES, totals } from "../../support/rollouts.ts";

const KPI = "deal_win_rate";
const stages = { watch: [{ ...STAGES.watch[0], kpi: KPI }] };

async function readOutcome({ deps }: Core, change_id: string) {
  const read = await readProjection(deps, outcomes);
  const record = (await read.get("outcomes", change_id))!.value;
  return (await measureOutcomes(read, [record], deps.product!.intent, deps.clock.iso()))[0]!;
}

/** Starts a rollout whose KPI falls for all users right after the apply, for reasons outside the change. */
async function openRolloutInBadWeek() {
  const rollout = await openRollout({ stages, proposal: { kpi: KPI, expected_delta_k: "-0.1" } });
  await rollout.api.post("kpi", { [KPI]: 0.05 });
  return { ...rollout, outcome: () => readOutcome(rollout.api, rollout.change_id) };
}

test("a decline of both arms does not count against the change", async () => {
  const { api, change_id, passHours, feedNow, outcome } = await openRolloutInBadWeek();
  expect(await outcome()).toMatchObject({
    basis: "measurement",
    measured: [],
    verdict: "too_early",
    realised_delta: null,
  });
  passHours(24);
  // Without rates, both arms have the same share of successes.
  await feedNow({ kpi: KPI, step: 0, ...totals(100_000, STAGES.steps[0]!.share) });
  const [measured] = (await outcome()).measured!;
  expect(measured).toMatchObject({ kpi: KPI, step: 0 });
  expect([measured!.worse_at_least! < 0, measured!.worse_at_most! > 0]).toEqual([true, true]);
  await pass(api.deps, 8 * 24 * HOUR);
  await api.must("rollback", change_id);
  const final = await outcome();
  expect(final).toMatchObject({ state: "final", verdict: "met", measured: [measured], later: null });
  expect(final.words).toMatch(
    /^Measured against users without it: deal_win_rate is at most \S+ better and at most \S+ worse\.$/,
  );
  await rebuild(api.deps);
  expect(await outcome()).toEqual(final);
});

test("a change that the rule rolls back has regressed, before any horizon", async () => {
  const { passHours, feedNow, outcome } = await openRolloutInBadWeek();
  passHours(1);
  // Half as many successes among the users with the change as among the others.
  await feedNow({ kpi: KPI, step: 0, ...totals(100_000, STAGES.steps[0]!.share, [0.1, 0.2]) });
  const final = await outcome();
  expect(final).toMatchObject({ state: "final", ended_by: "rollback", verdict: "regressed", basis: "measurement" });
  expect(final.words).toContain("at least");
});
