/** Plans over systems in memory, with a fault at a random step: each ends all set, or all as before. */
import { expect, test } from "vitest";
import { rounds } from "../../../support/length.ts";
import { memoryTarget } from "../../../support/memory_target.ts";
import { type LivingSystem, openFaulty, runPlanLives } from "../../../support/plan_lives.ts";

/** A system in memory; `oneByOne`: it sets several values in turn. */
function memorySystem(name: string, oneByOne = false): LivingSystem {
  const { system, raw, overwrite } = memoryTarget();
  const { setMany: _, ...single } = system;
  const entry = (key: string) => ({ tenant_id: "t1", target: `${name}/${key}`, kind: "config" }) as const;
  return {
    name,
    open: (store, clock, faults) => openFaulty({ ...(oneByOne ? single : system), name }, store, clock, faults),
    value: (number) => ({ number }),
    prepare: async (key) => overwrite(entry(key), '{ "old": 1.50 }'),
    content: async (key) => raw(entry(key)) ?? "nothing",
  };
}

test("a plan ends all set or all as before, whatever fails at which step", { timeout: 300_000 }, async () => {
  const systems = [..."abcde"].map((name, index) => memorySystem(name, index > 2));
  const figures = await runPlanLives(systems, [1, rounds(8, 40, 400)]);
  expect(figures.applied).toBeGreaterThan(rounds(0, 3, 3));
  expect(figures.takenBack).toBeGreaterThan(3);
});
