/**
 * A move that fails, or whose process dies, at each of its steps: no two stores take writes, none is lost, and it can be ended.
 */
import { expect, test } from "vitest";
import { readHead } from "../../../../lib/audit/chain.ts";
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

/** The fault at the step of a number, and at all later steps. */
interface Breaking {
  at: number;
  /**
   * Once: the step fails. Unanswered: it is done, and its answer is lost. For good: the process is gone, and nothing is put
   * right. After: gone when the step was done.
   */
  how: "once" | "unanswered" | "for good" | "after";
}

/** Counts the steps of a move, on both sides, and breaks it. */
function breaking({ at, how }: Breaking) {
  let steps = 0;
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    steps++;
    const isIt = how === "once" || how === "unanswered" ? steps === at : how === "after" ? steps > at : steps >= at;
    if (isIt && how === "unanswered") await work();
    if (isIt) throw new Error(`broken at step ${at}`);
    return work();
  };
  const whole = (real: BulkAccess): BulkAccess => ({
    ...real,
    commit: (writes, marking) => step(() => real.commit(writes, marking)),
    clear: (loading) => step(() => real.clear(loading)),
  });
  return { whole, store: (real: Store): Store => ({ ...real, bulk: whole(real.bulk!) }), steps: () => steps };
}

async function lived(): Promise<TestService> {
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

/** Runs the move again, as the command line does: what it left in the destination is removed first. */
async function again(from: Store, to: Store, deps: Parameters<typeof migrate>[2]): Promise<void> {
  const left = await to.bulk!.moveState();
  if (left?.state === "loading") await to.bulk!.clear(left);
  await migrate({ from: from.bulk!, name: "a" }, { to, name: "b" }, deps);
}

/** Breaks a move at each of its steps, and then runs it again. */
async function atEachStep(how: Breaking["how"], look: (from: Store, to: Store) => Promise<void>): Promise<number> {
  for (let at = 1; ; at++) {
    const { deps } = await lived();
    const [from, to] = [deps.store, memoryStore()];
    const { length, head, origin } = (await readHead(from))!;
    const broken = breaking({ at, how });
    const moving = migrate(
      { from: broken.whole(from.bulk!), name: "a" },
      { to: broken.store(to), name: "b" },
      { ...deps, sha256 },
    );
    await moving.catch(() => undefined);
    if (broken.steps() < at) return at - 1;
    await look(from, to);
    await again(from, to, { ...deps, sha256 });
    expect(await readHead(to)).toMatchObject({ length: length + 1, origin });
    const last = (await to.get("audit", String(length + 1).padStart(16, "0")))!.value;
    expect(last).toMatchObject({ event_type: "store_moved", previous_hash: head });
    expect([await isWritable(from), await isWritable(to)]).toEqual([false, true]);
    expect(await from.bulk!.moveState()).toMatchObject({ state: "moved", to: "b" });
  }
}

test.each(["once", "unanswered", "for good", "after"] as const)(
  "a step that breaks (%s) never leaves two stores that take writes, and the move can be repeated",
  async (how) => {
    const steps = await atEachStep(how, async (from, to) => {
      const isDestinationOpen = (await readHead(to)) !== undefined && (await isWritable(to));
      expect([await isWritable(from), isDestinationOpen]).not.toEqual([true, true]);
      // Whatever was loaded is either complete and open, or takes no writes.
      if (!isDestinationOpen && !(await isEmpty(to)))
        expect(await to.bulk!.moveState()).toMatchObject({ state: "loading" });
    });
    expect(steps).toBeGreaterThan(5);
  },
);

test("a move that failed is given up: the source takes writes, and the destination stays empty", async () => {
  const { deps } = await lived();
  const to = memoryStore();
  const broken = breaking({ at: 4, how: "once" });
  const source = { from: deps.store.bulk!, name: "a" };
  await expect(migrate(source, { to: broken.store(to), name: "b" }, { ...deps, sha256 })).rejects.toThrow("broken");
  expect([await isWritable(deps.store), await isEmpty(to)]).toEqual([false, true]);
  await unfenceStore(source);
  expect(await isWritable(deps.store)).toBe(true);
  await expect(unfenceStore(source)).rejects.toThrow("a is not fenced");
});

test("a fenced store moves to one destination only, and again into it when that one is empty", async () => {
  const { deps } = await lived();
  const from = { from: deps.store.bulk!, name: "a" };
  const given = { ...deps, sha256 };
  const { length } = (await readHead(deps.store))!;
  await migrate(from, { to: memoryStore(), name: "b" }, given);
  await expect(migrate(from, { to: memoryStore(), name: "c" }, given)).rejects.toThrow(
    "a cannot be moved: it moved to b",
  );
  const to = memoryStore();
  await migrate(from, { to, name: "b" }, given);
  expect(await readHead(to)).toMatchObject({ length: length + 1 });
});

test("a destination that changes what it is given is not opened", async () => {
  const { deps } = await lived();
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

test("an export that nobody reads to its end leaves a fenced store, which can be released", async () => {
  const { deps } = await lived();
  const source = { from: deps.store.bulk!, name: "a" };
  let pieces = 0;
  for await (const _ of exportStore(source, { kind: "export", to: "f" }, { ...deps, sha256 }))
    if (++pieces === 2) break;
  expect(await source.from.moveState()).toMatchObject({ state: "moving", to: "f" });
  await unfenceStore(source);
  for await (const _ of exportStore(source, { kind: "backup", to: "f" }, { ...deps, sha256 })) break;
  expect(await isWritable(deps.store)).toBe(true);
});

test("two moves of one store do not get in each other's way: one goes on", async () => {
  const { deps } = await lived();
  const { store } = deps;
  const stores = [memoryStore(), memoryStore()];
  const ends = await Promise.allSettled(
    stores.map((to, index) =>
      migrate({ from: store.bulk!, name: "a" }, { to, name: `b${index}` }, { ...deps, sha256 }),
    ),
  );
  const moved = ends.filter(({ status }) => status === "fulfilled");
  expect(moved.length).toBe(1);
  const winner = stores[ends.findIndex(({ status }) => status === "fulfilled")]!;
  const mark = (await store.bulk!.moveState()) as MoveState & { to: string };
  expect(mark.to).toBe(`b${stores.indexOf(winner)}`);
  expect(await isEmpty(stores.find((one) => one !== winner)!)).toBe(true);
});

test("leftovers of a move are cleared by one process, and a late loader writes nothing there", async () => {
  const to = memoryStore();
  const { dump, commit } = to.bulk!;
  const left = { state: "loading", move: "left", from: "a", at: "2026-11-16T09:00:00.000Z" } as const;
  const record = (id: string) => ({ collection: "review_due", id, revision: 1, json: json(true) });
  await commit([], { from: undefined, to: left });
  const all = Array.from({ length: 150 }, (_, number) => record(String(number).padStart(3, "0")));
  await commit(all, { from: left, to: left });
  const refused: unknown[] = [];
  const reported = (error: Error): void => void refused.push(error.message);
  // A caller who loads goes on at each page that is taken out, and another wants to take it out as well.
  const meanwhile = async function* () {
    for await (const page of dump()) {
      await commit([record("late")], { from: left, to: left }).catch(reported);
      await to.bulk!.clear(left).catch(reported);
      yield page;
    }
  };
  await clearLoaded({ dump: meanwhile, commit }, left);
  expect(refused).toEqual(Array(4).fill("another move has taken over the store that this one loads"));
  expect([await to.bulk!.moveState(), await isEmpty(to)]).toEqual([undefined, true]);
});

test("a log that does not hold is not moved", async () => {
  const { deps } = await lived();
  const { store } = deps;
  const whole = store.bulk!;
  const changed: BulkAccess = {
    ...whole,
    async *dump() {
      for await (const page of whole.dump())
        yield page.filter(({ collection, id }) => collection !== "audit" || Number(id) !== 7);
    },
  };
  const to = memoryStore();
  const moving = migrate({ from: changed, name: "a" }, { to, name: "b" }, { ...deps, sha256 });
  await expect(moving).rejects.toThrow("its log does not hold at entry 7: its id is 0000000000000008");
  expect([await isWritable(store), await isEmpty(to)]).toEqual([false, true]);
});
