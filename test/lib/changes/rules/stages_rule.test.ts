/** Rollouts that an intent allows, and rollouts that replace guardrails. */
import { expect, test } from "vitest";
import { hasRolloutBounds, findStagesProblem, isGuardrailReplaced } from "../../../../lib/changes/rules/stages_rule.ts";
import { requireStages } from "../../../../lib/changes/rules/require_stages.ts";
import type { Stages } from "../../../../lib/rollout/stages.ts";
import { makeIntent } from "../../../support/intents.ts";

const principals = {
  ana: { kind: "person" },
  "agent:a": { kind: "agent", token_sha256: "a".repeat(64) },
  "agent:b": { kind: "agent", token_sha256: "b".repeat(64) },
};
const BASE = { policy: { signed_only: false }, principals };
const readRule = (stages: object) => makeIntent({ ...BASE, policy: { ...BASE.policy, stages } }).intent.policy.stages;
const makeStages = (overrides: object = {}): Stages =>
  ({
    fed_by: "agent:a",
    watch: [
      { kpi: "conversion", allowed: 0.01 },
      { kpi: "latency", allowed: { relative: 0.1 } },
    ],
    ...overrides,
  }) as Stages;
const change = (overrides: object = {}) => ({
  tenant_id: "t1",
  target: "ui.a",
  value: 1,
  stages: makeStages(),
  ...overrides,
});

test.each<[stagesPolicy: object, change: object, problem: string | undefined]>([
  [{}, {}, undefined],
  [{ targets: ["ui.*"] }, {}, undefined],
  [{ targets: ["price.*", "limits.*"] }, {}, "policy.stages allows rollouts only of price.*, limits.*"],
  [{ watch: ["latency"] }, {}, undefined],
  [{ watch: ["latency", "csat"] }, {}, "must watch csat, as policy.stages asks"],
  // Names are compared without case.
  [{ fed_by: ["Agent:A"] }, {}, undefined],
  [{ fed_by: ["agent:b"] }, {}, "must be fed by one of agent:b, as policy.stages asks"],
  [{ max_allowed: { conversion: 0.01, latency: { relative: 0.1 }, csat: 0 } }, {}, undefined],
  [{ max_allowed: { conversion: 0.009 } }, {}, "allows conversion more than policy.stages.max_allowed"],
  [{ max_allowed: { latency: { relative: 0.09 } } }, {}, "allows latency more than policy.stages.max_allowed"],
  [
    { max_allowed: { latency: 0.1 } },
    {},
    "must allow latency a loss of the kind that policy.stages.max_allowed states",
  ],
  [{ targets: ["price.*"] }, { stages: undefined }, undefined],
])("the problem of a rollout under %j with %j: %s", (stages, overrides, problem) => {
  expect(findStagesProblem(change(overrides), readRule(stages))).toBe(problem);
  expect(findStagesProblem(change(overrides), undefined)).toBeUndefined();
});

const INCIDENT_RATE = { kpi: "incident_rate", allowed: 0, good: "down" };

test.each<[change: object, problem: string | undefined]>([
  [{}, undefined],
  [{ proposer: "agent:b" }, undefined],
  [{ value: undefined }, "need a value that users can get"],
  [{ stages: makeStages({ fed_by: "ana" }) }, "must be fed by an agent of the intent, and ana is none"],
  [{ stages: makeStages({ fed_by: "agent:c" }) }, "must be fed by an agent of the intent, and agent:c is none"],
  [{ proposer: "Agent:A" }, "must not be fed by the proposer of the change"],
  [{ stages: makeStages({ watch: [{ kpi: "conversion", allowed: 0, good: "up" }, INCIDENT_RATE] }) }, undefined],
  [
    { stages: makeStages({ watch: [{ ...INCIDENT_RATE, good: "up" }] }) },
    "must say good: down of incident_rate, as the intent does",
  ],
  [
    { stages: makeStages({ watch: [{ kpi: "load", allowed: 0, good: "up" }] }) },
    "must say good: down of load, as the intent does",
  ],
  [{ stages: makeStages({ watch: [] }) }, "must watch conversion, as policy.stages asks"],
  [{ stages: undefined, value: undefined }, undefined],
])("the problem of a proposal with %j: %s", (overrides, problem) => {
  const kpis = { load: { baseline: 5, target: 4 } };
  const { intent } = makeIntent({ ...BASE, kpis, policy: { ...BASE.policy, stages: { watch: ["conversion"] } } });
  const check = () => requireStages(change(overrides), intent);
  if (problem === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(`stages ${problem}`);
});

const BOUNDED = { watch: ["conversion"], fed_by: ["agent:a"], max_allowed: { conversion: 0.01 } };

test("a rule bounds rollouts only if it has all fields, and a limit for each watched KPI", () => {
  expect([hasRolloutBounds(undefined), hasRolloutBounds(readRule({})), hasRolloutBounds(readRule(BOUNDED))]).toEqual([
    false,
    false,
    true,
  ]);
  for (const field of ["watch", "fed_by", "max_allowed"])
    expect(hasRolloutBounds(readRule({ ...BOUNDED, [field]: undefined })), field).toBe(false);
  // `max_allowed` has no latency.
  expect(hasRolloutBounds(readRule({ ...BOUNDED, watch: ["conversion", "latency"] }))).toBe(false);
});

test.each<[kpi: string, stagesPolicy: object, change: object, isReplaced: boolean]>([
  ["conversion", { ...BOUNDED, replaces_guardrails: true }, {}, true],
  ["conversion", BOUNDED, {}, false],
  ["latency", { ...BOUNDED, replaces_guardrails: true }, {}, false],
  ["conversion", { ...BOUNDED, replaces_guardrails: true }, { stages: makeStages({ watch: [] }) }, false],
  ["conversion", { ...BOUNDED, replaces_guardrails: true }, { stages: undefined }, false],
])("a guardrail on %s under %j is replaced for %j: %s", (kpi, stages, overrides, isReplaced) => {
  expect(isGuardrailReplaced(change(overrides), kpi, readRule(stages))).toBe(isReplaced);
  expect(isGuardrailReplaced(change(overrides), kpi, undefined)).toBe(false);
});
