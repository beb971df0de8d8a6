/** Plans with leases that the store has lost, or whose target keys changed with the configuration. */
import { expect, test } from "vitest";
import type { Store } from "../../../../lib/store/store.ts";
import { memoryStore } from "../../../../lib/store/memory.ts";
import { MINUTE, testClock } from "../../../support/clock.ts";
import { type Core, core, makeCore } from "../../../support/core.ts";
import { restartDeps } from "../../../support/deps.ts";
import type { WriteFault } from "../../../support/memory_target.ts";
import { bringPlan, memorySystems, planBench, planEntry, routeSystems } from "../../../support/plan_bench.ts";

/** A write without a fault, in a list of faults: one for each next write of a system. */
const NO_FAULT = undefined as unknown as WriteFault;
const ENTRIES = [planEntry("a", 1), planEntry("b", 1)];

const deleteLease = (store: Store, target: string): Promise<void> =>
  store.transact(async (tx) => {
    for (const { id } of await tx.list("leases", { limit: 9 }))
      if (id.startsWith(`${target}\n`)) tx.delete("leases", id);
  });

test.each(["a/1", "b/1"])("a failed apply is rolled back on %s although its lease is lost", async (lostTarget) => {
  const systems = memorySystems(["a", "b"]);
  const bench = await planBench(systems);
  const { api, store, clock } = bench;
  const id = await bringPlan(api, "approved", ENTRIES);
  // The apply gets no answer from b, and its rollback is rejected by a.
  systems.get("a")!.faults.push(NO_FAULT, "rejected");
  systems.get("b")!.faults.push("lost answer");
  expect((await api.act("apply", id)).status).toBe(502);
  expect(ENTRIES.map(bench.raw)).not.toContain(undefined);
  await deleteLease(store, lostTarget);
  clock.advance(20 * MINUTE);
  await api.cycle();
  expect([ENTRIES.map(bench.raw), await bench.leases()]).toEqual([[undefined, undefined], []]);
  const last = (await bench.details("change_apply_failed")).at(-1)!;
  const states = last.sets!.map(({ target, host }) => [target, host]);
  expect(states.toSorted()).toEqual(ENTRIES.map(({ target }) => [target, "rolled_back"]));
  expect((await api.act("revoke", id)).status).toBe(200);
});

test.each(["a/1", "b/1"])(
  "an interrupted apply is rolled back although the lease on %s is lost",
  async (lostTarget) => {
    const systems = memorySystems(["a", "b"]);
    const [store, clock] = [memoryStore(), testClock()];
    let hasCrashed = false;
    const crashingStore = {
      ...store,
      transact: (...work: Parameters<Store["transact"]>) =>
        hasCrashed ? Promise.reject(new Error("the process is gone")) : store.transact(...work),
    } as Store;
    const api = await core({ store: crashingStore, clock, adapter: routeSystems(systems, store, clock) });
    const id = await bringPlan(api, "approved", ENTRIES);
    // `edits` run in the next write of a system: the process ends while it sets the value of b.
    systems.get("b")!.edits.push(() => (hasCrashed = true));
    await api.act("apply", id).catch(() => undefined);
    // The first letter of a target names its system.
    const raw = () => ENTRIES.map((entry) => systems.get(entry.target[0]!)!.raw({ ...entry, kind: "config" }));
    expect(raw()).not.toContain(undefined);
    await deleteLease(store, lostTarget);
    clock.advance(20 * MINUTE);
    const next = makeCore(await restartDeps(api.deps, { store, adapter: routeSystems(systems, store, clock) }));
    await next.cycle();
    expect([raw(), await store.list("leases", { limit: 9 })]).toEqual([[undefined, undefined], []]);
    expect((await next.change(id)).status).toBe("approved");
  },
);

/** Creates an unanswered rollback, and another process; `moved` systems have other keys, and `down` systems cannot be read. */
async function openWithMovedSystems(
  moved: readonly string[],
  down: readonly string[],
): Promise<{ next: Core; id: string }> {
  const systems = memorySystems(["a", "b"]);
  const [store, clock] = [memoryStore(), testClock()];
  const api = await core({ store, clock, adapter: routeSystems(systems, store, clock) });
  const id = await bringPlan(api, "applied", ENTRIES);
  for (const name of ["a", "b"]) systems.get(name)!.faults.push("lost request");
  expect((await api.act("rollback", id)).status).toBe(502);
  const newSystems = new Map(
    [...systems].map(([name, { system }]) => {
      const place: typeof system.place = (entry) => `moved ${system.place(entry)}`;
      const read: typeof system.read = () => Promise.reject(new Error("it is down"));
      return [
        name,
        { system: { ...system, ...(moved.includes(name) && { place }), ...(down.includes(name) && { read }) } },
      ];
    }),
  );
  clock.advance(20 * MINUTE);
  return {
    next: makeCore(await restartDeps(api.deps, { store, adapter: routeSystems(newSystems, store, clock) })),
    id,
  };
}

test.each([
  [["a"], [], 200],
  [["b"], [], 200],
  [["a", "b"], [], 200],
  [["a"], ["b"], 409],
  [["b"], ["a"], 409],
] as const)(
  "a rollback with over_drift skips moved systems %j and waits for systems that are down %j",
  async (moved, down, status) => {
    const { next, id } = await openWithMovedSystems(moved, down);
    expect((await next.act("rollback", id)).status).toBe(409);
    const forced = await next.post("rollback", { change_id: id, actor: "ops", over_drift: "true", note: "n" });
    expect([forced.status, forced.body.code]).toEqual([status, status === 409 ? "operation_in_progress" : undefined]);
  },
);
