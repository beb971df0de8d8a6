/** Cases of the store contract about lists: order, limits, pages, prefixes, and the transaction's own writes. */
import type { ListOptions } from "../../lib/store/store.ts";
import type { AnyReads, AnyStore } from "./any_store.ts";
import { equal, rejects } from "./check.ts";
import type { StoreCase } from "./store_cases.ts";
import { put, remove } from "./store_records.ts";

const UNSORTED = ["m", "B", "b", "a", "10", "9", "é", "z", "aa", "~", "Z", " "];
const SORTED = [" ", "10", "9", "B", "Z", "a", "aa", "b", "m", "z", "~", "é"];

/** Puts records with these ids, in concurrent transactions of 50 records. */
const fill = async (store: AnyStore, ids: readonly string[]): Promise<void> => {
  const parts = Array.from({ length: Math.ceil(ids.length / 50) }, (_, part) => ids.slice(part * 50, part * 50 + 50));
  await Promise.all(
    parts.map((part) =>
      store.transact((tx) => {
        for (const id of part) tx.put("things", id, { id });
      }),
    ),
  );
};

const listIds = async (reader: AnyReads, options: ListOptions): Promise<string[]> =>
  (await reader.list("things", options)).map(({ id }) => id);

export const pageCases: readonly StoreCase[] = [
  {
    name: "a list is in order of ids, whatever order they were put in",
    async run({ store }) {
      await fill(store, UNSORTED);
      equal(await listIds(store, { limit: 100 }), SORTED);
      equal(await store.transact((tx) => listIds(tx, { limit: 100 })), SORTED);
      await put(store, "things", "A", 1);
      equal(await listIds(store, { limit: 5 }), [" ", "10", "9", "A", "B"]);
    },
  },
  {
    name: "ids are ordered by UTF-16 code units, also beyond the basic plane",
    async run({ store }) {
      await fill(store, ["\uff5e", "🙂", "é", "\ufffd", "𝒳"]);
      equal(await listIds(store, { limit: 9 }), ["é", "𝒳", "🙂", "\uff5e", "\ufffd"]);
    },
  },
  {
    name: "a list returns the same records as get",
    async run({ store }) {
      await fill(store, ["b", "a"]);
      await put(store, "things", "a", { again: true });
      const [a, b] = [await store.get("things", "a"), await store.get("things", "b")];
      equal(await store.list("things", { limit: 9 }), [a, b]);
      equal(a?.revision, 2);
    },
  },
  {
    name: "limit bounds a list, and must be a whole number of 0 or more",
    async run({ store }) {
      await fill(store, UNSORTED);
      for (const limit of [0, 1, 5, 12]) equal(await listIds(store, { limit }), SORTED.slice(0, limit));
      equal(await listIds(store, { limit: 1000 }), SORTED);
      for (const limit of [-1, 1.5, Number.NaN]) {
        await rejects(store.list("things", { limit }), RangeError, `${limit}`);
        await rejects(
          store.transact((tx) => tx.list("things", { limit })),
          RangeError,
          `${limit} in a transaction`,
        );
      }
    },
  },
  {
    name: "a list starts after the id in after, whether or not that id exists",
    async run({ store }) {
      await fill(store, UNSORTED);
      equal(await listIds(store, { after: "a", limit: 3 }), ["aa", "b", "m"]);
      equal(await listIds(store, { after: "ab", limit: 2 }), ["b", "m"]);
      equal(await listIds(store, { after: "", limit: 2 }), [" ", "10"]);
      equal(await listIds(store, { after: "é", limit: 2 }), []);
      equal(await store.transact((tx) => listIds(tx, { after: "a", limit: 3 })), ["aa", "b", "m"]);
    },
  },
  {
    name: "with reverse, a list is in descending order and starts below the id in after",
    async run({ store }) {
      await fill(store, UNSORTED);
      equal(await listIds(store, { limit: 100, reverse: true }), [...SORTED].reverse());
      equal(await listIds(store, { limit: 2, reverse: true }), ["é", "~"]);
      equal(await listIds(store, { after: "b", limit: 3, reverse: true }), ["aa", "a", "Z"]);
      equal(await listIds(store, { after: "ab", limit: 2, reverse: true }), ["aa", "a"]);
      equal(await listIds(store, { after: " ", limit: 2, reverse: true }), []);
      equal(await store.transact((tx) => listIds(tx, { after: "b", limit: 2, reverse: true })), ["aa", "a"]);
    },
  },
  {
    name: "a list in a transaction includes the transaction's own puts and deletes",
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
        equal(await listIds(tx, { limit: 100 }), ["a", "c", "d", "f", "g"]);
        equal(await listIds(tx, { limit: 2 }), ["a", "c"]);
        equal(await listIds(tx, { after: "c", limit: 2 }), ["d", "f"]);
        equal(await listIds(tx, { after: "f", limit: 2, reverse: true }), ["d", "c"]);
        const values = (await tx.list("things", { limit: 100 })).map(({ value }) => value);
        equal(values, ["own", "own", "own", "again", "own"]);
      });
      equal(await listIds(store, { limit: 100 }), ["a", "c", "d", "f", "g"]);
    },
  },
  {
    name: "a page is full even if the transaction deleted the first records",
    async run({ store }) {
      await fill(store, ["a", "b", "c", "d", "e"]);
      const page = await store.transact(async (tx) => {
        for (const id of ["a", "b", "c"]) tx.delete("things", id);
        return listIds(tx, { limit: 2 });
      });
      equal(page, ["d", "e"]);
    },
  },
  {
    name: "pages over 5,000 records have no gap or repeat, in both directions",
    async run({ store }) {
      const all = Array.from({ length: 5000 }, (_, index) => `id-${String(index).padStart(5, "0")}`);
      await fill(store, all);
      for (const reverse of [false, true]) {
        const listed: string[] = [];
        // Eight pages have all records, and the ninth is empty.
        for (let page = 0; page < 9; page++) {
          const after = listed.at(-1);
          listed.push(...(await listIds(store, { limit: 700, reverse, ...(after !== undefined && { after }) })));
        }
        equal(listed, reverse ? [...all].reverse() : all);
      }
    },
  },
  {
    name: "a page can contain records of very different sizes",
    async run({ store }) {
      const sizes = [1, 200_000, 3, 20_000, 5, 100_000];
      for (const [index, size] of sizes.entries()) await put(store, "things", `r${index}`, "x".repeat(size));
      const page = await store.list("things", { limit: 10 });
      equal(
        page.map(({ value }) => value.length),
        sizes,
      );
    },
  },
  {
    name: "a page reflects the latest puts and deletes of its records",
    async run({ store }) {
      for (let round = 0; round < 5; round++) {
        for (const id of ["a", "b", "c", "d"]) await put(store, "things", id, `${id}${round}`);
        await remove(store, "things", "abcd"[round % 4]!);
      }
      // The last round removed "a" only.
      const page = await store.list("things", { limit: 10 });
      equal(
        page.map(({ value }) => value),
        ["b4", "c4", "d4"],
      );
    },
  },
  {
    name: "prefix filters ids, and after, reverse and limit apply to the filtered ids",
    async run({ store }) {
      await fill(store, ["a", "a/", "a/1", "a/2", "a/3", "a0", "b/1", "a/\uffff", "a/🙂"]);
      const all = ["a/", "a/1", "a/2", "a/3", "a/🙂", "a/\uffff"];
      const checkPages = async (reader: AnyReads): Promise<void> => {
        equal(await listIds(reader, { prefix: "a/", limit: 9 }), all);
        equal(await listIds(reader, { prefix: "a/", limit: 9, reverse: true }), [...all].reverse());
        equal(await listIds(reader, { prefix: "a/", limit: 2 }), ["a/", "a/1"]);
        equal(await listIds(reader, { prefix: "a/", after: "a/1", limit: 2 }), ["a/2", "a/3"]);
        equal(await listIds(reader, { prefix: "a/", after: "a", limit: 1 }), ["a/"]);
        equal(await listIds(reader, { prefix: "a/", after: "a0", limit: 9 }), []);
        equal(await listIds(reader, { prefix: "a/", after: "a/2", limit: 9, reverse: true }), ["a/1", "a/"]);
        equal(await listIds(reader, { prefix: "a/", after: "b/1", limit: 1, reverse: true }), ["a/\uffff"]);
        equal(await listIds(reader, { prefix: "a/", after: "a/", limit: 9, reverse: true }), []);
        equal(await listIds(reader, { prefix: "a/", after: "a", limit: 9, reverse: true }), []);
        equal(await listIds(reader, { prefix: "c", limit: 9 }), []);
        equal((await listIds(reader, { prefix: "", limit: 99 })).length, 9);
      };
      await checkPages(store);
      await store.transact(async (tx) => {
        for (const id of ["a", "a/2", "b/1"]) tx.delete("things", id);
        for (const id of ["a", "a/2", "b/1"]) tx.put("things", id, 1);
        await checkPages(tx);
      });
    },
  },
  {
    name: "keysOnly returns ids, including those of the transaction's own writes",
    async run({ store }) {
      await fill(store, ["a", "b", "c"]);
      equal(await store.list("things", { limit: 2, keysOnly: true }), [{ id: "a" }, { id: "b" }]);
      await store.transact(async (tx) => {
        tx.put("things", "aa", 1);
        tx.delete("things", "b");
        const page = await tx.list("things", { limit: 3, keysOnly: true });
        equal(page, [{ id: "a" }, { id: "aa" }, { id: "c" }]);
      });
    },
  },
  {
    name: "texts returns the JSON of a page or of given ids, including the transaction's own writes",
    async run({ store }) {
      await fill(store, ["a", "b", "c", "🙂"]);
      const text = (id: string) => ({ id, text: JSON.stringify({ id }) });
      equal(await store.texts("things", { limit: 2, reverse: true, after: "c" }), [text("b"), text("a")]);
      equal(await store.texts("things", { limit: 0 }), []);
      equal(await store.texts("things", ["🙂", "x", "a"]), [text("🙂"), text("a")]);
      await store.transact(async (tx) => {
        tx.put("things", "aa", "own");
        tx.delete("things", "b");
        const own = { id: "aa", text: '"own"' };
        equal(await tx.texts("things", { limit: 3 }), [text("a"), own, text("c")]);
        equal(await tx.texts("things", ["b", "aa"]), [own]);
      });
    },
  },
  {
    name: "getMany returns records in the order of the ids, with undefined for absent ones",
    async run({ store }) {
      await fill(store, ["a", "b", "🙂"]);
      equal(await store.getMany("things", []), []);
      const requested = ["🙂", "x", "a", "a"];
      const record = (id: string) => ({ id, revision: 1, value: { id } });
      equal(await store.getMany("things", requested), [record("🙂"), undefined, record("a"), record("a")]);
      await store.transact(async (tx) => {
        tx.put("things", "x", "own");
        tx.delete("things", "a");
        const page = await tx.getMany("things", requested);
        equal(
          page.map((stored) => stored?.value),
          [{ id: "🙂" }, "own", undefined, undefined],
        );
      });
    },
  },
];
