/** A gate: other tools read whether a release is consented to, and nothing is set. */
import type { ProductAdapter } from "../../lib/changes/operations/adapter_port.ts";

const never = (): never => {
  throw new Error("a gate carries nothing");
};

/** Creates the adapter of a gate: its changes are recorded only. */
export const gateAdapter = (name: string): ProductAdapter => ({
  name,
  carries: () => false,
  validate: never,
  apply: never,
  verify: never,
  rollback: never,
});
