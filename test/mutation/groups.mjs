/** Sources that are mutated, each group with the tests that judge them. Tests of random inputs, the slowest ones, run last. */
export const GROUPS = {
  rules: {
    sources: "lib/changes/rules/",
    tests: [
      "test/lib/changes/rules/**/*.test.ts",
      "test/lib/changes/{apply_when,break_glass,closing,late_note,permissions,seen,value_limits}.test.ts",
      "test/lib/changes/rollouts/rollout.test.ts",
      "test/handlers/gate.test.ts",
    ],
    last: "consent_model",
  },
  verifier: {
    sources: "local/verify/",
    tests: ["test/local/verify/{automation,forged,fuzz,owners}.host.test.ts", "test/local/verify.host.test.ts"],
    last: "fuzz",
    env: { FUZZ_INPUTS: "60" },
  },
};
