/** Plans on systems in memory, with a fault at a random step. `runPlanScenarios` has the assertions on targets and records. */
import { expect, test } from "vitest";
import { judge } from "../../../local/verify/judge_export.ts";
import { rounds } from "../../../support/run_length.ts";
import { memoryScenarioSystems } from "../../../support/memory_scenarios.ts";
import { runPlanScenarios } from "../../../support/plan_scenarios.ts";

test("after a fault at any step a plan is applied completely or not at all", { timeout: 300_000 }, async () => {
  const lastSeed = rounds(8, 40, 400);
  const counts = await runPlanScenarios(memoryScenarioSystems(), [1, lastSeed]);
  // Plans that were applied, or not, despite the fault: both must occur.
  expect(counts.applied).toBeGreaterThan(rounds(0, 3, 3));
  expect(counts.rolledBack).toBeGreaterThan(3);
  for (const text of counts.exports) expect(await judge(text)).toEqual([]);
});
