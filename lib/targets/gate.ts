/** A gate: other tools ask whether a release is consented to, and nothing is set. */
import type { ProductAdapter } from "../changes/operations/adapter_port.ts";
import type { GithubGate } from "../github/gate.ts";
import { describeReleaseProblem } from "../changes/rules/release.ts";

const never = (): never => {
  throw new Error("a gate carries nothing");
};

/** Creates the adapter of a gate: its changes are recorded only. `github`: the App that asks for its deployments. */
export const gateAdapter = (name: string, github?: GithubGate): ProductAdapter => ({
  name,
  githubGates: github && [github],
  carries: () => false,
  isGate: () => true,
  check: ({ target, value }) => describeReleaseProblem(target, value),
  validate: never,
  apply: never,
  verify: never,
  rollback: never,
});
