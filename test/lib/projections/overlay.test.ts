/** Writes laid over records: what is read of both, and what that costs. */
import { expect, test } from "vitest";
import { overlay } from "../../../lib/projections/overlay.ts";
import { push, ringKey } from "../../../lib/projections/ring.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { ListOptions, Reads } from "../../../lib/store/store.ts";

/** A store with so many closed changes in it, and how many records were read of it in pages. */
async function closed(count: number) {
  const store = memoryStore();
  for (let from = 1; from <= count; from += 50)
    await store.transact((tx) => {
      for (let seq = from; seq < from + 50; seq++) tx.put("closed", ringKey(seq), `chg_${seq}`);
    });
  let read = 0;
  const list = async (collection: "closed", options: ListOptions) => {
    const page = await store.list(collection, options);
    read += page.length;
    return page;
  };
  return { below: { ...store, list } as Reads, read: () => read };
}

test("a full ring that many records are added to passes over each one that had to go once", async () => {
  const { below, read } = await closed(500);
  const tx = overlay(below);
  let ring = { seq: 500, count: 500 };
  for (let more = 1; more <= 300; more++) ring = await push(tx, "closed", ring, (seq) => `chg_${seq}`, { most: 500 });
  expect(read()).toBeLessThan(300 * 4);
  const ids = (await tx.list("closed", { limit: 1000 })).map(({ id }) => id);
  expect(ids).toEqual(Array.from({ length: 500 }, (_, index) => ringKey(301 + index)));
});

test("what lies behind the oldest that are gone is read as it is, in either direction and by any page", async () => {
  const { below } = await closed(100);
  const tx = overlay(below);
  const list = async (options: ListOptions) => (await tx.list("closed", options)).map(({ id }) => Number(id));
  for (let seq = 1; seq <= 40; seq++) {
    tx.delete("closed", ringKey(seq));
    expect(await list({ limit: 1 })).toEqual([seq + 1]);
  }
  tx.put("closed", ringKey(7), "chg_7");
  tx.delete("closed", ringKey(50));
  expect(await list({ limit: 3 })).toEqual([7, 41, 42]);
  expect(await list({ limit: 2, after: ringKey(7) })).toEqual([41, 42]);
  expect(await list({ limit: 2, after: ringKey(48) })).toEqual([49, 51]);
  expect(await list({ limit: 100, reverse: true })).toEqual([...(await list({ limit: 100 }))].reverse());
  expect(await list({ limit: 2, prefix: ringKey(4).slice(0, -1), after: ringKey(6) })).toEqual([7]);
});
