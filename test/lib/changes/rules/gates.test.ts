/** The gates of a change: conditions that pass, warn about or block its apply. */
import { expect, test } from "vitest";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import { type GateInput, listGates } from "../../../../lib/changes/rules/gates.ts";
import { makeIntent } from "../../../support/intents.ts";

const AT = "2026-01-02T00:00:00.000Z";
const APPROVAL = { approver: "ana", note: "", at: AT };
const EMERGENCY_POLICY = {
  approvers: ["ana", "bo"],
  break_glass: { approvers: ["oncall"], required: 1, review_hours: 1 },
};
const EMERGENCY = {
  status: "approved",
  approvals: [{ approver: "oncall", note: "", at: AT, emergency: true }],
  review: { due_at: "2026-01-03T00:00:00.000Z", verdict: null },
};

const createChange = (overrides: object = {}): Change =>
  ({
    change_id: "chg_1",
    status: "approved",
    tier: "standard",
    tenant_id: "t1",
    kind: "config",
    target: "ui.banner",
    proposer: "pat",
    reversible: true,
    required_approvers: 1,
    approvals: [APPROVAL],
    ...overrides,
  }) as unknown as Change;

/** Lists the gates as "name state". */
const listGateStates = (change: object, policy: object = {}, input: Partial<GateInput> = {}): string[] =>
  findGates(change, policy, input).map(({ gate, state }) => `${gate} ${state}`);

const findGates = (change: object, policy: object, input: Partial<GateInput> = {}) =>
  listGates(createChange(change), { intent: makeIntent({ policy }).intent, conflicts: [], holds: [], ...input });

const PASSES = ["consent pass", "forbidden_target pass"];

test.each<[title: string, change: object, policy: object, input: Partial<GateInput>, expected: string[]]>([
  ["an approved change passes", {}, {}, {}, PASSES],
  [
    "a pending change lacks a consent",
    { status: "pending_consent", approvals: [] },
    {},
    {},
    ["consent block", "forbidden_target pass"],
  ],
  [
    "a quorum that was raised after the proposal blocks",
    {},
    { required_approvers: { standard: 2 } },
    {},
    ["consent block", "forbidden_target pass"],
  ],
  [
    "an owner's consent is missing",
    {},
    { owners: [{ targets: ["ui.*"], approvers: ["bo"], required: 1 }] },
    {},
    ["consent pass", "owners block", "forbidden_target pass"],
  ],
  ["a forbidden target blocks", {}, { forbidden_targets: ["ui.*"] }, {}, ["consent pass", "forbidden_target block"]],
  ["a deadline blocks", {}, {}, { overdue: "too late" }, ["consent pass", "deadline block", "forbidden_target pass"]],
  ["a value that is not allowed blocks", {}, {}, { not_allowed: "too large" }, [...PASSES, "value_not_allowed block"]],
  ["other open changes of the target warn", {}, {}, { conflicts: ["chg_2"] }, [...PASSES, "target_conflict warn"]],
  [
    "another change in force on the target blocks if the policy says so",
    {},
    { on_stale: "block" },
    { changesInForce: { before: null, now: "chg_2" } },
    [...PASSES, "target_moved block"],
  ],
  [
    "another change in force on the target warns",
    {},
    {},
    { changesInForce: { before: null, now: "chg_2" } },
    [...PASSES, "target_moved warn"],
  ],
  ["the same change in force is no gate", {}, {}, { changesInForce: { before: "chg_2", now: "chg_2" } }, PASSES],
  [
    "a stopped automation warns",
    { automation_stopped: { at: AT, reason: "late" } },
    {},
    {},
    [...PASSES, "automation_stopped warn"],
  ],
  ["an irreversible change warns", { reversible: false }, {}, {}, [...PASSES, "reversible warn"]],
  [
    "a hold blocks",
    {},
    {},
    { holds: [{ gate: "freeze", code: "frozen", message: "m", details: {} }] },
    [...PASSES, "freeze block"],
  ],
  [
    "a hold only warns an emergency, whose review is due",
    EMERGENCY,
    EMERGENCY_POLICY,
    { holds: [{ gate: "freeze", code: "frozen", message: "m", details: {} }] },
    [...PASSES, "freeze warn", "review warn"],
  ],
  ["an operation blocks", {}, {}, { operation: "running" }, [...PASSES, "operation block"]],
  ["an unresolved operation blocks", {}, {}, { operation: "unresolved" }, [...PASSES, "operation block"]],
  [
    "an operation of another change blocks",
    {},
    {},
    { other_operation: { change_id: "chg_2", state: "running" } },
    [...PASSES, "operation block"],
  ],
  ["permissions of the apply pass", {}, { permissions: { apply: ["bo"] } }, {}, [...PASSES, "permission pass"]],
  ["an applied change has no gate of its consents", { status: "applied", reversible: false }, {}, {}, []],
  [
    "permissions of the rollback pass",
    { status: "applied" },
    { permissions: { rollback: ["bo"] } },
    {},
    ["permission pass"],
  ],
  ["a denied change has no permission gate", { status: "denied" }, { permissions: { apply: ["bo"] } }, {}, []],
  [
    "a tripped guardrail warns",
    { status: "applied" },
    {},
    { guardrail: { kpi: "csat", regression: 2, max_regression: 1 } as GateInput["guardrail"] },
    ["guardrail warn"],
  ],
])("%s", (_, change, policy, input, expected) => {
  expect(listGateStates(change, policy, input)).toEqual(expected);
});

const findMessage = (gate: string, ...input: Parameters<typeof findGates>): string =>
  findGates(...input).find((found) => found.gate === gate)!.message;

test("the consent gate counts consents, and explains why none is missing", () => {
  expect(findMessage("consent", {}, {})).toBe("1 of 1 consent");
  expect(findMessage("consent", {}, { required_approvers: { standard: 2 } })).toBe("1 of 2 consents");
  expect(findMessage("consent", EMERGENCY, EMERGENCY_POLICY)).toContain("emergency");
  expect(
    findMessage("consent", { tier: "minor", approvals: [], required_approvers: 0 }, { minor: { kinds: ["config"] } }),
  ).toContain("minor");
});

test("a rule that too few people can meet names the people who may end the change", () => {
  // Ana has approved, and pat, the proposer, may not: nobody is left for the second consent.
  const policy = { approvers: ["ana", "pat"], required_approvers: { standard: 2 }, self_approval: false };
  expect(findMessage("consent", {}, policy)).toMatch(/1 of 2 consents; .*ana may revoke it/);
  // Bo can still meet this rule.
  const owners = { ...policy, owners: [{ targets: ["ui.*"], approvers: ["bo"], required: 1 }] };
  expect(findMessage("owners", {}, owners)).not.toContain("may revoke");
});

test("the message of a review that no person may complete says so", () => {
  const policy = { ...EMERGENCY_POLICY, approvers: ["ana"] };
  expect(findMessage("review", EMERGENCY, policy)).not.toContain("nobody");
  // Nobody reviews an emergency consent of their own, and now ana gave one too.
  const approvals = [...EMERGENCY.approvals, { ...APPROVAL, emergency: true }];
  expect(findMessage("review", { ...EMERGENCY, approvals }, policy)).toContain("nobody");
});

test("an unresolved operation names the targets of a plan", () => {
  const unresolved_targets = ["ui.banner", "ui.footer"];
  expect(findMessage("operation", {}, {}, { operation: "unresolved", unresolved_targets })).toContain(
    "ui.banner, ui.footer",
  );
});
