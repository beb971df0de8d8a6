/** Tests the verifier's own rules: the stages of a rollout in a content, the targets of a plan by its entries, and owners. */
import { expect, test } from "vitest";
import type { Finding } from "../../../local/verify/chain.ts";
import { createOwnerCheck } from "../../../local/verify/owners.ts";
import { readPlan } from "../../../local/verify/rollout_plan.ts";
import { createPlanCheck, readTargets } from "../../../local/verify/plan_targets.ts";

const STEP = { share: 100, advance: "proven", min_hours: 1 };
const WATCHED = { kpi: "csat", kind: "binary", good: "up", allowed: 0.1 };
const RATIO = { ...WATCHED, kind: "ratio", bounds: [0, 1], per_bounds: [1, 2] };
const plan = (over: object): object => ({ steps: [STEP], watch: [WATCHED], max_silent_hours: 48, ...over });
const step = (over: object): object => plan({ steps: [STEP, { ...STEP, ...over }] });
const watch = (over: object, base: object = WATCHED): object => plan({ watch: [WATCHED, { ...base, ...over }] });

test.each<[rollout: string, stages: unknown, isPlan: boolean]>([
  ["one step", plan({}), true],
  ["no object", null, false],
  ["no steps", plan({ steps: [] }), false],
  ["steps that are no list", plan({ steps: STEP }), false],
  ["nothing watched", plan({ watch: [] }), false],
  ["hours that are no number", plan({ max_silent_hours: "48" }), false],
  ["a step that is not an object", plan({ steps: [STEP, 5] }), false],
  ["a share of 0", step({ share: 0 }), false],
  ["an unknown advance", step({ advance: "now" }), false],
  ["an advance by hand", step({ advance: "manual" }), true],
  ["infinite hours", step({ min_hours: Infinity }), false],
  ["two users", step({ min_users: 2 }), true],
  ["one user", step({ min_users: 1 }), false],
  ["a KPI without a name", watch({ kpi: undefined }), false],
  ["a KPI that is not an object", plan({ watch: [5] }), false],
  ["a KPI of an unknown kind", watch({ kind: "median" }), false],
  ["a KPI of an unknown direction", watch({ good: "left" }), false],
  ["a relative loss", watch({ allowed: { relative: 0.1 } }), true],
  ["a relative loss that is not a number", watch({ allowed: { relative: "0.1" } }), false],
  ["a loss of null", watch({ allowed: null }), false],
  ["a mean without bounds", watch({ kind: "mean" }), false],
  ["a mean with bounds", watch({ kind: "mean", bounds: [-1, 1] }), true],
  ["bounds of one number", watch({ kind: "mean", bounds: [1] }), false],
  ["bounds of three numbers", watch({ kind: "mean", bounds: [1, 2, 3] }), false],
  ["bounds that are no list", watch({ kind: "mean", bounds: { 0: 1, 1: 2, length: 2 } }), false],
  ["bounds of one point", watch({ kind: "mean", bounds: [1, 1] }), false],
  ["bounds whose first is not a number", watch({ kind: "mean", bounds: ["0", 1] }), false],
  ["bounds whose second is not a number", watch({ kind: "mean", bounds: [0, "1"] }), false],
  ["a ratio", watch({}, RATIO), true],
  ["a ratio without bounds of its divisor", watch({ per_bounds: undefined }, RATIO), false],
  ["a ratio whose divisor may be 0", watch({ per_bounds: [0, 2] }, RATIO), false],
  ["a ratio whose divisor may be negative", watch({ per_bounds: [-1, 2] }, RATIO), false],
])("a rollout with %s is read, or not", (_, stages, isPlan) => {
  expect(readPlan(stages)).toBe(isPlan ? stages : undefined);
});

type Target = Record<string, unknown>;
const [A, B, C] = ["a", "b", "c"].map((target) => ({ tenant_id: "t1", target })) as never as [Target, Target, Target];

// A plan has two targets unless `least` says otherwise. A key is the target and its tenant.
test.each<[what: string, sets: unknown, keys: readonly string[] | undefined, least?: number]>([
  ["two", [A, B], ["a\nt1", "b\nt1"]],
  ["one of two tenants", [A, { ...A, tenant_id: "t2" }], ["a\nt1", "a\nt2"]],
  // Only A to Z are compared without case, and only in targets.
  ["in capitals", [{ tenant_id: "T1", target: "A.ÄZ" }, B], ["a.Äz\nT1", "b\nt1"]],
  ["one", [A], undefined],
  ["one where one is enough", [A], ["a\nt1"], 1],
  ["none where none is enough", [], [], 0],
  ["one twice", [A, { ...A, target: "A" }], undefined],
  ["an entry that is not an object", [A, 5], undefined],
  ["one without a tenant", [A, { target: "b" }], undefined],
  ["one without a target", [A, { tenant_id: "t1" }], undefined],
  ["no list", { length: 2 }, undefined],
])("targets: %s", (_, sets, keys, least) => {
  expect(readTargets(sets, least)).toEqual(keys);
});

type Step = readonly [event: string, detail?: Target, change?: string];
const entryOf = ([eventType, detail = {}, changeId = "c1"]: Step, at: number) =>
  ({ id: at + 1, eventType, changeId, tenant: "t1", detail: JSON.stringify(detail) }) as never;

/** Returns the id of the first entry in which a check finds a fault, and the message; undefined if there is none. */
function find(check: (entry: never, line: number) => Finding | undefined, steps: readonly Step[]) {
  for (const [at, one] of steps.entries()) {
    const finding = check(entryOf(one, at), at + 11);
    if (finding) {
      // Lines are numbered from 11, so that they differ from the ids.
      expect(finding).toMatchObject({ line: at + 11, entry: at + 1, rule: "form" });
      return [at + 1, finding.message];
    }
  }
  return undefined;
}

const NO_TARGETS = "its sets is not a valid list of targets of its plan";
// From the worst state to the best: unknown, applied, absent, rolled_back.
const OTHER_STATE = "its host is not the worst state of its targets";
const NOT_HELD = "it rolls back a target of its plan that is not applied";
const STILL_HELD = "after its rollback a target of its plan is still applied";
const proposed: Step = ["change_proposed", { sets: [A, B] }];
const applied: Step = ["change_applied", { sets: [B, A] }];
const on = (target: Target, host: string, over: Target = {}): Target => ({ ...target, host, ...over });
const failed = (event: string, sets: unknown, host: string): Step => [`change_${event}_failed`, { sets, host }];
/** A target that was rolled back; no other change is in force on it now. */
const taken = { target_holds: null };

test.each<[plan: string, steps: Step[], found: unknown]>([
  ["applied and rolled back", [proposed, applied, ["change_rolled_back", { sets: [A, B] }]], undefined],
  ["of one target", [["change_proposed", { sets: [A] }]], [1, NO_TARGETS]],
  ["that was never proposed", [["change_applied", { sets: [A, B] }]], [1, "it has sets, but its change is not a plan"]],
  ["whose entries have no sets", [["change_proposed"], ["change_applied"], ["change_rolled_back"]], undefined],
  ["decided on", [proposed, ["consent_decision", { sets: 5 }]], undefined],
  ["of another change", [proposed, ["change_applied", {}, "c2"]], undefined],
  ["applied without targets", [proposed, ["change_applied"]], [2, NO_TARGETS]],
  [
    "applied to one",
    [proposed, ["change_applied", { sets: [A] }]],
    [2, "the targets in its sets are not those of its plan"],
  ],
  [
    "applied to another",
    [proposed, ["change_applied", { sets: [A, C] }]],
    [2, "the targets in its sets are not those of its plan"],
  ],
  ["that drifted", [proposed, applied, ["change_drifted", { sets: [A] }]], undefined],
  ["that drifted elsewhere", [proposed, applied, ["change_drifted", { sets: [A, C] }]], [3, NO_TARGETS]],
  [
    "that drifted twice",
    [proposed, applied, ["change_drifted", { sets: [A] }], ["change_drifted", { sets: [A] }]],
    undefined,
  ],
  ["that drifted nowhere", [proposed, applied, ["change_drifted"]], [3, NO_TARGETS]],
  [
    "restored",
    [proposed, applied, ["value_restored", { sets: [B] }], ["change_rolled_back", { sets: [A, B] }]],
    undefined,
  ],
  ["restored nowhere", [proposed, applied, ["value_restored"]], [3, NO_TARGETS]],
  ["rolled back in part", [proposed, applied, ["change_rolled_back", { sets: [A] }]], [3, STILL_HELD]],
  ["rolled back elsewhere", [proposed, applied, ["change_rolled_back", { sets: [A, C] }]], [3, NOT_HELD]],
  ["rolled back before its apply", [proposed, ["change_rolled_back", { sets: [A, B] }]], [2, NOT_HELD]],
  ["whose apply failed", [proposed, failed("apply", [on(A, "applied"), on(B, "absent")], "applied")], undefined],
  [
    "whose apply failed unknown",
    [proposed, failed("apply", [on(A, "applied"), on(B, "unknown")], "applied")],
    [2, OTHER_STATE],
  ],
  [
    "whose apply failed better than stated",
    [proposed, failed("apply", [on(A, "rolled_back"), on(B, "absent")], "unknown")],
    [2, OTHER_STATE],
  ],
  ["whose apply failed elsewhere", [proposed, failed("apply", [on(C, "absent")], "absent")], [2, NO_TARGETS]],
  ["whose apply failed before any target", [proposed, failed("apply", undefined, "absent")], undefined],
  [
    "whose rollback failed",
    [
      proposed,
      applied,
      failed("rollback", [on(A, "absent", taken), on(B, "applied")], "applied"),
      ["change_rolled_back", { sets: [B] }],
    ],
    undefined,
  ],
  [
    "whose rollback failed, and of all",
    [
      proposed,
      applied,
      failed("rollback", [on(A, "absent", taken), on(B, "applied")], "applied"),
      ["change_rolled_back", { sets: [A, B] }],
    ],
    [4, NOT_HELD],
  ],
  [
    "whose rollback failed twice",
    [
      proposed,
      applied,
      failed("rollback", [on(A, "absent", taken)], "absent"),
      failed("rollback", [on(A, "absent", taken)], "absent"),
    ],
    [4, NOT_HELD],
  ],
  [
    "whose rollback failed before any target",
    [proposed, applied, failed("rollback", undefined, "applied"), ["change_rolled_back", { sets: [A, B] }]],
    undefined,
  ],
])("a plan %s", (_, steps, expected) => {
  expect(find(createPlanCheck().check, steps)).toEqual(expected);
});

test.each<[which: string, steps: Step[], content: Target, isSame: boolean]>([
  ["with the targets of its plan", [proposed], { sets: [A, B] }, true],
  ["with the targets of its plan in another order", [proposed], { sets: [B, A] }, false],
  ["without targets, of a plan", [proposed], {}, false],
  ["with targets, of an unknown change", [], { sets: [A, B] }, false],
  ["with targets that are no list, of another change", [["change_proposed"]], { sets: 5 }, false],
  ["without targets, of a change that is no plan", [["change_proposed"]], {}, true],
  ["with targets, of a change that is no plan", [["change_proposed"]], { sets: [A, B] }, false],
  ["of one target", [proposed], { sets: [A] }, false],
])("a content %s matches the entry of its proposal, or not", (_, steps, content, isSame) => {
  const { check, addContent } = createPlanCheck();
  for (const [at, one] of steps.entries()) check(entryOf(one, at), at);
  expect(addContent("c1", content)).toBe(isSame ? undefined : "the targets in its sets are not those of its content");
});

const NOT_OWNER = "it restores the value of a change that is not in force on its target";
// `target_held` is the change in force on the target before an apply, `target_holds` the one after a rollback.
const own = (event: string, detail: Target = {}, change = "c1"): Step => [event, { target: "a", ...detail }, change];
const restored = (change = "c1", detail: Target = {}): Step => own("value_restored", detail, change);

test.each<[what: string, steps: Step[], found: unknown]>([
  ["the owner", [own("change_applied"), restored()], undefined],
  ["what was never applied", [restored()], [1, NOT_OWNER]],
  ["an owner elsewhere", [own("change_applied"), restored("c1", { target: "b" })], [2, NOT_OWNER]],
  ["an owner, in capitals", [own("change_applied"), restored("c1", { target: "A" })], undefined],
  [
    "what another replaced",
    [own("change_applied"), own("change_applied", { target_held: "c1" }, "c2"), restored()],
    [3, NOT_OWNER],
  ],
  [
    "what replaced another",
    [own("change_applied"), own("change_applied", { target_held: "c1" }, "c2"), restored("c2")],
    undefined,
  ],
  ["what was rolled back", [own("change_applied"), own("change_rolled_back"), restored()], [3, NOT_OWNER]],
  [
    "what a rollback uncovered",
    [
      own("change_applied"),
      own("change_applied", { target_held: "c1" }, "c2"),
      own("change_rolled_back", { target_holds: "c1" }, "c2"),
      restored(),
    ],
    undefined,
  ],
  ["what a failed rollback left", [own("change_applied"), own("change_rollback_failed"), restored()], undefined],
  [
    "what a failed rollback took back",
    [own("change_applied"), own("change_rollback_failed", { target_holds: null }), restored()],
    [3, NOT_OWNER],
  ],
  [
    "one target of a plan",
    [
      ["change_applied", { sets: [A, B] }],
      ["value_restored", { sets: [B] }],
    ],
    undefined,
  ],
  [
    "a target that a plan left",
    [
      ["change_applied", { sets: [A, B] }],
      own("change_applied", { target_held: "c1" }, "c2"),
      ["value_restored", { sets: [A, B] }],
    ],
    [3, NOT_OWNER],
  ],
  [
    "the target that a plan kept",
    [
      // An entry of `sets` that is no object is skipped.
      ["change_applied", { sets: [A, B, null] }],
      own("change_applied", { target_held: "c1" }, "c2"),
      ["value_restored", { sets: [B] }],
    ],
    undefined,
  ],
])("a restore of %s is valid, or not", (_, steps, expected) => {
  expect(find(createOwnerCheck(), steps)).toEqual(expected);
});
