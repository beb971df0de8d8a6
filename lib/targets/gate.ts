/** The adapter of a release gate: other tools ask whether people consented to a release, and nothing is set on a target system. */
import type { ProductAdapter } from "../changes/operations/adapter_port.ts";
import { type GithubGate, MIN_HOOK_SECRET_LENGTH } from "../github/gate.ts";
import { findReleaseProblem } from "../changes/rules/release.ts";

const rejectOperation = (): never => {
  throw new Error("a gate carries nothing");
};

/**
 * Creates the adapter of a gate, whose changes are only recorded. `github`: the App that asks about deployments. Throws if the
 * App's secret is too short.
 */
export function gateAdapter(name: string, github?: GithubGate): ProductAdapter {
  if (github && github.secret.length < MIN_HOOK_SECRET_LENGTH)
    throw new Error(`the secret of the GitHub App of ${name} must have ${MIN_HOOK_SECRET_LENGTH} characters or more`);
  return {
    name,
    githubGates: github && [github],
    carries: () => false,
    isGate: () => true,
    check: ({ target, value }) => findReleaseProblem(target, value),
    validate: rejectOperation,
    apply: rejectOperation,
    verify: rejectOperation,
    rollback: rejectOperation,
  };
}
