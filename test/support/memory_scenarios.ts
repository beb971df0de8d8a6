/** Target systems in memory for the random scenarios of plans. */
import { memoryTarget } from "./memory_target.ts";
import { type ScenarioSystem, openFaulty } from "./plan_scenarios.ts";

/** Makes a system in memory; with `oneByOne` it sets several values one after another. */
function memorySystem(name: string, oneByOne = false): ScenarioSystem {
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

/** Returns five systems, two of which set several values one after another. */
export const memoryScenarioSystems = (): ScenarioSystem[] =>
  [..."abcde"].map((name, index) => memorySystem(name, index > 2));
