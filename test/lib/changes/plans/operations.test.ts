/** Apply and rollback of a plan: either all of its entries are set or none, also when a system fails. */
import { expect, test } from "vitest";
import { reconcile } from "../../../../lib/changes/reconcile.ts";
import { MINUTE } from "../../../support/clock.ts";
import { bringPlan, memorySystems, planBench, planEntry } from "../../../support/plan_bench.ts";

const ENTRIES = [planEntry("a", 1), planEntry("b", 1), planEntry("a", 2), planEntry("c", 1)];
/** Opens systems of which `c` sets values one after another, and the others all values of a write together. */
const createBench = () => planBench(memorySystems(["a", "b", "c"], ["c"]));
type Bench = Awaited<ReturnType<typeof createBench>>;

const readTexts = ({ raw }: Bench) => ENTRIES.map((entry) => raw(entry));
const UNSET = ENTRIES.map(() => undefined);
const SET = ENTRIES.map(({ value }) => JSON.stringify(value));

test("a plan sets all of its targets, and a rollback restores their previous values", async () => {
  const bench = await createBench();
  const { api, leases, details } = bench;
  const takeWrites = () => bench.systems.writes.splice(0);
  bench.overwrite(ENTRIES[1]!, '{ "old": 1.50 }');
  const before = readTexts(bench);
  const id = await bringPlan(api, "applied", ENTRIES);
  expect(readTexts(bench)).toEqual(SET);
  expect(takeWrites()).toEqual([["a/1", "a/2"], ["b/1"], ["c/1"]]);
  const [applied] = await details("change_applied");
  expect(applied!.sets).toMatchObject(
    ENTRIES.map(({ tenant_id, target }) => ({ tenant_id, target, target_held: null, adapter: { result: "applied" } })),
  );
  expect((await api.must("rollback", id)).status).toBe("rolled_back");
  expect(readTexts(bench)).toEqual(before);
  expect(takeWrites()).toEqual([["c/1"], ["b/1"], ["a/2", "a/1"]]);
  expect(await leases()).toEqual([]);
  expect((await details("change_rolled_back"))[0]!.sets).toMatchObject(
    ENTRIES.map(({ target }) => ({ target, target_holds: null })),
  );
});

test("an apply that fails on one system is rolled back on the others, and logs each state", async () => {
  const bench = await createBench();
  const { api, systems, leases, details } = bench;
  const id = await bringPlan(api, "approved", ENTRIES);
  systems.get("c")!.faults.push("rejected");
  const failed = await api.act("apply", id);
  expect(failed).toMatchObject({ status: 502, body: { code: "adapter_failed", current_status: "approved" } });
  expect(readTexts(bench)).toEqual(UNSET);
  const applies = [["a/1", "a/2"], ["b/1"], ["c/1"]];
  const rollbacks = [["b/1"], ["a/2", "a/1"]];
  expect(bench.systems.writes).toEqual([...applies, ...rollbacks]);
  expect(await leases()).toEqual([]);
  const [detail] = await details("change_apply_failed");
  expect(detail!.sets).toMatchObject([
    { target: "a/1", host: "rolled_back" },
    { target: "b/1", host: "rolled_back" },
    { target: "a/2", host: "rolled_back" },
    { target: "c/1", host: "absent", error: "the system rejects this value" },
  ]);
  expect((await api.act("apply", id)).status).toBe(200);
  expect(readTexts(bench)).toEqual(SET);
});

test.each(["lost answer", "lost request"] as const)(
  "only the lease of an entry in an unknown state remains: %s",
  async (fault) => {
    const bench = await createBench();
    const { api, systems, leases, details, clock } = bench;
    const id = await bringPlan(api, "approved", ENTRIES);
    systems.get("b")!.faults.push(fault);
    expect((await api.act("apply", id)).status).toBe(502);
    const unansweredText = fault === "lost answer" ? SET[1] : undefined;
    expect(readTexts(bench)).toEqual([undefined, unansweredText, undefined, undefined]);
    expect(await leases()).toMatchObject([{ change_id: id, place: `b/1\nt1\n${id}`, state: "unanswered" }]);
    expect((await details("change_apply_failed"))[0]).toMatchObject({
      host: "unknown",
      sets: [{ host: "rolled_back" }, { host: "unknown" }, { host: "rolled_back" }, { host: "absent" }],
    });
    const other = await bringPlan(api, "approved", [planEntry("b", 1, "other"), planEntry("b", 2)]);
    const unaffected = await bringPlan(api, "applied", [planEntry("a", 1, "other"), planEntry("c", 2)]);
    // A lost answer is resolved by the value on the target; a lost request may still arrive.
    expect(await api.act("apply", other)).toMatchObject({
      status: fault === "lost answer" ? 200 : 409,
    });
    expect((await api.must("rollback", unaffected)).status).toBe("rolled_back");
    if (fault === "lost answer") await api.must("rollback", other);
    clock.advance(20 * MINUTE);
    await api.cycle();
    expect(await leases()).toEqual([]);
    expect(readTexts(bench)).toEqual(UNSET);
    expect((await api.change(id)).status).toBe("approved");
    expect((await api.act("apply", id)).status).toBe(200);
    expect(readTexts(bench)).toEqual(SET);
  },
);

test("one edited entry blocks the rollback of the plan unless over_drift is set", async () => {
  const bench = await createBench();
  const { api, leases, details } = bench;
  const id = await bringPlan(api, "applied", ENTRIES);
  bench.overwrite(ENTRIES[2]!, '"edited"');
  const rejected = await api.act("rollback", id);
  expect(rejected).toMatchObject({ status: 409, body: { code: "target_drifted", held: "edited" } });
  expect(readTexts(bench)).toEqual([SET[0], SET[1], '"edited"', SET[3]]);
  expect(await leases()).toEqual([]);
  expect((await details("change_rollback_failed"))[0]!.sets![2]).toMatchObject({ target: "a/2", drifted: true });
  const forced = await api.post("rollback", { change_id: id, over_drift: 1, note: "known" });
  expect(forced.status).toBe(200);
  expect(readTexts(bench)).toEqual(UNSET);
});

test("if one system fails, the others are rolled back, and a second rollback completes the plan", async () => {
  const bench = await createBench();
  const { api, systems, leases, details, clock } = bench;
  const id = await bringPlan(api, "applied", ENTRIES);
  systems.get("b")!.faults.push("rejected");
  const failed = await api.act("rollback", id);
  expect(failed).toMatchObject({ status: 502, body: { code: "adapter_failed", current_status: "applied" } });
  expect(readTexts(bench)).toEqual([undefined, SET[1], undefined, undefined]);
  expect(await leases()).toEqual([]);
  const [detail] = await details("change_rollback_failed");
  expect(detail!.sets).toMatchObject([
    { target: "a/1", host: "rolled_back", target_holds: null },
    { target: "b/1", host: "applied", error: expect.any(String) as string },
    { target: "a/2", host: "rolled_back", target_holds: null },
    { target: "c/1", host: "rolled_back", target_holds: null },
  ]);
  // The plan still owns the target that failed; other plans may set the others.
  const next = await bringPlan(api, "applied", [planEntry("a", 1, "next"), planEntry("c", 1, "next")]);
  await api.must("rollback", id);
  expect(readTexts(bench)).toEqual(['"next"', undefined, undefined, '"next"']);
  expect((await details("change_rolled_back"))[0]!.sets).toMatchObject([{ target: "b/1", target_holds: null }]);
  await api.must("rollback", next);
  expect(readTexts(bench)).toEqual(UNSET);
  clock.advance(MINUTE);
  expect((await reconcile(api.deps)).mismatches).toEqual([]);
});
