/** The decision on a release, from the changes of its target. */
import { expect, test } from "vitest";
import { AppError } from "../../../../lib/kit/errors.ts";
import {
  decideGate,
  type GateDecision,
  type GateFacts,
  type Release,
} from "../../../../lib/changes/rules/decide_gate.ts";

const HEAD = "a".repeat(40);
const OTHER_HEAD = "b".repeat(40);

const createRelease = (
  change_id: string,
  overrides: Partial<Release> & { status?: string; resolution?: string } = {},
) => {
  const { status = "approved", resolution = null, ...release } = overrides;
  return {
    change: { change_id, status, resolution },
    head: HEAD,
    lastConsentEntry: 1,
    ...release,
  } as unknown as Release;
};

const decide = (facts: Partial<GateFacts>): GateDecision =>
  decideGate({
    head: HEAD,
    lastConsented: undefined,
    changeInForce: null,
    obstacle: undefined,
    pending: undefined,
    otherRelease: undefined,
    ...facts,
  });

const lastConsented = createRelease("chg_1");
const applied = createRelease("chg_1", { status: "applied" });
const pending = { release: createRelease("chg_2", { status: "pending_consent" }), overdue: undefined, missing: [] };
const missing = { rule: "required_approvers", count: 1, of: [] };
/** Creates an obstacle with the message "no". */
const createObstacle = (code: ConstructorParameters<typeof AppError>[0], details = {}) =>
  new AppError(code, "no", details);

test.each<
  [
    title: string,
    facts: Partial<GateFacts>,
    state: GateDecision["state"],
    change_id: string | null,
    /** A part of the only reason. */
    reason?: string,
  ]
>([
  ["an approved change allows its head", { lastConsented }, "allowed", "chg_1"],
  [
    "an applied change in force allows its head",
    { lastConsented: applied, changeInForce: "chg_1" },
    "allowed",
    "chg_1",
  ],
  [
    "an applied change that is no longer in force is a rejection",
    { lastConsented: applied, changeInForce: "chg_9" },
    "refused",
    "chg_1",
    "chg_9",
  ],
  [
    "an applied change of a target without a change in force is a rejection",
    { lastConsented: applied },
    "refused",
    "chg_1",
    "no change",
  ],
  ["a target without changes is a rejection", {}, "refused", null, "propose one"],
  [
    "a record that is not trusted waits, whatever its head",
    { lastConsented: createRelease("chg_1", { head: OTHER_HEAD, mismatch: "it was edited" }), pending },
    "waiting",
    "chg_1",
    "it was edited",
  ],
  ["a closed window waits", { lastConsented, obstacle: createObstacle("outside_window") }, "waiting", "chg_1", "no"],
  [
    "a lasting obstacle is a rejection",
    { lastConsented, obstacle: createObstacle("forbidden_target") },
    "refused",
    "chg_1",
    "no",
  ],
  [
    "an approved change that lacks consents waits",
    { lastConsented, obstacle: createObstacle("consent_incomplete") },
    "waiting",
    "chg_1",
  ],
  [
    "an applied change that lacks consents waits for a new proposal",
    { lastConsented: applied, changeInForce: "chg_1", obstacle: createObstacle("consent_incomplete") },
    "waiting",
    "chg_1",
    "propose the release again",
  ],
  [
    "an applied change with a lasting obstacle is a rejection",
    { lastConsented: applied, changeInForce: "chg_1", obstacle: createObstacle("forbidden_target") },
    "refused",
    "chg_1",
  ],
  ["a pending change waits", { pending: { ...pending, missing: [missing] } }, "waiting", "chg_2", "1 more consent"],
  ["a pending change with all consents waits", { pending }, "waiting", "chg_2", "chg_2 waits for a consent"],
  ["an overdue change is a rejection", { pending: { ...pending, overdue: "late" } }, "refused", "chg_2", "late"],
  [
    "a pending change with the head comes before a newer change with another head",
    { lastConsented: createRelease("chg_1", { head: OTHER_HEAD }), pending },
    "waiting",
    "chg_2",
  ],
  [
    "a pending change comes before a rejection of the newest",
    { lastConsented, obstacle: createObstacle("forbidden_target"), pending },
    "waiting",
    "chg_2",
  ],
  ["an allowed head needs no pending change", { lastConsented, pending }, "allowed", "chg_1"],
  [
    "a rolled back change is a rejection",
    { otherRelease: createRelease("chg_3", { status: "rolled_back" }) },
    "refused",
    "chg_3",
    "rolled back",
  ],
  [
    "a withdrawn change is a rejection",
    { otherRelease: createRelease("chg_3", { status: "denied", resolution: "withdrawn" }) },
    "refused",
    "chg_3",
    "withdrawn",
  ],
  [
    "the head of a change is rejected if the newest consent is to another head",
    { lastConsented: createRelease("chg_1", { head: OTHER_HEAD }), otherRelease: createRelease("chg_3") },
    "refused",
    "chg_3",
    "chg_1",
  ],
])("%s", (_, facts, state, change_id, reason) => {
  const decision = decide(facts);
  expect(decision).toMatchObject({ state, change_id });
  expect(decision.reasons).toHaveLength(state === "allowed" ? 0 : 1);
  if (reason !== undefined) expect(decision.reasons[0]).toContain(reason);
});

test.each(["operation_in_progress", "rollout_in_progress", "promotion_not_ready"] as const)("%s is temporary", (code) =>
  expect(decide({ lastConsented, obstacle: createObstacle(code) }).state).toBe("waiting"),
);

test("the note of a freeze is left out of the reason, which names who froze and until when", () => {
  const freeze = { actor: "ana", until: null, note: "a secret" };
  const { state, reasons } = decide({ lastConsented, obstacle: createObstacle("frozen", { freeze }) });
  expect(state).toBe("waiting");
  expect(reasons[0]).toContain("ana");
  expect(reasons[0]).not.toContain("secret");
  const until = "2026-01-02T00:00:00.000Z";
  expect(
    decide({ lastConsented, obstacle: createObstacle("frozen", { freeze: { ...freeze, until } }) }).reasons[0],
  ).toContain(until);
});

test("each rule that lacks consents is a reason, with the names that may give them", () => {
  const owners = { rule: "owners ui.*", count: 2, of: ["ana", "bo"] };
  const { reasons } = decide({ pending: { ...pending, missing: [missing, owners] } });
  expect(reasons).toHaveLength(2);
  expect(reasons[0]).toMatch(/1 more consent \(/);
  expect(reasons[1]).toMatch(/2 more consents of ana, bo \(owners ui/);
});
