/**
 * Groups of mutated sources with their tests. `last` is a part of the name of the slowest test, which runs last. `minScore` is the
 * percentage of mutants that the tests must detect; with 0 the score is only printed. `env` has variables of the tests.
 */
export const GROUPS = {
  rules: {
    sources: "lib/changes/rules/",
    minScore: 85,
    tests: [
      "test/lib/changes/rules/**/*.test.ts",
      "test/lib/changes/{apply_when,break_glass,final_outcomes,freeze,guardrail,idp_groups,late_note}.test.ts",
      "test/lib/changes/{offers,owners,permissions,preview_proposal,promotion,restricted_actions,revoke}.test.ts",
      "test/lib/changes/{signed_consent,unstated_fields,value_limits}.test.ts",
      "test/lib/changes/{gate,operations,plans,rollouts}/*.test.ts",
      "test/lib/changes/mandates/{mandates,state_from_log}.test.ts",
      "test/handlers/{gate,gate_check,inbox}.test.ts",
    ],
    last: "consent_model",
  },
  github: {
    sources: "lib/github/",
    minScore: 85,
    tests: ["test/lib/github/*.test.ts", "test/lib/operations/github/*.test.ts"],
    last: "random_scenarios",
  },
  verifier: {
    sources: "local/verify/",
    minScore: 85,
    tests: [
      "test/local/verify/{automation,forged,fuzz,mandate_certificates,mandate_forgeries,mandates,owners,plans,rollouts}.host.test.ts",
      "test/local/verify/*_{consents,folds,rules}.test.ts",
      "test/local/verify/{lost_consents,places}.long.test.ts",
      "test/local/{verify,verify_proofs}.host.test.ts",
      "test/local/{certificate,verify_losses}.long.test.ts",
    ],
    last: "fuzz",
    env: { FUZZ_INPUTS: "60" },
  },
  audit: {
    sources: "lib/audit/",
    minScore: 0,
    tests: ["test/lib/audit/**/*.test.ts"],
    last: "fuzz",
  },
  engine: {
    sources: "lib/store/engine/",
    minScore: 0,
    tests: ["test/lib/store/{engine,dynamodb,postgres,move}/**/*.test.ts", "test/lib/store/*.test.ts"],
    last: "contract.long",
  },
};
