/** Failed plans: interrupted rollbacks, leases, ownership of targets, and erasure. */
import { expect, test } from "vitest";
import { finishErasures } from "../../../../lib/operations/erasures.ts";
import { memories } from "../../../../lib/projections/memory.ts";
import { outcomes } from "../../../../lib/projections/outcomes.ts";
import { memoryStore } from "../../../../lib/store/memory.ts";
import type { Store } from "../../../../lib/store/store.ts";
import { targetAdapter } from "../../../../lib/targets/adapter.ts";
import { gateAdapter } from "../../../../lib/targets/gate.ts";
import { routingAdapter } from "../../../../lib/targets/routing.ts";
import { MINUTE, testClock } from "../../../support/clock.ts";
import { core, makeCore } from "../../../support/core.ts";
import { restartDeps } from "../../../support/deps.ts";
import type { Manifest } from "../../../support/intents.ts";
import { memoryTarget, type WriteFault } from "../../../support/memory_target.ts";
import {
  bringPlan,
  memorySystems,
  planBench,
  type PlanEntry,
  planEntry,
  proposePlan,
  routeSystems,
} from "../../../support/plan_bench.ts";

/** A write without a fault, in a list of faults. */
const NO_FAULT = undefined as unknown as WriteFault;
const ENTRIES = [planEntry("a", 1), planEntry("b", 1), planEntry("c", 1)];

test("a failed plan whose rollback a crash interrupted is rolled back, and is not applied", async () => {
  const systems = memorySystems(["a", "b"]);
  const [store, clock] = [memoryStore(), testClock()];
  let hasCrashed = false;
  const crashingStore: Store = {
    ...store,
    transact: (...work: Parameters<Store["transact"]>) =>
      hasCrashed ? Promise.reject(new Error("the process is gone")) : store.transact(...work),
  } as Store;
  const api = await core({ store: crashingStore, clock, adapter: routeSystems(systems, crashingStore, clock) });
  const id = await bringPlan(api, "approved", ENTRIES.slice(0, 2));
  const [systemA, systemB] = [systems.get("a")!, systems.get("b")!];
  // The apply gets no answer from b, and its rollback is rejected by a.
  systemA.faults.push(NO_FAULT, "rejected");
  systemB.faults.push("lost answer");
  expect((await api.act("apply", id)).status).toBe(502);
  clock.advance(2 * MINUTE);
  // `edits` run at the next writes to a system.
  for (const { edits } of [systemA, systemB])
    edits.push(() => {
      hasCrashed = true;
      throw new Error("the process is gone");
    });
  await api.cycle().catch(() => undefined);
  expect(hasCrashed).toBe(true);
  for (const { edits } of [systemA, systemB]) edits.length = 0;
  clock.advance(20 * MINUTE);
  const next = makeCore(await restartDeps(api.deps, { store, adapter: routeSystems(systems, store, clock) }));
  await next.cycle();
  expect((await next.change(id)).status).toBe("approved");
  const values = ENTRIES.slice(0, 2).map((entry) => systems.get(entry.target[0]!)!.raw({ ...entry, kind: "config" }));
  expect(values).toEqual([undefined, undefined]);
  expect(await store.list("leases", { limit: 9 })).toEqual([]);
  const types = (await next.audit("?limit=100")).map(({ event_type }) => event_type as string);
  expect(types).not.toContain("change_applied");
});

test.each([[["a", "b"]], [["a"]], [["b"]]])(
  "revoke deletes the leases of a plan only if all their systems have moved: %j",
  async (moved) => {
    const systems = memorySystems(["a", "b", "c"]);
    const [store, clock] = [memoryStore(), testClock()];
    const api = await core({ store, clock, adapter: routeSystems(systems, store, clock) });
    const id = await bringPlan(api, "approved", ENTRIES);
    // The apply fails on c, and its rollback on a and b. A restart tries the rollback again on systems that have not moved.
    for (const name of ["a", "b"]) systems.get(name)!.faults.push(NO_FAULT, "rejected", "rejected");
    systems.get("c")!.faults.push("rejected");
    expect((await api.act("apply", id)).status).toBe(502);
    const leases = () => store.list("leases", { limit: 9 });
    expect(await leases()).toHaveLength(2);
    const movedSystems = new Map(
      [...systems].map(([name, { system }]) => {
        const place: typeof system.place = (entry) => `moved ${system.place(entry)}`;
        return [name, { system: moved.includes(name) ? { ...system, place } : system }];
      }),
    );
    const next = makeCore(await restartDeps(api.deps, { store, adapter: routeSystems(movedSystems, store, clock) }));
    // The revoke tries it once more.
    for (const name of ["a", "b"]) systems.get(name)!.faults.push("rejected");
    const revoked = await next.act("revoke", id);
    const canRevoke = moved.length === 2;
    expect(revoked.status).toBe(canRevoke ? 200 : 409);
    expect(await leases()).toHaveLength(canRevoke ? 0 : 2);
  },
);

test("two entries of a plan cannot set the same key of a system", async () => {
  const [store, clock] = [memoryStore(), testClock()];
  const { system } = memoryTarget();
  const place: typeof system.place = ({ target }) => `memory ${target.split("/")[1]}`;
  const adapter = routingAdapter(
    ["a", "b"].map((name) => ({
      name,
      match: [`${name}/*`],
      adapter: targetAdapter({ ...system, place, name }, { store, clock }),
    })),
  );
  const api = await core({ store, clock, adapter });
  const proposed = proposePlan(api, [planEntry("a", 1), planEntry("b", 1)]);
  await expect(proposed).rejects.toMatchObject({ code: "target_conflict" });
  expect(await proposePlan(api, [planEntry("a", 1), planEntry("b", 2)])).toMatch(/^chg_/);
});

test("a rejected restore of a plan with the name of one of its targets logs no drift", async () => {
  const { api, store } = await planBench(memorySystems(["a", "b", "c"]));
  const id = await bringPlan(api, "applied", ENTRIES, { target: ENTRIES[0]!.target });
  expect(await api.post("restore", { change_id: id })).toMatchObject({
    status: 400,
    body: { code: "illegal_transition" },
  });
  expect(await store.list("drift", { limit: 9 })).toEqual([]);
});

test("after a partial rollback of a plan no change of a restored target is minor", async () => {
  const minor = { kinds: ["config"], targets: ["*"], max_affected_users: 50, max_risk: "low" };
  const intent = { policy: { minor, self_approval: true, required_approvers: { standard: 1, major: 2 } } } as Manifest;
  const { api, systems } = await planBench(memorySystems(["a", "b", "c"]), { intent });
  const id = await bringPlan(api, "applied", ENTRIES);
  systems.get("b")!.faults.push("rejected");
  expect((await api.act("rollback", id)).status).toBe(502);
  const change = { tier: "minor", kind: "config", value: 1, affected_users: 5, risk: "low", reversible: true } as const;
  expect((await api.propose({ ...change, target: "a/1" })).tier).toBe("standard");
  expect((await api.propose({ ...change, target: "a/2" })).tier).toBe("minor");
});

test.each([false, true])(
  "a failed rollback revokes a release of the plan, but not if an edit blocks it (edited: %s)",
  async (isEdited) => {
    const more = [{ name: "gate", match: ["deploy/*"], adapter: gateAdapter("gate") }];
    const { api, systems, store, details, overwrite } = await planBench(memorySystems(["a", "b"]), { more });
    const [firstEntry, secondEntry] = ENTRIES as [PlanEntry, PlanEntry];
    const release = planEntry("deploy", "1/prod", {
      repository_id: 1,
      repository: "o/r",
      environment: "prod",
      head: "a".repeat(40),
    });
    const id = await bringPlan(api, "applied", [firstEntry, release, secondEntry]);
    if (isEdited) overwrite(secondEntry, '"edited"');
    else systems.get("b")!.faults.push("rejected");
    expect((await api.act("rollback", id)).status).toBe(isEdited ? 409 : 502);
    const owned = (await store.list("owners", { limit: 9 })).map(({ id: key }) => key.split("\n")[0]);
    expect(owned).toEqual(isEdited ? ["a/1", "b/1", "deploy/1/prod"] : ["b/1"]);
    const revokedRelease = expect.objectContaining({ target: "deploy/1/prod", adapter: null, target_holds: null });
    const [failed] = await details("change_rollback_failed");
    expect(failed!.sets).toEqual(
      isEdited ? expect.not.arrayContaining([revokedRelease]) : expect.arrayContaining([revokedRelease]),
    );
    if (isEdited) return;
    await api.must("rollback", id);
    expect((await api.change(id)).status).toBe("rolled_back");
  },
);

test("an erasure deletes all values of a plan although one of its systems is gone", async () => {
  const { api, store, systems, clock } = await planBench(memorySystems(["a", "b"]));
  const id = await bringPlan(api, "approved", [planEntry("a", 1, "one"), planEntry("b", 1, "two")]);
  systems.get("b")!.faults.push("lost request");
  expect((await api.act("apply", id)).status).toBe(502);
  clock.advance(30 * MINUTE);
  await api.cycle();
  await api.must("revoke", id);
  expect((await api.post("erase", { change_id: id, actor: "ana", note: "asked for" })).status).toBe(200);
  const effects = async () => JSON.stringify(await store.list("effects", { limit: 99 }));
  expect(await effects()).toContain("two");
  systems.delete("a");
  const next = makeCore(await restartDeps(api.deps, { store, adapter: routeSystems(systems, store, clock) }));
  // An erasure waits until the projections have passed its entry.
  await store.transact((tx) => {
    for (const name of [memories.name, outcomes.name]) tx.put("cursors", name, { entry: 1e6 } as never);
  });
  await finishErasures(next.deps);
  expect(await effects()).not.toContain("two");
  // The erasure stays due, after one try, since the system of `a` is gone.
  expect(await store.list("erasures_due", { limit: 9 })).toMatchObject([{ value: { looked: 1 } }]);
});
