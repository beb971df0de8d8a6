/** Sources that are mutated, each group with the tests that judge it. */
export const GROUPS = {
  rules: { sources: "lib/changes/rules/", tests: ["test/lib/changes/rules/**/*.test.ts"], env: { HISTORIES: "1-8" } },
  verifier: {
    sources: "local/verify/",
    tests: ["test/local/verify/{forged,fuzz}.host.test.ts"],
    env: { FUZZ_INPUTS: "60" },
  },
};
