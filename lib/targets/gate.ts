/** A gate: other tools ask whether a release is consented to, and nothing is set. */
import type { ProductAdapter } from "../changes/operations/adapter_port.ts";
import { type GithubGate, MIN_HOOK_SECRET_LENGTH } from "../github/gate.ts";
import { describeReleaseProblem } from "../changes/rules/release.ts";

const never = (): never => {
  throw new Error("a gate carries nothing");
};

/**
 * Creates the adapter of a gate: its changes are recorded only. `github`: the App that asks for its deployments. Throws where its
 * secret is short.
 */
export function gateAdapter(name: string, github?: GithubGate): ProductAdapter {
  if (github && github.secret.length < MIN_HOOK_SECRET_LENGTH)
    throw new Error(`the secret of the GitHub App of ${name} must have ${MIN_HOOK_SECRET_LENGTH} characters or more`);
  return {
    name,
    githubGates: github && [github],
    carries: () => false,
    isGate: () => true,
    check: ({ target, value }) => describeReleaseProblem(target, value),
    validate: never,
    apply: never,
    verify: never,
    rollback: never,
  };
}
