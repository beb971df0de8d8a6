/** Sources that are mutated, each group with the tests that judge them. Tests of random inputs, the slowest ones, run last. */
export const GROUPS = {
  rules: {
    sources: "lib/changes/rules/",
    tests: [
      "test/lib/changes/rules/**/*.test.ts",
      "test/lib/changes/{apply_when,break_glass,closing,late_note,permissions,seen,value_limits}.test.ts",
      "test/lib/changes/rollouts/rollout.test.ts",
      "test/lib/changes/mandates/mandates.test.ts",
      "test/handlers/gate.test.ts",
    ],
    last: "consent_model",
  },
  github: {
    sources: "lib/github/",
    tests: ["test/lib/github/*.test.ts", "test/lib/operations/github/*.test.ts"],
    last: "lives",
  },
  verifier: {
    sources: "local/verify/",
    tests: [
      "test/local/verify/{automation,forged,fuzz,mandate_certificates,mandate_forgeries,mandates,owners,plans,rollouts}.host.test.ts",
      "test/local/verify/*_{consents,folds,rules}.test.ts",
      "test/local/verify.host.test.ts",
    ],
    last: "fuzz",
    env: { FUZZ_INPUTS: "60" },
  },
};
