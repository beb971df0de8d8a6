/** Rollouts on a target system: setting, verifying and recording each step, and restoring the target by a rollback. */
import { describe, expect, test } from "vitest";
import { recoverAbandoned } from "../../../../lib/changes/operations/recover.ts";
import { reconcile } from "../../../../lib/changes/reconcile.ts";
import { decideRollouts } from "../../../../lib/changes/rollouts/decide_rollouts.ts";
import { readTotalCounts } from "../../../../lib/projections/daily_counts.ts";
import { MINUTE } from "../../../support/clock.ts";
import { makeCore } from "../../../support/core.ts";
import { restartDeps } from "../../../support/deps.ts";
import { AGENTS, STAGES, totals } from "../../../support/rollouts.ts";
import { INITIAL_TEXT, openRolloutOnTarget } from "../../../support/target_rollout.ts";

/** Totals by which the KPI is worse than the rollout allows, so that its rule rolls it back. */
const WORSE = totals(100_000, 1000, [0.1, 0.2]);

test("each advance is set and verified before it is recorded; the last one sets the value", async () => {
  const { api, change_id, share, completeStep, exposure, detail, leases, edits, text } = await openRolloutOnTarget();
  expect([share(), await detail("change_applied")]).toMatchObject([1000, { stage: { step: 0, share: 1000 } }]);
  const pending: unknown[] = [];
  edits.push(() => void leases().then(async (list) => pending.push(list, await exposure())));
  expect(await completeStep()).toEqual({ advanced: [change_id], rolled_back: [] });
  expect(pending).toMatchObject([[{ operation: "stage", step: 1, state: "running" }], { step: 0 }]);
  expect([share(), await exposure()]).toMatchObject([5000, { step: 1, share: 5000 }]);
  const { ordered, ...advanced } = await detail("stage_advanced");
  expect(advanced).toMatchObject({ to: 1, reason: "budget", actor: "policy:stages", rule: "cs1" });
  // `ordered` is the id that the next entry had when the advance was ordered: that of this entry, since none came in between.
  expect(ordered).toBe((await api.audit()).length);
  await completeStep(1);
  expect([text(), await exposure(), await leases()]).toMatchObject(["true", { step: 2, share: 10_000 }, []]);
  expect((await reconcile(api.deps)).mismatches).toEqual([]);
});

test.each([0, 1, 2])("a rollback by a person at step %i restores the exact previous text", async (lastStep) => {
  const { api, change_id, completeStep, text, events } = await openRolloutOnTarget();
  for (let step = 0; step < lastStep; step++) await completeStep(step);
  await api.must("rollback", change_id);
  expect([text(), (await events()).at(-1)]).toEqual([INITIAL_TEXT, "change_rolled_back"]);
});

test("an automatic rollback restores the exact text while an advance is unanswered", async () => {
  const { api, change_id, feedNow, completeStep, text, faults, leases, events } = await openRolloutOnTarget();
  faults.push("lost request");
  expect(await completeStep()).toEqual({ advanced: [], rolled_back: [] });
  expect(await leases()).toMatchObject([{ operation: "stage", state: "unanswered" }]);
  expect(await feedNow(WORSE)).toEqual({ advanced: [], rolled_back: [change_id] });
  expect([text(), await leases()]).toEqual([INITIAL_TEXT, []]);
  expect((await events()).slice(-2)).toEqual(["stage_stopped", "change_rolled_back"]);
  // Level L4: a rule decided, and no person.
  const { level_L4, rollbacks_rollout, rollbacks_person = 0 } = await readTotalCounts(api.deps);
  expect([level_L4, rollbacks_rollout, rollbacks_person]).toEqual([1, 1, 0]);
});

test("an advance that is found done after the rollout stopped is recorded and rolled back", async () => {
  const { change_id, feedNow, completeStep, text, faults, events, decide, exposure } = await openRolloutOnTarget();
  faults.push("lost answer");
  await completeStep();
  faults.push("rejected");
  expect((await feedNow(WORSE)).rolled_back).toEqual([]);
  expect(await exposure()).toMatchObject({ step: 1, waits_for: "rollback" });
  expect((await decide()).rolled_back).toEqual([change_id]);
  expect(text()).toBe(INITIAL_TEXT);
  expect((await events()).slice(-4)).toEqual([
    "stage_stopped",
    "stage_advanced",
    "change_rollback_failed",
    "change_rolled_back",
  ]);
});

test("after a failed rollback an unanswered advance can still be resolved", async () => {
  const { api, change_id, completeStep, text, faults, leases, share } = await openRolloutOnTarget();
  faults.push("lost request");
  await completeStep();
  faults.push("rejected");
  expect((await api.act("rollback", change_id)).body.code).toBe("adapter_failed");
  expect([share(), await leases()]).toMatchObject([1000, [{ operation: "stage", state: "unanswered", step: 1 }]]);
  await api.must("rollback", change_id);
  expect([text(), await leases()]).toEqual([INITIAL_TEXT, []]);
});

test("an automatic rollback that an edit blocks waits for a person", async () => {
  const { api, change_id, feedNow, overwrite, exposure, detail, decide, text } = await openRolloutOnTarget();
  overwrite("7");
  expect(await feedNow(WORSE)).toEqual({ advanced: [], rolled_back: [] });
  expect((await exposure())!.waits_for).toBe("rollback_blocked");
  expect(await detail("stage_held")).toMatchObject({ reason: "rollback_blocked", code: "target_drifted" });
  expect(await decide()).toEqual({ advanced: [], rolled_back: [] });
  const fields = { change_id, actor: "ops", over_drift: true, note: "take it back" };
  expect((await api.post("rollback", fields)).status).toBe(200);
  expect(text()).toBe(INITIAL_TEXT);
});

test("an automatic rollback is retried despite a hold, failures and a restart", async () => {
  const { api, change_id, feedNow, faults, act, decide, exposure, text, events, clock, adapter } =
    await openRolloutOnTarget();
  faults.push(...Array.from({ length: 8 }, () => "rejected" as const));
  await feedNow(WORSE);
  const { status, body } = await act(0, "hold");
  expect([status, body.code, (await exposure())!.waits_for]).toEqual([400, "illegal_transition", "rollback"]);
  for (let tries = 0; tries < 9; tries++) await decide();
  // Five tries without a pause; further tries wait for pauses of 1, 2, 4 and 8 minutes.
  expect([faults.length, (await exposure())!.waits_for]).toEqual([3, "rollback_blocked"]);
  for (const minutes of [1, 2]) {
    clock.advance(minutes * MINUTE);
    await decide();
  }
  clock.advance(3 * MINUTE);
  await decide();
  // Three of the four minutes have passed, so there was no further try.
  expect(faults).toHaveLength(1);
  clock.advance(1 * MINUTE);
  await decide();
  const later = makeCore(await restartDeps(api.deps, { adapter, intent: { principals: AGENTS } }));
  clock.advance(8 * MINUTE);
  expect((await decideRollouts(later.deps)).rolled_back).toEqual([change_id]);
  const blocked = (await events()).filter((type) => type === "stage_held");
  expect([text(), blocked.length]).toEqual([INITIAL_TEXT, 1]);
});

test("failures of an automatic rollback are logged once a day for each reason", async () => {
  const { api, change_id, feedNow, faults, overwrite, decide, events, clock } = await openRolloutOnTarget();
  const failures = async () => (await events()).filter((type) => type === "change_rollback_failed").length;
  faults.push(...Array.from({ length: 40 }, () => "rejected" as const));
  await feedNow(WORSE);
  const retryForHours = async (hours: number) => {
    for (let tries = 0; tries < hours * 6; tries++) {
      clock.advance(10 * MINUTE);
      await decide();
    }
    return failures();
  };
  expect([await failures(), await retryForHours(2), faults.length < 30]).toEqual([1, 1, true]);
  overwrite("7");
  expect(await retryForHours(1)).toBe(2);
  clock.advance(24 * 60 * MINUTE);
  expect(await retryForHours(1)).toBe(3);
  // A failure of a person's rollback is always logged.
  await api.post("rollback", { change_id, actor: "ops" });
  expect(await failures()).toBe(4);
});

const PREVIOUS = { value: "forged", version: "1" };
const makeSplit = (rest: unknown, salt: string, share: number) => ({
  value: { $treated: { value: true, share, unit: "userId", salt }, rest },
  version: "1",
});

test.each<[title: string, edit: (id: string) => object]>([
  ["the previous value", () => ({ previous: PREVIOUS })],
  ["the split", (id) => ({ next: makeSplit({ old: 1.5 }, id, 9000) })],
  ["both", (id) => ({ previous: PREVIOUS, next: makeSplit(PREVIOUS.value, id, 1000) })],
])("an edited record of %s is used neither by an advance nor by a restore", async (_, edit) => {
  const { api, change_id, store, completeStep, text, overwrite, detail, exposure, passHours } =
    await openRolloutOnTarget();
  const before = text();
  await store.transact(async (tx) => {
    const record = (await tx.get("effects", change_id))!.value;
    tx.put("effects", change_id, { ...record, ...edit(change_id) });
  });
  await completeStep();
  expect([text(), (await exposure())!.step]).toEqual([before, 0]);
  expect((await detail("stage_held")).error).toContain("edited");
  overwrite("7");
  passHours(1);
  expect([(await api.post("restore", { change_id, actor: "ops" })).status, text()]).toEqual([502, "7"]);
});

describe("an advance", () => {
  test.each([
    ["lost answer", 1],
    ["lost request", 0],
  ] as const)("with a %s is resolved by the value on the target to step %i", async (fault, step) => {
    const { api, completeStep, faults, exposure, clock, leases, detail, share, decide } = await openRolloutOnTarget();
    faults.push(fault);
    await completeStep();
    expect([(await exposure())!, await leases()]).toMatchObject([
      { step: 0, waits_for: "adapter_failed" },
      [{ operation: "stage", step: 1 }],
    ]);
    clock.advance(20 * MINUTE);
    await recoverAbandoned(api.deps);
    expect([(await exposure())!.step, share(), await leases()]).toEqual([step, STAGES.steps[step]!.share, []]);
    if (step === 1) return expect(await detail("stage_advanced")).toMatchObject({ late: true, to: 1 });
    await decide();
    expect([(await exposure())!.step, share()]).toEqual([1, 5000]);
  });

  test("over an edited target is logged as held once, and is set after a restore", async () => {
    const { api, change_id, completeStep, overwrite, exposure, text, events, decide, detail, leases } =
      await openRolloutOnTarget();
    overwrite("7");
    await completeStep();
    expect([text(), (await exposure())!]).toMatchObject(["7", { step: 0, waits_for: "target_drifted" }]);
    expect(await detail("stage_held")).toMatchObject({ decision: "hold", reason: "target_drifted", rule: "cs1" });
    const count = (await events()).length;
    await decide();
    expect([(await events()).length, await leases()]).toEqual([count, []]);
    expect((await api.post("restore", { change_id, actor: "ana" })).status).toBe(200);
    await decide();
    expect((await exposure())!.step).toBe(1);
  });

  test.each([
    ["another value", () => "7"],
    ["the split of the step before", (before: string) => before],
  ])("that is overwritten with %s is recorded, and needs a restore before a rollback", async (_, choose) => {
    const pendingEdits: (() => void)[] = [];
    const { api, change_id, completeStep, feedNow, overwrite, exposure, leases, system, share, decide, text } =
      await openRolloutOnTarget();
    const { compareAndSet } = system;
    const before = text()!;
    // Unlike `edits` of the memory target, these come right after a write.
    system.compareAndSet = async (...request) => {
      const result = await compareAndSet(...request);
      pendingEdits.shift()?.();
      return result;
    };
    pendingEdits.push(() => overwrite(choose(before)));
    await completeStep();
    expect([(await exposure())!, await leases()]).toMatchObject([
      { step: 0, waits_for: "adapter_failed" },
      [{ operation: "stage", state: "unresolved" }],
    ]);
    await recoverAbandoned(api.deps);
    expect([(await exposure())!.step, await leases(), text()]).toEqual([1, [], choose(before)]);
    expect((await api.act("rollback", change_id)).body.code).toBe("target_drifted");
    expect((await api.post("restore", { change_id, actor: "ana" })).status).toBe(200);
    expect([share(), await decide()]).toEqual([5000, { advanced: [], rolled_back: [] }]);
    expect((await feedNow(WORSE)).rolled_back).toEqual([change_id]);
    expect([text(), (await reconcile(api.deps)).mismatches]).toEqual([INITIAL_TEXT, []]);
  });

  test("that is under way when a person holds the rollout is recorded, and the next step waits", async () => {
    const { api, change_id, completeStep, edits, exposure, detail, share, decide, act } = await openRolloutOnTarget();
    let holdReply: Promise<{ status: number }> | undefined;
    edits.push(() => void (holdReply = act(0, "hold")));
    await completeStep();
    expect((await holdReply!).status).toBe(200);
    expect([(await exposure())!, share()]).toMatchObject([{ step: 1, waits_for: "by_hand" }, 5000]);
    // The log shows that the advance was ordered before the hold.
    const { ordered } = await detail("stage_advanced");
    expect(ordered).toBeLessThanOrEqual((await api.deps.store.get("changes", change_id))!.value.rollout!.by_hand!);
    await decide();
    expect((await exposure())!.waits_for).toBe("by_hand");
    expect((await reconcile(api.deps)).mismatches).toEqual([]);
  });

  test("by a person is set and verified, and its failure is in the reply", async () => {
    const stages = { steps: [{ share: 1000, advance: "manual", min_hours: 24 }] };
    const { act, completeStep, faults, exposure, text, detail, overwrite, leases } = await openRolloutOnTarget({
      stages,
    });
    await completeStep();
    faults.push("rejected");
    const { status, body } = await act(0, "advance");
    expect([status, body.code, body.stage, await leases()]).toEqual([502, "adapter_failed", "advance", []]);
    const before = text()!;
    overwrite("7");
    expect((await act(0, "advance")).body.code).toBe("target_drifted");
    overwrite(before);
    expect((await act(0, "advance")).status).toBe(200);
    expect([text(), (await exposure())!.step]).toEqual(["true", 1]);
    expect(await detail("stage_advanced")).toMatchObject({ reason: "manual", actor: "ana" });
  });

  test("sets nothing while the service is frozen", async () => {
    const { api, completeStep, share, exposure } = await openRolloutOnTarget();
    await api.post("freeze", { actor: "ana" });
    await completeStep();
    expect([share(), (await exposure())!]).toMatchObject([1000, { step: 0, waits_for: "frozen" }]);
  });
});

test("an earlier change of the target cannot be rolled back while a rollout is running", async () => {
  const { api, change_id } = await openRolloutOnTarget();
  const earlier = await api.bring("applied", { target: "ui.b", value: "1" });
  const stages = JSON.stringify(STAGES);
  const later = await api.bring("applied", { target: "ui.b", value: "2", stages });
  const { status, body } = await api.act("rollback", earlier);
  expect([status, body.code, body.conflicts]).toEqual([409, "rollout_in_progress", [later]]);
  await api.must("rollback", later);
  await api.must("rollback", earlier);
  await api.must("rollback", change_id);
});
