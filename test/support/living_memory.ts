/** Systems in memory for the lives of plans. */
import { memoryTarget } from "./memory_target.ts";
import { type LivingSystem, openFaulty } from "./plan_lives.ts";

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

/** Five systems, of which two set several values in turn. */
export const livingSystems = (): LivingSystem[] => [..."abcde"].map((name, index) => memorySystem(name, index > 2));
