/** The effect of single events on a change: accepted events, and the fields that they set. */
import { describe, expect, test } from "vitest";
import { evolve } from "../../../../lib/changes/rules/evolve.ts";
import type { ChangeEvent, EventDetail } from "../../../../lib/changes/rules/event.ts";
import type { ChangeState } from "../../../../lib/changes/rules/record.ts";

const AT = "2026-01-02T04:00:00.000Z";
const PROPOSAL: EventDetail = { status: "pending_consent", digest: "d", required_approvers: 1 };
const MINOR: EventDetail = { ...PROPOSAL, tier: "minor", status: "approved" };
const APPROVAL: EventDetail = { decision: "approved", approver: "ana", note: "" };

let nextId = 1;
const createEvent = (event_type: string, detail: EventDetail): ChangeEvent => ({
  id: nextId++,
  timestamp: AT,
  event_type,
  change_id: "chg_1",
  detail,
});

/** Returns the state after events, each of which must be accepted. */
function evolveAll(...events: [event_type: string, detail: EventDetail][]): ChangeState {
  let state: ChangeState | undefined;
  for (const [event_type, detail] of events) {
    const before = state;
    const event = createEvent(event_type, detail);
    state = evolve(before, event);
    expect(state, event_type).toBeDefined();
    expect(state!.change.revision).toBe((before?.change.revision ?? 0) + 1);
    expect(state!.audit).toEqual([...(before?.audit ?? []), event.id]);
  }
  return state!;
}

const isAccepted = (state: ChangeState, event_type: string, detail: EventDetail): boolean =>
  evolve(state, createEvent(event_type, detail)) !== undefined;

const createPending = (detail: EventDetail = PROPOSAL) => evolveAll(["change_proposed", detail]);
const createApproved = () => evolveAll(["change_proposed", PROPOSAL], ["consent_decision", APPROVAL]);
const createApplied = () =>
  evolveAll(["change_proposed", PROPOSAL], ["consent_decision", APPROVAL], ["change_applied", {}]);
const createDenied = () =>
  evolveAll(["change_proposed", PROPOSAL], ["consent_decision", { decision: "denied", approver: "ana" }]);

describe("a review", () => {
  const EMERGENCY: EventDetail = { ...APPROVAL, status: "approved", emergency: true, review_hours: 2 };
  const REVIEW: EventDetail = { verdict: "accepted", approver: "bo", note: "right" };
  const createEmergency = () => evolveAll(["change_proposed", PROPOSAL], ["consent_decision", EMERGENCY]);

  test("becomes due by an emergency approval, which needs no other consent", () => {
    const { change } = createEmergency();
    expect(change).toMatchObject({ status: "approved", review: { due_at: "2026-01-02T06:00:00.000Z", verdict: null } });
  });

  test("is recorded once, with its verdict", () => {
    const reviewed = evolve(createEmergency(), createEvent("emergency_reviewed", REVIEW))!;
    expect(reviewed.change).toMatchObject({ revision: 3, review: { ...REVIEW, at: AT } });
    expect(isAccepted(reviewed, "emergency_reviewed", REVIEW)).toBe(false);
  });

  test("is rejected without a verdict, or where no review is due", () => {
    expect(isAccepted(createEmergency(), "emergency_reviewed", { approver: "bo" })).toBe(false);
    expect(isAccepted(createApproved(), "emergency_reviewed", REVIEW)).toBe(false);
  });

  test("keeps its due date when a further emergency approval follows", () => {
    const first = createEmergency();
    const further: EventDetail = { ...EMERGENCY, approver: "bo", from: "approved", review_hours: 9 };
    const second = evolve(first, createEvent("consent_decision", further))!;
    expect(second.change.approvals).toHaveLength(2);
    expect(second.change.review).toEqual(first.change.review);
  });

  test("becomes due only by an emergency approval with hours", () => {
    const pending = createPending({ ...PROPOSAL, required_approvers: 2 });
    for (const detail of [
      { ...APPROVAL, review_hours: 2 },
      { ...APPROVAL, emergency: true },
    ])
      expect(evolve(pending, createEvent("consent_decision", detail))!.change).not.toHaveProperty("review");
  });
});

describe("a late note", () => {
  const NOTE: EventDetail = { item: "rationale", note: "It was slow.", actor: "pat" };

  test("is recorded once for each item of a decided change", () => {
    const withNote = evolve(createDenied(), createEvent("note_added", NOTE))!;
    expect(withNote.change).toMatchObject({ status: "denied", revision: 3, late_notes: [{ ...NOTE, at: AT }] });
    expect(isAccepted(withNote, "note_added", NOTE)).toBe(false);
    expect(isAccepted(withNote, "note_added", { ...NOTE, item: "note" })).toBe(true);
  });

  test("is rejected without item or text, and before the decision", () => {
    expect(isAccepted(createDenied(), "note_added", { note: "text" })).toBe(false);
    expect(isAccepted(createDenied(), "note_added", { item: "rationale" })).toBe(false);
    expect(isAccepted(createPending(), "note_added", NOTE)).toBe(false);
  });
});

describe("a stop of the automatic apply", () => {
  test("is recorded once, for an open change, with its reason", () => {
    const stopped = evolve(createApproved(), createEvent("automation_stopped", { reason: "late" }))!;
    expect(stopped.change).toMatchObject({ revision: 3, automation_stopped: { at: AT, reason: "late" } });
    expect(isAccepted(stopped, "automation_stopped", { reason: "again" })).toBe(false);
    expect(isAccepted(createApproved(), "automation_stopped", {})).toBe(false);
    expect(isAccepted(createApplied(), "automation_stopped", { reason: "late" })).toBe(false);
  });
});

describe("an erasure", () => {
  const ERASURE: EventDetail = { remaining_digest: "r" };

  test.each([
    ["denied", createDenied],
    ["applied", createApplied],
  ])("is recorded once for a change that is %s", (_, create) => {
    const erased = evolve(create(), createEvent("content_erased", ERASURE))!;
    expect(erased.change).toMatchObject({ erased: { at: AT, entry: nextId - 1, digest: "r" } });
    expect(erased.change.revision).toBe(create().change.revision + 1);
    expect(isAccepted(erased, "content_erased", ERASURE)).toBe(false);
  });

  test("is rejected without a digest, and for an open change", () => {
    expect(isAccepted(createDenied(), "content_erased", {})).toBe(false);
    expect(isAccepted(createPending(), "content_erased", ERASURE)).toBe(false);
    expect(isAccepted(createApproved(), "content_erased", ERASURE)).toBe(false);
  });
});

describe("a consent", () => {
  const FURTHER: EventDetail = { ...APPROVAL, approver: "bo", from: "approved" };

  test("on an approved change states the status before it, and leaves the status", () => {
    const further = evolve(createApproved(), createEvent("consent_decision", FURTHER))!;
    expect(further.change).toMatchObject({ status: "approved", decided_at: AT, approvals: [{}, { approver: "bo" }] });
    expect(isAccepted(createApproved(), "consent_decision", { ...FURTHER, status: "pending_consent" })).toBe(false);
  });

  test("is rejected if it states another status before it, or none", () => {
    expect(isAccepted(createApproved(), "consent_decision", { ...FURTHER, from: "pending_consent" })).toBe(false);
    expect(isAccepted(createApproved(), "consent_decision", APPROVAL)).toBe(false);
    expect(isAccepted(createPending(), "consent_decision", { ...APPROVAL, from: "pending_consent" })).toBe(false);
  });

  test("that denies or withdraws an approved change is rejected; one that revokes it is not", () => {
    for (const decision of ["denied", "withdrawn"] as const)
      expect(isAccepted(createApproved(), "consent_decision", { ...FURTHER, decision })).toBe(false);
    expect(
      evolve(createApproved(), createEvent("consent_decision", { ...FURTHER, decision: "revoked" })),
    ).toMatchObject({
      change: { status: "denied", resolution: "revoked" },
    });
  });

  test("of an emergency does not count for the ordinary quorum", () => {
    const pending = createPending();
    const emergency: EventDetail = { ...APPROVAL, emergency: true };
    expect(evolve(pending, createEvent("consent_decision", emergency))!.change).toMatchObject({
      status: "pending_consent",
      approvals: [{ emergency: true }],
    });
    expect(isAccepted(pending, "consent_decision", { ...emergency, status: "approved" })).toBe(false);
  });

  test("on an applied or rolled back change is rejected", () => {
    const rolledBack = evolve(createApplied(), createEvent("change_rolled_back", {}))!;
    expect(isAccepted(rolledBack, "consent_decision", APPROVAL)).toBe(false);
    expect(isAccepted(createApplied(), "consent_decision", { ...FURTHER, from: "applied" })).toBe(false);
  });
});

test("only a minor change is approved by its proposal, with the owner of its target", () => {
  const minor = createPending({ ...MINOR, target_owner: "chg_0" });
  expect(minor).toMatchObject({ change: { status: "approved", decided_at: AT }, target_owner: "chg_0" });
  const standard = createPending({ ...PROPOSAL, target_owner: "chg_0" });
  expect(standard).not.toHaveProperty("target_owner");
  expect(standard.change.decided_at).toBeNull();
});

test("facts of a proposal are stored if they are stated", () => {
  const facts = { unstated: ["risk"], tier_reason: "small", sets_nothing: true, value_hint: "text" } as EventDetail;
  const keys = Object.keys(facts);
  const { change } = createPending({ ...PROPOSAL, ...facts });
  expect(change).toMatchObject(facts);
  for (const key of keys) expect(createPending().change).not.toHaveProperty(key);
});

describe("a failed rollback of a plan", () => {
  const KEYS = ["a", "b"].map((target) => ({ tenant_id: "t1", target }));
  const createPlan = () =>
    evolveAll(
      ["change_proposed", PROPOSAL],
      ["consent_decision", APPROVAL],
      ["change_applied", { sets: KEYS.map((key) => ({ ...key, previous_digest: "p" })) }],
    );

  // In the report, only targets that were rolled back have `target_holds`: the change in force then, null for none.
  test("marks the targets that were rolled back, with the time of the first report", () => {
    const failed = evolve(
      createPlan(),
      createEvent("change_rollback_failed", { sets: [{ ...KEYS[0]!, target_holds: null }, KEYS[1]!] }),
    )!;
    const first = { ...KEYS[0]!, previous_digest: "p", rolled_back_at: AT };
    const second = { ...KEYS[1]!, previous_digest: "p" };
    expect(failed).toMatchObject({ change: { status: "applied" } });
    expect(failed.applied!.sets).toEqual([first, second]);
    const later = createEvent("change_rollback_failed", {
      sets: KEYS.map((key) => ({ ...key, target_holds: null })),
    });
    const completed = evolve(failed, { ...later, timestamp: "2026-01-02T05:00:00.000Z" })!;
    expect(completed.applied!.sets).toEqual([first, { ...second, rolled_back_at: "2026-01-02T05:00:00.000Z" }]);
  });

  test("marks nothing if it reports no target, and only a rollback marks", () => {
    const plan = createPlan();
    const sets = [{ ...KEYS[0]!, target_holds: null }];
    expect(evolve(plan, createEvent("change_rollback_failed", {}))!.applied).toBe(plan.applied);
    expect(evolve(plan, createEvent("change_drifted", { sets }))!.applied).toBe(plan.applied);
  });
});
