/** Reading index rows of many targets with few store requests. */
import { expect, test } from "vitest";
import { readTargetIndex } from "../../../lib/changes/target_index.ts";
import { listOtherLeases, selectOtherLease } from "../../../lib/changes/operations/lease.ts";
import {
  type Lease,
  listIndexedOpenChanges,
  formatTargetChangeKey,
  formatTargetKey,
} from "../../../lib/changes/records.ts";
import type { TargetKey } from "../../../lib/changes/rules/target_key.ts";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import { seededIntegers } from "../../support/seeded_integers.ts";
import { roundTrips } from "../../support/round_trips.ts";

/** Targets with common prefixes, and enough of one prefix to fill more than a page. */
const MANY = Array.from({ length: 100 }, (_, number) => `m.${number}`);
const TARGETS = [...MANY, "a", "a.b", "a.B.c", "aa", "b", "ui.banner", "ui.banner.color", "\u{1f600}", "\uffee", "z"];
const targetKeys: TargetKey[] = TARGETS.flatMap((target) =>
  ["t1", "t1\u00e4"].map((tenant_id) => ({ target, tenant_id })),
);
const LARGE: TargetKey = { target: "b", tenant_id: "t1" };
const EMPTY: TargetKey = { target: "none", tenant_id: "t1" };

/** Returns the number of rows of a target: few, or more than a page. */
const countRows = ({ target }: TargetKey, random: (below: number) => number): number =>
  target === "b" || target === "aa" ? 700 : random(14);

async function fillStore(seed: number) {
  const random = seededIntegers(seed);
  const store = memoryStore();
  const put = (view: "live_by_target" | "owners" | "leases", id: string, value: unknown): Promise<void> =>
    store.transact((tx) => tx.put(view, id, value as never));
  for (const targetKey of targetKeys)
    for (let row = countRows(targetKey, random); row > 0; row--) {
      const change_id = `chg_${String(row).padStart(8, "0")}`;
      const id = formatTargetChangeKey({ ...targetKey, change_id });
      await put("live_by_target", id, true);
      await put("owners", id, change_id);
      await put("leases", id, { change_id, state: random(10) < 9 ? "unresolved" : "running" });
    }
  return { ...roundTrips(store), random };
}

async function newestOwner(store: Store, targetKey: TargetKey): Promise<string | null> {
  const [newest] = await store.list("owners", { prefix: formatTargetKey(targetKey), limit: 1, reverse: true });
  return newest?.value ?? null;
}

test.for([1, 2, 3])(
  "reading many targets together returns the same rows as reading each alone, seed %i",
  async (seed) => {
    const { store, take, random } = await fillStore(seed);
    const requested = [...targetKeys.filter(() => random(10) < 8), EMPTY, LARGE];
    // Counts only the requests from here on.
    take();
    // `listIndexedOpenChanges` returns ten ids at most, and reads eleven rows.
    const live = await readTargetIndex(store, "live_by_target", requested, { limit: 11 });
    const owners = await readTargetIndex(store, "owners", requested, { limit: 1, reverse: true });
    const leases = await readTargetIndex(store, "leases", requested, { limit: 10 });
    // Three reads, each of fewer than twelve requests.
    expect(take().requests).toBeLessThan(3 * 12);
    for (const targetKey of requested) {
      const key = formatTargetKey(targetKey);
      const ids = (live.get(key) ?? []).map(({ id }) => id.slice(key.length));
      expect(ids.slice(0, 10), key).toEqual(await listIndexedOpenChanges(store, targetKey));
      expect(owners.get(key)?.[0]?.value ?? null, key).toEqual(await newestOwner(store, targetKey));
      const change = { ...targetKey, change_id: "chg_00000002" } as Change;
      const found = (leases.get(key) ?? []).map(({ value }) => value as Lease);
      const others = await listOtherLeases(store, [change]);
      expect(selectOtherLease(change, found), key).toEqual(selectOtherLease(change, others));
    }
  },
);

test("one target is read with one small page, and no target without a request", async () => {
  const { store, take } = await fillStore(4);
  // Counts only the requests from here on.
  take();
  const found = await readTargetIndex(store, "live_by_target", [LARGE], { limit: 11 });
  expect([take().requests, found.get(formatTargetKey(LARGE))!.length]).toEqual([1, 11]);
  expect((await readTargetIndex(store, "live_by_target", [], { limit: 11 })).size).toBe(0);
  expect(take().requests).toBe(0);
});
