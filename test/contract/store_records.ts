import { expect } from "vitest";
import { RevisionConflict, type Store } from "../../lib/store/store.ts";
import type { StoreCase } from "./store_contract.ts";

/** Puts one record in a transaction of its own. */
export const put = (store: Store, collection: string, id: string, value: unknown, expected?: number): Promise<void> =>
  store.transact((tx) => tx.put(collection, id, value, expected));

/** Deletes one record in a transaction of its own. */
export const remove = (store: Store, collection: string, id: string, expected?: number): Promise<void> =>
  store.transact((tx) => tx.delete(collection, id, expected));

const VALUES: Record<string, unknown> = {
  text: "plain",
  "text that reads like a boolean": "true",
  "text that reads like null": "null",
  "text that reads like a number": "007",
  "text that reads like an exponent": "1e3",
  "empty text": "",
  "text with blanks around": "  two  ",
  "text with quotes and control characters": 'a"b\\c\n\t\u0000\u001f\u2028',
  "text that reads like a date": "2026-01-02T03:04:05.678Z",
  "text beyond the basic plane": "日本語 🙂 e\u0301 \uffff",
  zero: 0,
  fraction: 0.1,
  "largest safe integer": Number.MAX_SAFE_INTEGER,
  "smallest positive number": Number.MIN_VALUE,
  "largest number": Number.MAX_VALUE,
  true: true,
  false: false,
  null: null,
  "empty array": [],
  "empty object": {},
  nested: { list: [1, "1", [null, { deep: { deeper: [false] } }]], "key with spaces": { "": "empty key" } },
  "an own __proto__ key": JSON.parse('{"__proto__":{"admin":true},"constructor":1,"toString":"x"}'),
};

const REFUSED: Record<string, unknown> = {
  undefined: undefined,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  bigint: 1n,
  function: () => 1,
  symbol: Symbol("s"),
  "a nested NaN": { deep: [{ n: Number.NaN }] },
  "a nested bigint": { deep: [1n] },
  "undefined in an array": [undefined],
  "a Date": new Date(0),
  "a Map": new Map([[1, 2]]),
};

const ODD_IDS = [
  " ",
  "  leading",
  "trailing ",
  "with space",
  "UPPER",
  "upper",
  "a/b",
  "a//b",
  "../up",
  "a:b",
  "a,b",
  "'",
  '"',
  "\\",
  "%",
  "%2F",
  "a%b_c",
  "\t",
  "\n",
  "\u0001",
  "\u007f",
  "é",
  "e\u0301",
  "日本",
  "🙂",
  "__proto__",
  "constructor",
  "0",
  "00",
  "1",
  "true",
  "null",
  ".",
  "*",
  "{}",
  "[]",
];

const longId = (last: string): string => `${"é".repeat(449)}${last}`;

/** Single records: what comes back, isolation, revisions. */
export const recordCases: readonly StoreCase[] = [
  {
    name: "an empty store has no records",
    async run({ store }) {
      expect(await store.get("things", "a")).toBeUndefined();
      expect(await store.list("things", { limit: 10 })).toEqual([]);
      await store.transact(async (tx) => {
        expect(await tx.get("things", "a")).toBeUndefined();
        expect(await tx.list("things", { limit: 10 })).toEqual([]);
      });
    },
  },
  {
    name: "what was put is got back, under its id and collection only",
    async run({ store }) {
      await put(store, "things", "a", { n: 1 });
      expect(await store.get("things", "a")).toEqual({ id: "a", revision: 1, value: { n: 1 } });
      expect(await store.get("things", "A")).toBeUndefined();
      expect(await store.get("others", "a")).toBeUndefined();
      expect(await store.list("others", { limit: 10 })).toEqual([]);
    },
  },
  {
    name: "a second put replaces the value whole",
    async run({ store }) {
      await put(store, "things", "a", { n: 1, old: true });
      await put(store, "things", "a", { n: 2 });
      expect((await store.get("things", "a"))?.value).toStrictEqual({ n: 2 });
    },
  },
  {
    name: "values stay exactly what they were, by get and by list",
    async run({ store }) {
      await store.transact((tx) => {
        for (const [id, value] of Object.entries(VALUES)) tx.put("values", id, value);
      });
      const listed = new Map((await store.list("values", { limit: 100 })).map(({ id, value }) => [id, value]));
      for (const [id, value] of Object.entries(VALUES)) {
        const got = await store.get("values", id);
        expect(got?.value, id).toStrictEqual(value);
        expect(JSON.stringify(got?.value), id).toBe(JSON.stringify(value));
        expect(JSON.stringify(listed.get(id)), id).toBe(JSON.stringify(value));
      }
    },
  },
  {
    name: "the order of an object's members is kept",
    async run({ store }) {
      await put(store, "things", "a", { z: 1, a: 2, m: { y: 1, b: 2 } });
      expect(JSON.stringify((await store.get("things", "a"))?.value)).toBe('{"z":1,"a":2,"m":{"y":1,"b":2}}');
    },
  },
  {
    name: "a member that is undefined is left out",
    async run({ store }) {
      await put(store, "things", "a", { kept: 1, gone: undefined });
      expect((await store.get("things", "a"))?.value).toStrictEqual({ kept: 1 });
    },
  },
  {
    name: "what JSON cannot hold is refused, and nothing of the transaction is kept",
    async run({ store }) {
      for (const [name, value] of Object.entries(REFUSED)) {
        const refused = store.transact((tx) => {
          tx.put("things", "before", 1);
          tx.put("things", "refused", value);
        });
        await expect(refused, name).rejects.toThrow(TypeError);
        expect(await store.list("things", { limit: 10 }), name).toEqual([]);
      }
    },
  },
  {
    name: "a value given to put may be changed afterwards without effect",
    async run({ store }) {
      const value = { list: [1] };
      await store.transact(async (tx) => {
        tx.put("things", "a", value);
        value.list.push(2);
        expect((await tx.get("things", "a"))?.value).toEqual({ list: [1] });
      });
      value.list.push(3);
      expect((await store.get("things", "a"))?.value).toEqual({ list: [1] });
    },
  },
  {
    name: "a value handed out may be changed without effect, from get and from list, in and out of transactions",
    async run({ store }) {
      await put(store, "things", "a", { list: [1] });
      type Value = { list: number[] };
      (await store.get("things", "a"))!.value.list.push(2);
      (await store.list("things", { limit: 1 }))[0]!.value.list.push(3);
      await store.transact(async (tx) => {
        (await tx.get("things", "a"))!.value.list.push(4);
        (await tx.list("things", { limit: 1 }))[0]!.value.list.push(5);
        expect((await tx.get("things", "a"))?.value).toEqual({ list: [1] });
      });
      expect((await store.get("things", "a"))?.value).toEqual({ list: [1] });
    },
  },
  {
    name: "ids with odd characters are kept apart and come back as they were",
    async run({ store }) {
      await store.transact((tx) => {
        for (const id of ODD_IDS) tx.put("odd", id, { id });
      });
      for (const id of ODD_IDS) expect(await store.get("odd", id)).toEqual({ id, revision: 1, value: { id } });
      expect((await store.list("odd", { limit: 100 })).map(({ id }) => id)).toEqual([...ODD_IDS].sort());
    },
  },
  {
    name: "ids of 900 bytes are kept apart to the last character",
    async run({ store }) {
      await put(store, "things", longId("a"), 1);
      await put(store, "things", longId("b"), 2);
      expect((await store.get("things", longId("a")))?.value).toBe(1);
      expect((await store.get("things", longId("b")))?.value).toBe(2);
    },
  },
  {
    name: "an id that is empty, ill-formed or longer than 1,000 bytes is refused",
    async run({ store }) {
      for (const id of ["", "\ud800", "x".repeat(1001), "é".repeat(501)])
        await expect(put(store, "things", id, 1), JSON.stringify(id.slice(0, 5))).rejects.toThrow(TypeError);
      expect(await store.list("things", { limit: 10 })).toEqual([]);
    },
  },
  {
    name: "a value of 256 KiB is kept",
    async run({ store }) {
      const value = { text: "é✓x".repeat(64 * 1024), end: true };
      await put(store, "things", "large", value);
      expect((await store.get("things", "large"))?.value).toEqual(value);
    },
  },
  {
    name: "revisions begin at 1 and rise with every put",
    async run({ store }) {
      for (let revision = 1; revision <= 3; revision++) {
        await put(store, "things", "a", "same");
        expect((await store.get("things", "a"))?.revision).toBe(revision);
        expect((await store.list("things", { limit: 1 }))[0]?.revision).toBe(revision);
      }
      await put(store, "things", "b", "other");
      expect((await store.get("things", "b"))?.revision).toBe(1);
    },
  },
  {
    name: "a deleted record is gone, and its neighbours are not",
    async run({ store }) {
      for (const id of ["a", "b", "c"]) await put(store, "things", id, id);
      await remove(store, "things", "b");
      expect(await store.get("things", "b")).toBeUndefined();
      expect((await store.list("things", { limit: 10 })).map(({ id }) => id)).toEqual(["a", "c"]);
    },
  },
  {
    name: "revisions do not restart after a delete",
    async run({ store }) {
      await put(store, "things", "a", 1);
      await put(store, "things", "a", 2);
      await remove(store, "things", "a");
      await put(store, "things", "a", 3);
      expect((await store.get("things", "a"))!.revision).toBeGreaterThan(2);
      await remove(store, "things", "a");
      await put(store, "things", "a", 4);
      expect((await store.get("things", "a"))!.revision).toBeGreaterThan(3);
    },
  },
  {
    name: "deleting what is not there changes nothing",
    async run({ store }) {
      await remove(store, "things", "a");
      await remove(store, "things", "a", 0);
      expect(await store.get("things", "a")).toBeUndefined();
      await put(store, "things", "a", 1, 0);
      expect((await store.get("things", "a"))?.revision).toBe(1);
    },
  },
  {
    name: "a put or delete with the revision that holds is done",
    async run({ store }) {
      await put(store, "things", "a", 1, 0);
      await put(store, "things", "a", 2, 1);
      expect(await store.get("things", "a")).toEqual({ id: "a", revision: 2, value: 2 });
      await remove(store, "things", "a", 2);
      expect(await store.get("things", "a")).toBeUndefined();
      await put(store, "things", "a", 3, 0);
      expect((await store.get("things", "a"))?.value).toBe(3);
    },
  },
  {
    name: "a put or delete with another revision is a RevisionConflict and changes nothing",
    async run({ store }) {
      await expect(put(store, "things", "a", 1, 1)).rejects.toThrow(RevisionConflict);
      await expect(remove(store, "things", "a", 1)).rejects.toThrow(RevisionConflict);
      await put(store, "things", "a", 1);
      await put(store, "things", "a", 2);
      for (const expected of [0, 1, 3]) {
        await expect(put(store, "things", "a", 9, expected), `put ${expected}`).rejects.toThrow(RevisionConflict);
        await expect(remove(store, "things", "a", expected), `delete ${expected}`).rejects.toThrow(RevisionConflict);
      }
      expect(await store.get("things", "a")).toEqual({ id: "a", revision: 2, value: 2 });
      await remove(store, "things", "a");
      await expect(put(store, "things", "a", 9, 2)).rejects.toThrow(RevisionConflict);
    },
  },
];
