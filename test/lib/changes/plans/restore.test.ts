/** Restores of a plan: only entries that another program has edited are restored. */
import { expect, test } from "vitest";
import { checkDueDrift } from "../../../../lib/changes/check_drift.ts";
import { restoreEdited } from "../../../../lib/changes/restore_edited.ts";
import { readChangeView } from "../../../../lib/changes/views.ts";
import { sha256 } from "../../../../local/node_ports.ts";
import { MINUTE, SECOND } from "../../../support/clock.ts";
import type { Manifest } from "../../../support/intents.ts";
import { bringPlan, memorySystems, planBench, planEntry } from "../../../support/plan_bench.ts";

const ENTRIES = [planEntry("a", 1), planEntry("a", 2), planEntry("b", 1)] as const;
const [A1, A2, B1] = ENTRIES;

/** Creates an applied plan on two systems; `edit` sets a target as another program would. */
async function openWithAppliedPlan(intent?: Manifest) {
  const systems = memorySystems(["a", "b"]);
  const bench = await planBench(systems, { ...(intent && { intent }), longLived: true });
  const { api } = bench;
  const id = await bringPlan(api, "applied", ENTRIES);
  systems.writes.length = 0;
  /** Runs these parts of a cycle in its order, so one cycle finds an edit and the next one restores the value. */
  const cycle = async (advance = 10 * MINUTE) => {
    api.deps.clock.advance(advance);
    const count = await restoreEdited(api.deps);
    await checkDueDrift(api.deps);
    return count;
  };
  return {
    ...bench,
    id,
    cycle,
    edit: (entry: (typeof ENTRIES)[number], raw: string | undefined = "7") => bench.overwrite(entry, raw),
    restore: (fields: object = {}) => api.post("restore", { change_id: id, actor: "ops", ...fields }),
    readRestores: () => bench.details("value_restored"),
    values: () => ENTRIES.map(bench.raw),
    episodes: async () => (await api.get("drift")).body.drifted.map(({ target }: { target: string }) => target),
  };
}
const toError = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];
const SET = ENTRIES.map(({ value }) => JSON.stringify(value));

test("only the edited entry of a plan is restored, and the log names it", async () => {
  const { api, systems, id, edit, restore, readRestores, values, episodes } = await openWithAppliedPlan();
  edit(A2);
  const { status, body } = await restore({ note: "Edited by hand." });
  const restoredKey = { tenant_id: "t1", target: "a/2" };
  expect([status, body.adapter]).toEqual([
    200,
    { name: "a", result: "restored", sets: [{ ...restoredKey, name: "a", result: "restored" }] },
  ]);
  expect([values(), systems.writes]).toEqual([SET, [["a/2"]]]);
  expect(await readRestores()).toMatchObject([
    {
      // The name of the plan.
      target: "release.7",
      status: "applied",
      sets: [{ ...restoredKey, replaced_digest: sha256("7"), adapter: { name: "a", result: "restored" } }],
      actor: "ops",
      note: "Edited by hand.",
    },
  ]);
  expect(await episodes()).toEqual([]);
  // A rollback restores the same values as without the restore.
  expect([(await api.act("rollback", id)).status, values()]).toEqual([200, [undefined, undefined, undefined]]);
});

test("a restore of a plan without edited entries is rejected and logs no drift", async () => {
  const { restore, details, readRestores } = await openWithAppliedPlan();
  expect(toError(await restore())).toEqual([400, "illegal_transition"]);
  expect([await details("change_drifted"), await readRestores()]).toEqual([[], []]);
});

test("an entry that belongs to a later change, or was rolled back, is not restored", async () => {
  const { api, systems, id, edit, restore, values, readRestores } = await openWithAppliedPlan();
  await api.bring("applied", { target: "a/1", value: '"later"' });
  edit(A1);
  const rejected = await restore();
  expect(toError(rejected)).toEqual([400, "illegal_transition"]);
  expect(rejected.body.error).toContain("a/1");
  // The rollback fails on a twice, for its entries together and for a/2 alone, so it restores only the entry on b.
  systems.get("a")!.faults.push("rejected", "rejected");
  expect(toError(await api.act("rollback", id))).toEqual([502, "adapter_failed"]);
  edit(B1);
  edit(A2);
  expect((await restore()).status).toBe(200);
  expect(values()).toEqual(["7", SET[1], "7"]);
  expect((await readRestores()).map(({ sets }) => sets!.map(({ target }) => target))).toEqual([["a/2"]]);
});

test("if one system fails, the others are restored, and a second restore sets the rest", async () => {
  const { systems, edit, restore, values, readRestores, leases } = await openWithAppliedPlan();
  edit(A1);
  edit(B1);
  systems.get("a")!.faults.push("rejected");
  const { status, body } = await restore();
  expect([status, body.code, body.stage, body.audit_entry.id > 0]).toEqual([502, "adapter_failed", "restore", true]);
  expect(body.error).toContain("a/1");
  expect([values(), await leases()]).toEqual([["7", SET[1], SET[2]], []]);
  expect([(await restore()).status, values()]).toEqual([200, SET]);
  expect((await readRestores()).map(({ sets }) => sets!.map(({ target }) => target))).toEqual([["b/1"], ["a/1"]]);
});

test.each([
  ["lost answer", true],
  ["lost request", false],
] as const)("an entry whose restore had a %s is resolved by the value on its target", async (fault, isWritten) => {
  const { api, systems, edit, restore, values, readRestores, leases } = await openWithAppliedPlan();
  edit(A1);
  edit(B1);
  systems.get("b")!.faults.push(fault);
  expect(toError(await restore())).toEqual([502, "adapter_failed"]);
  expect((await leases()).map(({ operation, place }) => [operation, place.split("\n")[0]])).toEqual([
    ["restore", "b/1"],
  ]);
  expect(toError(await restore())).toEqual(isWritten ? [400, "illegal_transition"] : [409, "operation_in_progress"]);
  api.deps.clock.advance(12 * MINUTE);
  await api.cycle();
  expect([values(), await leases()]).toEqual([[SET[0], SET[1], isWritten ? SET[2] : "7"], []]);
  expect(await readRestores()).toMatchObject([
    { sets: [{ target: "a/1" }] },
    ...(isWritten ? [{ late: true, sets: [{ target: "b/1", replaced_digest: sha256("7") }] }] : []),
  ]);
});

test("an entry with a contested value is not restored, and the others are", async () => {
  const { api, edit, restore, values, id } = await openWithAppliedPlan();
  // A value is contested after three restores within an hour.
  for (let index = 0; index < 3; index++) {
    edit(A1, `${index + 10}`);
    expect((await restore()).status).toBe(200);
    api.deps.clock.advance(MINUTE);
  }
  edit(A1);
  edit(B1);
  expect([(await restore()).status, values()]).toEqual([200, ["7", SET[1], SET[2]]]);
  const rejected = await restore();
  expect([...toError(rejected), typeof rejected.body.contested_until]).toEqual([409, "restore_contested", "string"]);
  expect((await api.get("drift")).body.drifted).toMatchObject([
    { change_id: id, target: "a/1", contested_until: rejected.body.contested_until },
  ]);
});

test("with on_drift: restore the next cycle restores the edited entries", async () => {
  const { edit, values, readRestores, cycle, episodes } = await openWithAppliedPlan({
    policy: { on_drift: "restore" },
  });
  edit(A1);
  edit(B1);
  expect([await cycle(), values()]).toEqual([0, ["7", SET[1], "7"]]);
  expect([await cycle(SECOND), values(), await episodes()]).toEqual([2, SET, []]);
  const restores = (await readRestores()).map(({ actor, sets }) => [actor, sets!.map(({ target }) => target)]);
  expect(restores.toSorted()).toEqual([
    ["policy:on_drift", ["a/1"]],
    ["policy:on_drift", ["b/1"]],
  ]);
  expect(await cycle()).toBe(0);
});

test("a restore is offered on a plan with an edited entry, and rejected during a freeze", async () => {
  const { api, id, edit, restore, cycle } = await openWithAppliedPlan();
  edit(B1);
  await cycle();
  const { caller } = await readChangeView(api.deps, id, { actor: "ops", authenticated: "proxy" });
  expect(caller?.may).toContain("restore");
  await api.post("freeze", { actor: "ops", note: "n" });
  expect(toError(await restore())).toEqual([409, "frozen"]);
});
