/** Moves that fail or crash at each step: at most one store accepts writes, no record is lost, and the move can be repeated. */
import { expect, test } from "vitest";
import { entryKey, readHead } from "../../../../lib/audit/chain.ts";
import { exportStore } from "../../../../lib/changes/moving/export_store.ts";
import { unfenceStore } from "../../../../lib/changes/moving/fence.ts";
import { migrate } from "../../../../lib/changes/moving/migrate.ts";
import { fastestSha256 } from "../../../../lib/kit/platform.ts";
import { memoryStore } from "../../../../lib/store/memory.ts";
import { clearLoaded } from "../../../../lib/store/engine/move_state.ts";
import { json } from "../../../../lib/store/json.ts";
import type { Store } from "../../../../lib/store/store.ts";
import type { MoveState, BulkAccess } from "../../../../lib/store/bulk_access.ts";
import { testClock } from "../../../support/clock.ts";
import { service, type TestService } from "../../../support/service.ts";

const sha256 = fastestSha256();

/** A fault at one step; the first step has the number 1. */
interface StepFault {
  step: number;
  /**
   * `once`: the step fails. `unanswered`: the step succeeds, but its answer is lost. `for good`: this step and all later ones
   * fail. `after`: all later steps fail.
   */
  kind: "once" | "unanswered" | "for good" | "after";
}

/** Counts the writes of a move to both stores, and makes them fail. */
function withFault(fault: StepFault) {
  let steps = 0;
  const isFaulty = (): boolean => {
    if (fault.kind === "for good") return steps >= fault.step;
    return fault.kind === "after" ? steps > fault.step : steps === fault.step;
  };
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    steps++;
    if (!isFaulty()) return work();
    if (fault.kind === "unanswered") await work();
    throw new Error(`broken at step ${fault.step}`);
  };
  const wrapBulk = (real: BulkAccess): BulkAccess => ({
    ...real,
    commit: (writes, marking) => step(() => real.commit(writes, marking)),
    clear: (loading) => step(() => real.clear(loading)),
  });
  return { wrapBulk, store: (real: Store): Store => ({ ...real, bulk: wrapBulk(real.bulk!) }), steps: () => steps };
}

async function serviceWithProposals(): Promise<TestService> {
  const api = await service({ clock: testClock("2026-11-16T09:00:00.000Z") });
  for (let count = 0; count < 40; count++) await api.propose();
  return api;
}

const isWritable = (store: Store): Promise<boolean> =>
  store
    .transact((tx) => tx.put("review_due", "probe", true))
    .then(
      () => store.transact((tx) => tx.delete("review_due", "probe")).then(() => true),
      () => false,
    );
const isEmpty = async (store: Store): Promise<boolean> => {
  for await (const page of store.bulk!.dump()) if (page.some(({ json }) => json)) return false;
  return true;
};

/** Repeats the move as the command line does: partly loaded records in the destination are deleted first. */
async function repeatMove(from: Store, to: Store, deps: Parameters<typeof migrate>[2]): Promise<void> {
  const state = await to.bulk!.moveState();
  if (state?.state === "loading") await to.bulk!.clear(state);
  await migrate({ from: from.bulk!, name: "a" }, { to, name: "b" }, deps);
}

/** Makes a move fail at each of its steps, calls `check`, and repeats the move; returns the number of steps. */
async function failAtEachStep(
  kind: StepFault["kind"],
  check: (from: Store, to: Store) => Promise<void>,
): Promise<number> {
  for (let step = 1; ; step++) {
    const { deps } = await serviceWithProposals();
    const [from, to] = [deps.store, memoryStore()];
    const { length, head, origin } = (await readHead(from))!;
    const broken = withFault({ step, kind });
    const moving = migrate(
      { from: broken.wrapBulk(from.bulk!), name: "a" },
      { to: broken.store(to), name: "b" },
      { ...deps, sha256 },
    );
    await moving.catch(() => undefined);
    if (broken.steps() < step) return step - 1;
    await check(from, to);
    await repeatMove(from, to, { ...deps, sha256 });
    expect(await readHead(to)).toMatchObject({ length: length + 1, origin });
    const last = (await to.get("audit", entryKey(length + 1)))!.value;
    expect(last).toMatchObject({ event_type: "store_moved", previous_hash: head });
    expect([await isWritable(from), await isWritable(to)]).toEqual([false, true]);
    expect(await from.bulk!.moveState()).toMatchObject({ state: "moved", to: "b" });
  }
}

test.each(["once", "unanswered", "for good", "after"] as const)(
  "after a failed step (%s) at most one store accepts writes; the move can be repeated",
  async (kind) => {
    const steps = await failAtEachStep(kind, async (from, to) => {
      const isDestinationOpen = (await readHead(to)) !== undefined && (await isWritable(to));
      expect([await isWritable(from), isDestinationOpen]).not.toEqual([true, true]);
      // A destination that is loaded in part rejects writes.
      if (!isDestinationOpen && !(await isEmpty(to)))
        expect(await to.bulk!.moveState()).toMatchObject({ state: "loading" });
    });
    expect(steps).toBeGreaterThan(5);
  },
);

test("after a failed move is cancelled, the source accepts writes and the destination is empty", async () => {
  const { deps } = await serviceWithProposals();
  const to = memoryStore();
  // At this step the source rejects writes already; a move that fails then empties the destination.
  const broken = withFault({ step: 4, kind: "once" });
  const source = { from: deps.store.bulk!, name: "a" };
  await expect(migrate(source, { to: broken.store(to), name: "b" }, { ...deps, sha256 })).rejects.toThrow("broken");
  expect([await isWritable(deps.store), await isEmpty(to)]).toEqual([false, true]);
  await unfenceStore(source);
  expect(await isWritable(deps.store)).toBe(true);
  await expect(unfenceStore(source)).rejects.toThrow("a is not fenced");
});

test("a moved store can be moved again only to the same destination", async () => {
  const { deps } = await serviceWithProposals();
  const from = { from: deps.store.bulk!, name: "a" };
  const ports = { ...deps, sha256 };
  const { length } = (await readHead(deps.store))!;
  await migrate(from, { to: memoryStore(), name: "b" }, ports);
  await expect(migrate(from, { to: memoryStore(), name: "c" }, ports)).rejects.toThrow(
    "a cannot be moved: it moved to b",
  );
  const to = memoryStore();
  await migrate(from, { to, name: "b" }, ports);
  expect(await readHead(to)).toMatchObject({ length: length + 1 });
});

test("a destination that loses an entry is cleared", async () => {
  const { deps } = await serviceWithProposals();
  const to = memoryStore();
  const losing: Store = {
    ...to,
    bulk: {
      ...to.bulk!,
      commit: (writes, marking) =>
        to.bulk!.commit(
          writes.filter(({ collection, id }) => collection !== "audit" || Number(id) !== 7),
          marking,
        ),
    },
  };
  const moving = migrate({ from: deps.store.bulk!, name: "a" }, { to: losing, name: "b" }, { ...deps, sha256 });
  await expect(moving).rejects.toThrow("its log does not hold at entry 7");
  expect(await isEmpty(to)).toBe(true);
});

test("an aborted export leaves a fenced store, which can be released", async () => {
  const { deps } = await serviceWithProposals();
  const source = { from: deps.store.bulk!, name: "a" };
  let chunks = 0;
  for await (const _ of exportStore(source, { kind: "export", to: "f" }, { ...deps, sha256 }))
    if (++chunks === 2) break;
  expect(await source.from.moveState()).toMatchObject({ state: "moving", to: "f" });
  await unfenceStore(source);
  for await (const _ of exportStore(source, { kind: "backup", to: "f" }, { ...deps, sha256 })) break;
  expect(await isWritable(deps.store)).toBe(true);
});

test("of two concurrent moves of one store exactly one succeeds", async () => {
  const { deps } = await serviceWithProposals();
  const { store } = deps;
  const stores = [memoryStore(), memoryStore()];
  const results = await Promise.allSettled(
    stores.map((to, index) =>
      migrate({ from: store.bulk!, name: "a" }, { to, name: `b${index}` }, { ...deps, sha256 }),
    ),
  );
  const moved = results.filter(({ status }) => status === "fulfilled");
  expect(moved.length).toBe(1);
  const winner = stores[results.findIndex(({ status }) => status === "fulfilled")]!;
  const state = (await store.bulk!.moveState()) as MoveState & { to: string };
  expect(state.to).toBe(`b${stores.indexOf(winner)}`);
  expect(await isEmpty(stores.find((store) => store !== winner)!)).toBe(true);
});

test("while a failed move is cleared, another process can neither load nor clear", async () => {
  const to = memoryStore();
  const { dump, commit } = to.bulk!;
  const loading = { state: "loading", move: "left", from: "a", at: "2026-11-16T09:00:00.000Z" } as const;
  const record = (id: string) => ({ collection: "review_due", id, revision: 1, json: json(true) });
  await commit([], { from: undefined, to: loading });
  // The store is cleared by pages of 100 records.
  const records = Array.from({ length: 150 }, (_, number) => record(String(number).padStart(3, "0")));
  await commit(records, { from: loading, to: loading });
  const errors: unknown[] = [];
  const recordError = (error: Error): void => void errors.push(error.message);
  // At each page that is deleted, one process tries to load further records and another tries to clear the store.
  const dumpWhileOthersWrite = async function* () {
    for await (const page of dump()) {
      await commit([record("late")], { from: loading, to: loading }).catch(recordError);
      await to.bulk!.clear(loading).catch(recordError);
      yield page;
    }
  };
  await clearLoaded({ dump: dumpWhileOthersWrite, commit }, loading);
  // Two errors for each of the two pages.
  expect(errors).toEqual(Array(4).fill("another move has taken over the store that this one loads"));
  expect([await to.bulk!.moveState(), await isEmpty(to)]).toEqual([undefined, true]);
});

test("a store whose log has a missing entry is not moved", async () => {
  const { deps } = await serviceWithProposals();
  const { store } = deps;
  const bulk = store.bulk!;
  const changed: BulkAccess = {
    ...bulk,
    async *dump() {
      for await (const page of bulk.dump())
        yield page.filter(({ collection, id }) => collection !== "audit" || Number(id) !== 7);
    },
  };
  const to = memoryStore();
  const moving = migrate({ from: changed, name: "a" }, { to, name: "b" }, { ...deps, sha256 });
  await expect(moving).rejects.toThrow("its log does not hold at entry 7: its id is 0000000000000008");
  expect([await isWritable(store), await isEmpty(to)]).toEqual([false, true]);
});
