/** Rollouts on target systems: the split of each step, exact rollback from any of them, unknown outcomes, foreign edits. */
import { expect, test } from "vitest";
import type { ChangeWithStages } from "../../../lib/changes/operations/adapter_port.ts";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { runOnHost } from "../../../lib/changes/operations/run_adapter.ts";
import { Unanswered } from "../../../lib/kit/time_limit.ts";
import { stagesSchema } from "../../../lib/rollout/stages.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import type { TargetSystem } from "../../../lib/targets/port.ts";
import { routingAdapter } from "../../../lib/targets/routing.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { memoryTarget } from "../../support/memory_target.ts";

const neverAborted = new AbortController().signal;
const clock = { now: () => Date.UTC(2026, 0, 2) };

/** Text that another program wrote; parsing and formatting the JSON would change its bytes. */
const FOREIGN_TEXT = '{ "10": 1.0, "9": 1e2,\n  "b": "\\u00e9" }';

/** Shares are of 10,000: 1 % of the users, half of them, and then all, for whom the value needs no split. */
const stages = stagesSchema().parse({
  unit: "account",
  fed_by: "agent:analytics",
  steps: [
    { share: 100, advance: "manual", min_hours: 0 },
    { share: 5000, advance: "manual", min_hours: 0 },
  ],
  watch: [{ kpi: "conversion", kind: "binary", good: "up", allowed: 0.01 }],
});
const makeChange = (change_id: string, fields: Partial<Change> = {}) =>
  ({ change_id, tenant_id: "t1", kind: "config", target: "limits.seats", value: 50, ...fields }) as Change;
const rollout: Change & ChangeWithStages = { ...makeChange("chg_a"), stages };

/** Returns the value of the memory system at a share. */
const splitOf = (share: number) => ({
  $treated: { value: 50, share, unit: "account", salt: "chg_a" },
  rest: { "9": 100, "10": 1, b: "é" },
});

/** Opens an adapter with a rollout on a target system in memory; `override` replaces methods of the system. */
async function openAdapter(override: (system: TargetSystem) => Partial<TargetSystem> = () => ({})) {
  const store = memoryStore();
  const target = memoryTarget();
  const inner = targetAdapter({ ...target.system, ...override(target.system) }, { store, clock });
  const adapter = routingAdapter([{ name: "memory", match: ["*"], adapter: inner }]);
  target.overwrite(rollout, FOREIGN_TEXT);
  const applied: Change & ChangeWithStages = { ...rollout, status: "applied" };
  return {
    ...target,
    adapter,
    apply: () => adapter.apply(rollout, neverAborted),
    advance: (step: number) => adapter.setStage!(applied, step, neverAborted),
    findStage: (step: number) => adapter.findStage!(applied, step, neverAborted),
    rollback: async (overDrift = false) =>
      (await adapter.rollback(applied, neverAborted, async () => undefined, overDrift)).result,
    verify: () => adapter.verify(applied, neverAborted),
    readValue: () => JSON.parse(target.raw(rollout)!) as unknown,
    readText: () => target.raw(rollout),
    effect: async () => (await store.get("effects", rollout.change_id))?.value,
  };
}

test("an apply sets the split of the first step, each step its own, and the last the value", async () => {
  const { apply, advance, verify, readValue, findStage } = await openAdapter();
  expect(await apply()).toMatchObject({ result: "applied", previous: { value: splitOf(100).rest } });
  expect([readValue(), await verify(), await findStage(0)]).toEqual([splitOf(100), "applied", "done"]);
  expect(await advance(1)).toEqual({ result: "applied" });
  expect([readValue(), await verify(), await findStage(1), await findStage(0)]).toEqual([
    splitOf(5000),
    "applied",
    "done",
    "not_done",
  ]);
  await advance(2);
  expect([readValue(), await verify()]).toEqual([50, "applied"]);
});

test.each([0, 1, 2])("a rollback from step %i restores the replaced text to the byte", async (last) => {
  const { apply, advance, rollback, verify, readText } = await openAdapter();
  await apply();
  for (let step = 1; step <= last; step += 1) await advance(step);
  expect(await rollback()).toBe("rolled_back");
  expect([readText(), await verify()]).toEqual([FOREIGN_TEXT, "rolled_back"]);
});

test("a split other than that of the recorded step is drift", async () => {
  const { apply, adapter, advance } = await openAdapter();
  await apply();
  const verifyAt = (step: number) =>
    adapter.verify({ ...rollout, exposure: { step, share: 1, since: "", waits_for: null } }, neverAborted);
  // A split is set before its step is recorded.
  expect([await verifyAt(0), await verifyAt(1)]).toEqual(["applied", "unknown"]);
  await advance(1);
  expect([await verifyAt(0), await verifyAt(1), await verifyAt(2)]).toEqual(["applied", "applied", "unknown"]);
});

test("an advance is durable before its write, and repeating it sets nothing", async () => {
  const { apply, advance, edits, effect } = await openAdapter();
  await apply();
  const observed: unknown[] = [];
  edits.push(() => void effect().then((record) => observed.push(record?.advance?.step, record?.stage?.step)));
  await advance(1);
  expect(observed).toEqual([1, 0]);
  const before = await effect();
  edits.push(() => observed.push("written"));
  expect(await advance(1)).toEqual({ result: "applied" });
  expect([observed.length, await effect()]).toEqual([2, before]);
});

test("a dry run shows the split of the first step", async () => {
  const { adapter, readText } = await openAdapter();
  expect(await adapter.validate(rollout, neverAborted)).toMatchObject({ ok: true, preview: { after: splitOf(100) } });
  expect(readText()).toBe(FOREIGN_TEXT);
});

test.each([
  ["done", "lost answer", 5000],
  ["not_done", "lost request", 100],
] as const)("an unanswered advance is found to be %s", async (outcome, fault, share) => {
  const { apply, advance, findStage, faults, readValue, verify, rollback, readText } = await openAdapter();
  await apply();
  faults.push(fault);
  await expect(advance(1)).rejects.toBeInstanceOf(Unanswered);
  expect([await findStage(1), readValue(), await verify()]).toEqual([outcome, splitOf(share), "applied"]);
  await advance(1);
  expect(readValue()).toEqual(splitOf(5000));
  await rollback();
  expect(readText()).toBe(FOREIGN_TEXT);
});

test("no other operation sets the target while an advance may still arrive", async () => {
  let answer: "open" | "done" | "not_done" = "done";
  const { apply, advance, adapter, rollback, findStage, faults, verify, readValue, readText } = await openAdapter(
    () => ({
      resolve: async () => answer,
    }),
  );
  await apply();
  faults.push("lost request");
  await expect(advance(1)).rejects.toBeInstanceOf(Unanswered);
  answer = "open";
  expect([await findStage(1), await verify()]).toEqual(["open", "unknown"]);
  for (const attempt of [advance(1), rollback(), adapter.restore!(rollout, "r1", neverAborted)])
    await expect(attempt).rejects.toThrow("has not said what became of the advance of chg_a");
  const other = makeChange("chg_b", { value: 60 });
  await expect(adapter.apply(other, neverAborted)).rejects.toThrow("what became of chg_a");
  answer = "not_done";
  expect([await findStage(1), readValue()]).toEqual(["not_done", splitOf(100)]);
  await rollback();
  expect(readText()).toBe(FOREIGN_TEXT);
});

test("an attempt of a rollout is resolved for another change of the target, too", async () => {
  const { apply, adapter, faults, readValue, rollback, readText } = await openAdapter();
  faults.push("lost answer");
  await expect(apply()).rejects.toBeInstanceOf(Unanswered);
  await adapter.apply(makeChange("chg_b", { value: 60 }), neverAborted);
  expect([readValue(), await rollback()]).toEqual([60, "superseded"]);
  expect(
    await adapter.rollback({ ...makeChange("chg_b", { value: 60 }), status: "applied" }, neverAborted),
  ).toMatchObject({
    result: "rolled_back",
  });
  expect(readText()).toBe(FOREIGN_TEXT);
});

test("an edit by another program stops the advance and is drift; a restore sets the split again", async () => {
  const { apply, advance, adapter, overwrite, verify, readValue, rollback, readText } = await openAdapter();
  await apply();
  await advance(1);
  overwrite(rollout, "50");
  expect(await verify()).toBe("unknown");
  await expect(advance(2)).rejects.toMatchObject({
    name: "TargetDrifted",
    values: { expected: splitOf(5000), held: 50 },
  });
  await expect(rollback()).rejects.toMatchObject({ values: { expected: splitOf(5000), held: 50 } });
  expect(await adapter.restore!(rollout, "r1", neverAborted)).toMatchObject({ result: "restored" });
  expect([readValue(), await verify()]).toEqual([splitOf(5000), "applied"]);
  overwrite(rollout, "50");
  expect([await rollback(true), readText()]).toEqual(["rolled_back", FOREIGN_TEXT]);
});

test("an advance that meets an edit right before its write sets nothing", async () => {
  const { apply, advance, overwrite, edits, readValue, effect } = await openAdapter();
  await apply();
  edits.push(() => overwrite(rollout, "7"));
  await expect(advance(1)).rejects.toMatchObject({ name: "TargetDrifted" });
  expect([readValue(), (await effect())?.stage?.step, (await effect())?.advance]).toEqual([7, 0, undefined]);
});

test("an advance that the system rejects leaves the step as it was", async () => {
  const { apply, advance, faults, readValue, verify } = await openAdapter();
  await apply();
  faults.push("rejected");
  await expect(advance(1)).rejects.toThrow("the system rejects this value");
  expect([readValue(), await verify()]).toEqual([splitOf(100), "applied"]);
});

test("only an applied change with stages that holds the target advances", async () => {
  const { apply, advance, adapter, rollback } = await openAdapter();
  await expect(advance(0)).rejects.toThrow("does not belong to chg_a");
  await apply();
  await adapter.apply(makeChange("chg_b"), neverAborted);
  await expect(advance(1)).rejects.toThrow("does not belong to chg_a");
  await expect(adapter.setStage!({ ...makeChange("chg_b"), stages }, 1, neverAborted)).rejects.toThrow("not on record");
  await rollback();
  await expect(advance(1)).rejects.toThrow("does not belong to chg_a");
});

test("a system without splits rejects a rollout", async () => {
  const { adapter, readText } = await openAdapter(() => ({ split: undefined }) as unknown as Partial<TargetSystem>);
  const reason = "its target system splits no values between users";
  expect(adapter.check!(rollout)).toBe(reason);
  expect(await adapter.validate(rollout, neverAborted)).toEqual({ ok: false, reason });
  await expect(adapter.apply(rollout, neverAborted)).rejects.toThrow(reason);
  expect([adapter.check!(makeChange("chg_b")), readText()]).toEqual([undefined, FOREIGN_TEXT]);
});

test("an adapter without steps never receives a rollout", async () => {
  const inner = scriptedAdapter();
  const routed = routingAdapter([{ name: "host", match: ["*"], adapter: inner }]);
  const reason = "its target system splits no values between users";
  expect([routed.check!(rollout), routed.check!(makeChange("chg_b"))]).toEqual([reason, undefined]);
  expect(await routed.validate(rollout, neverAborted)).toEqual({ ok: false, reason });
  expect(await runOnHost(inner, [rollout], "apply")).toMatchObject({
    ok: false,
    failure: { error: reason, rejected: true },
  });
  expect(await runOnHost(inner, [makeChange("chg_b")], "apply")).toMatchObject({ ok: true });
});

test("a system rejects shares and values that it cannot split", async () => {
  const { adapter } = await openAdapter(() => ({
    findSplitProblem(_, { share }, before) {
      if (share % 5000 === 0) return "no halves";
      return before && typeof before.value === "object" ? "the target holds an object" : undefined;
    },
  }));
  expect(adapter.check!(rollout)).toBe("no halves");
  const small: Change & ChangeWithStages = { ...rollout, stages: { ...stages, steps: stages.steps.slice(0, 1) } };
  expect(adapter.check!(small)).toBeUndefined();
  expect(await adapter.validate(small, neverAborted)).toEqual({ ok: false, reason: "the target holds an object" });
  expect(await adapter.reader!(small)!(neverAborted)).toMatchObject({ problem: "the target holds an object" });
  expect(await adapter.reader!(makeChange("chg_b"))!(neverAborted)).not.toHaveProperty("problem", expect.any(String));
});

test("an erasure removes all values of a rollout from the record", async () => {
  const { apply, advance, adapter, faults, effect } = await openAdapter();
  await apply();
  faults.push("lost request");
  await expect(advance(1)).rejects.toBeInstanceOf(Unanswered);
  await adapter.forget!(rollout, neverAborted);
  const { previous, next, stage, advance: attempt } = (await effect())!;
  expect([previous, next, stage, attempt]).toEqual([undefined, undefined, undefined, undefined]);
});
