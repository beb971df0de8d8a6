import { expect } from "vitest";
import type { ListOptions, Store } from "../../lib/store/store.ts";
import type { StoreCase } from "./store_contract.ts";
import { put, remove } from "./store_records.ts";

const UNSORTED = ["m", "B", "b", "a", "10", "9", "é", "z", "aa", "~", "Z", " "];
const SORTED = [" ", "10", "9", "B", "Z", "a", "aa", "b", "m", "z", "~", "é"];

const fill = (store: Store, ids: readonly string[]): Promise<void> =>
  store.transact((tx) => {
    for (const id of ids) tx.put("things", id, { id });
  });

const ids = async (reader: Pick<Store, "list">, options: ListOptions): Promise<string[]> =>
  (await reader.list("things", options)).map(({ id }) => id);

/** Pages: order, where they begin and end, and what a transaction sees of its own. */
export const pageCases: readonly StoreCase[] = [
  {
    name: "a list is in order of ids, whatever order they came in",
    async run({ store }) {
      await fill(store, UNSORTED);
      expect(await ids(store, { limit: 100 })).toEqual(SORTED);
      expect(await store.transact((tx) => ids(tx, { limit: 100 }))).toEqual(SORTED);
      await put(store, "things", "A", 1);
      expect(await ids(store, { limit: 5 })).toEqual([" ", "10", "9", "A", "B"]);
    },
  },
  {
    name: "ids are ordered by UTF-16 code units, also beyond the basic plane",
    async run({ store }) {
      await fill(store, ["\uff5e", "🙂", "é", "\ufffd", "𝒳"]);
      expect(await ids(store, { limit: 9 })).toEqual(["é", "𝒳", "🙂", "\uff5e", "\ufffd"]);
    },
  },
  {
    name: "a list gives the records that get gives",
    async run({ store }) {
      await fill(store, ["b", "a"]);
      await put(store, "things", "a", { again: true });
      const [a, b] = [await store.get("things", "a"), await store.get("things", "b")];
      expect(await store.list("things", { limit: 9 })).toEqual([a, b]);
      expect(a?.revision).toBe(2);
    },
  },
  {
    name: "limit is the most that comes, and a whole number of 0 or more",
    async run({ store }) {
      await fill(store, UNSORTED);
      for (const limit of [0, 1, 5, 12]) expect(await ids(store, { limit })).toEqual(SORTED.slice(0, limit));
      expect(await ids(store, { limit: 1000 })).toEqual(SORTED);
      for (const limit of [-1, 1.5, Number.NaN]) {
        await expect(store.list("things", { limit }), `${limit}`).rejects.toThrow(RangeError);
        await expect(
          store.transact((tx) => tx.list("things", { limit })),
          `${limit} in a transaction`,
        ).rejects.toThrow(RangeError);
      }
    },
  },
  {
    name: "after begins behind an id, whether or not it is there",
    async run({ store }) {
      await fill(store, UNSORTED);
      expect(await ids(store, { after: "a", limit: 3 })).toEqual(["aa", "b", "m"]);
      expect(await ids(store, { after: "ab", limit: 2 })).toEqual(["b", "m"]);
      expect(await ids(store, { after: "", limit: 2 })).toEqual([" ", "10"]);
      expect(await ids(store, { after: "é", limit: 2 })).toEqual([]);
      expect(await store.transact((tx) => ids(tx, { after: "a", limit: 3 }))).toEqual(["aa", "b", "m"]);
    },
  },
  {
    name: "reverse counts down, and after begins below an id",
    async run({ store }) {
      await fill(store, UNSORTED);
      expect(await ids(store, { limit: 100, reverse: true })).toEqual([...SORTED].reverse());
      expect(await ids(store, { limit: 2, reverse: true })).toEqual(["é", "~"]);
      expect(await ids(store, { after: "b", limit: 3, reverse: true })).toEqual(["aa", "a", "Z"]);
      expect(await ids(store, { after: "ab", limit: 2, reverse: true })).toEqual(["aa", "a"]);
      expect(await ids(store, { after: " ", limit: 2, reverse: true })).toEqual([]);
      expect(await store.transact((tx) => ids(tx, { after: "b", limit: 2, reverse: true }))).toEqual(["aa", "a"]);
    },
  },
  {
    name: "a list in a transaction shows its own puts and deletes in place",
    async run({ store }) {
      await fill(store, ["b", "d", "f"]);
      await store.transact(async (tx) => {
        for (const id of ["a", "c", "g"]) tx.put("things", id, "own");
        tx.put("things", "d", "own");
        tx.delete("things", "b");
        tx.delete("things", "f");
        tx.put("things", "f", "again");
        tx.put("things", "gone", "soon");
        tx.delete("things", "gone");
        expect(await ids(tx, { limit: 100 })).toEqual(["a", "c", "d", "f", "g"]);
        expect(await ids(tx, { limit: 2 })).toEqual(["a", "c"]);
        expect(await ids(tx, { after: "c", limit: 2 })).toEqual(["d", "f"]);
        expect(await ids(tx, { after: "f", limit: 2, reverse: true })).toEqual(["d", "c"]);
        const values = (await tx.list("things", { limit: 100 })).map(({ value }) => value);
        expect(values).toEqual(["own", "own", "own", "again", "own"]);
      });
      expect(await ids(store, { limit: 100 })).toEqual(["a", "c", "d", "f", "g"]);
    },
  },
  {
    name: "a page is full although a transaction has deleted what came first",
    async run({ store }) {
      await fill(store, ["a", "b", "c", "d", "e"]);
      const page = await store.transact(async (tx) => {
        for (const id of ["a", "b", "c"]) tx.delete("things", id);
        return ids(tx, { limit: 2 });
      });
      expect(page).toEqual(["d", "e"]);
    },
  },
  {
    name: "5,000 records are paged through without a gap or a repeat, both ways",
    async run({ store }) {
      const all = Array.from({ length: 5000 }, (_, index) => `id-${String(index).padStart(5, "0")}`);
      for (let from = 0; from < all.length; from += 500) await fill(store, all.slice(from, from + 500));
      for (const reverse of [false, true]) {
        const seen: string[] = [];
        for (let pages = 0; pages < 9; pages++) {
          const after = seen.at(-1);
          seen.push(...(await ids(store, { limit: 700, reverse, ...(after !== undefined && { after }) })));
        }
        expect(seen).toEqual(reverse ? [...all].reverse() : all);
      }
    },
  },
  {
    name: "a page may hold records of very different sizes",
    async run({ store }) {
      const sizes = [1, 200_000, 3, 20_000, 5, 100_000];
      for (const [index, size] of sizes.entries()) await put(store, "things", `r${index}`, "x".repeat(size));
      const page = await store.list("things", { limit: 10 });
      expect(page.map(({ value }) => value.length)).toEqual(sizes);
    },
  },
  {
    name: "a page shows records put, replaced and deleted over time as they last were",
    async run({ store }) {
      for (let round = 0; round < 5; round++) {
        for (const id of ["a", "b", "c", "d"]) await put(store, "things", id, `${id}${round}`);
        await remove(store, "things", "abcd"[round % 4]!);
      }
      const page = await store.list("things", { limit: 10 });
      expect(page.map(({ value }) => value)).toEqual(["b4", "c4", "d4"]);
    },
  },
  {
    name: "prefix shows what begins with it, and after, reverse and limit count within that",
    async run({ store }) {
      await fill(store, ["a", "a/", "a/1", "a/2", "a/3", "a0", "b/1", "a/\uffff", "a/🙂"]);
      const all = ["a/", "a/1", "a/2", "a/3", "a/🙂", "a/\uffff"];
      const pages = async (reader: Pick<Store, "list">): Promise<void> => {
        expect(await ids(reader, { prefix: "a/", limit: 9 })).toEqual(all);
        expect(await ids(reader, { prefix: "a/", limit: 9, reverse: true })).toEqual([...all].reverse());
        expect(await ids(reader, { prefix: "a/", limit: 2 })).toEqual(["a/", "a/1"]);
        expect(await ids(reader, { prefix: "a/", after: "a/1", limit: 2 })).toEqual(["a/2", "a/3"]);
        expect(await ids(reader, { prefix: "a/", after: "a", limit: 1 })).toEqual(["a/"]);
        expect(await ids(reader, { prefix: "a/", after: "a0", limit: 9 })).toEqual([]);
        expect(await ids(reader, { prefix: "a/", after: "a/2", limit: 9, reverse: true })).toEqual(["a/1", "a/"]);
        expect(await ids(reader, { prefix: "a/", after: "b/1", limit: 1, reverse: true })).toEqual(["a/\uffff"]);
        expect(await ids(reader, { prefix: "a/", after: "a/", limit: 9, reverse: true })).toEqual([]);
        expect(await ids(reader, { prefix: "a/", after: "a", limit: 9, reverse: true })).toEqual([]);
        expect(await ids(reader, { prefix: "c", limit: 9 })).toEqual([]);
        expect(await ids(reader, { prefix: "", limit: 99 })).toHaveLength(9);
      };
      await pages(store);
      await store.transact(async (tx) => {
        for (const id of ["a", "a/2", "b/1"]) tx.delete("things", id);
        for (const id of ["a", "a/2", "b/1"]) tx.put("things", id, 1);
        await pages(tx);
      });
    },
  },
  {
    name: "keysOnly gives ids, and of a transaction its own too",
    async run({ store }) {
      await fill(store, ["a", "b", "c"]);
      expect(await store.list("things", { limit: 2, keysOnly: true })).toEqual([{ id: "a" }, { id: "b" }]);
      await store.transact(async (tx) => {
        tx.put("things", "aa", 1);
        tx.delete("things", "b");
        const page = await tx.list("things", { limit: 3, keysOnly: true });
        expect(page).toEqual([{ id: "a" }, { id: "aa" }, { id: "c" }]);
      });
    },
  },
  {
    name: "getMany gives the records in the order of the ids, undefined for what is not there",
    async run({ store }) {
      await fill(store, ["a", "b", "🙂"]);
      expect(await store.getMany("things", [])).toEqual([]);
      const asked = ["🙂", "x", "a", "a"];
      const record = (id: string) => ({ id, revision: 1, value: { id } });
      expect(await store.getMany("things", asked)).toEqual([record("🙂"), undefined, record("a"), record("a")]);
      await store.transact(async (tx) => {
        tx.put("things", "x", "own");
        tx.delete("things", "a");
        const page = await tx.getMany("things", asked);
        expect(page.map((stored) => stored?.value)).toEqual([{ id: "🙂" }, "own", undefined, undefined]);
      });
    },
  },
];
