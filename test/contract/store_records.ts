/** Cases of the store contract about single records: values, ids, isolation and revisions. */
import { json } from "../../lib/store/json.ts";
import { RevisionConflict } from "../../lib/store/store.ts";
import { agree } from "./agree.ts";
import type { AnyReads, AnyStore } from "./any_store.ts";
import { equal, rejects, throws } from "./check.ts";
import type { StoreCase } from "./store_cases.ts";

/** Puts one record in a transaction of its own. */
export const put = (
  store: AnyStore,
  collection: string,
  id: string,
  value: unknown,
  expected?: number,
): Promise<void> => store.transact((tx) => tx.put(collection, id, value, expected));

/** Deletes one record in a transaction of its own. */
export const remove = (store: AnyStore, collection: string, id: string, expected?: number): Promise<void> =>
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

const UNREPRESENTABLE: Record<string, unknown> = {
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

const UNUSUAL_IDS = [
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

/** Returns an id of 899 bytes: "é" has two. */
const longId = (last: string): string => `${"é".repeat(449)}${last}`;

export const recordCases: readonly StoreCase[] = [
  {
    name: "an empty store has no records",
    async run({ store }) {
      equal(await store.get("things", "a"), undefined);
      equal(await store.list("things", { limit: 10 }), []);
      await store.transact(async (tx) => {
        equal(await tx.get("things", "a"), undefined);
        equal(await tx.list("things", { limit: 10 }), []);
      });
    },
  },
  {
    name: "a record is found under its own id and collection only",
    async run({ store }) {
      await put(store, "things", "a", { n: 1 });
      equal(await store.get("things", "a"), { id: "a", revision: 1, value: { n: 1 } });
      equal(await store.get("things", "A"), undefined);
      equal(await store.get("others", "a"), undefined);
      equal(await store.list("others", { limit: 10 }), []);
    },
  },
  {
    name: "a second put replaces the complete value",
    async run({ store }) {
      await put(store, "things", "a", { n: 1, old: true });
      await put(store, "things", "a", { n: 2 });
      equal((await store.get("things", "a"))?.value, { n: 2 });
    },
  },
  {
    name: "get and list return values exactly as they were put",
    async run({ store }) {
      await store.transact((tx) => {
        for (const [id, value] of Object.entries(VALUES)) tx.put("values", id, value);
      });
      const listed = new Map((await store.list("values", { limit: 100 })).map(({ id, value }) => [id, value]));
      for (const [id, value] of Object.entries(VALUES)) {
        const stored = await store.get("values", id);
        equal(stored?.value, value, id);
        equal(JSON.stringify(stored?.value), JSON.stringify(value), id);
        equal(JSON.stringify(listed.get(id)), JSON.stringify(value), id);
      }
    },
  },
  {
    name: "an object's members stay in order",
    async run({ store }) {
      await put(store, "things", "a", { z: 1, a: 2, m: { y: 1, b: 2 } });
      equal(JSON.stringify((await store.get("things", "a"))?.value), '{"z":1,"a":2,"m":{"y":1,"b":2}}');
    },
  },
  {
    name: "a member that is undefined is left out",
    async run({ store }) {
      await put(store, "things", "a", { kept: 1, gone: undefined });
      equal((await store.get("things", "a"))?.value, { kept: 1 });
    },
  },
  {
    name: "a value that JSON cannot represent is rejected, with the complete transaction",
    async run({ store }) {
      for (const [name, value] of Object.entries(UNREPRESENTABLE)) {
        const rejected = store.transact((tx) => {
          tx.put("things", "before", 1);
          tx.put("things", "invalid", value);
        });
        await rejects(rejected, TypeError, name);
        equal(await store.list("things", { limit: 10 }), [], name);
      }
    },
  },
  {
    name: "changing a value after its put has no effect on the stored value",
    async run({ store }) {
      const value = { list: [1] };
      await store.transact(async (tx) => {
        tx.put("things", "a", value);
        value.list.push(2);
        equal((await tx.get("things", "a"))?.value, { list: [1] });
      });
      value.list.push(3);
      equal((await store.get("things", "a"))?.value, { list: [1] });
    },
  },
  {
    name: "values from get, getMany and list are deeply frozen, in and out of transactions",
    async run({ store }) {
      const value = { list: [{ deep: [1] }] };
      await put(store, "things", "a", value);
      const requireFrozen = async (reads: AnyReads, where: string): Promise<void> => {
        const stored = [
          await reads.get("things", "a"),
          (await reads.getMany("things", ["a"]))[0],
          (await reads.list("things", { limit: 1 }))[0],
        ];
        for (const read of stored) {
          throws(() => read!.value.list[0].deep.push(2), `a change of a value read ${where}`);
          throws(() => Object.assign(read!.value, { more: 1 }), `a further member of a value read ${where}`);
          equal(read?.value, value, `the value read ${where}`);
        }
      };
      await requireFrozen(store, "outside");
      await store.transact(async (tx) => {
        await requireFrozen(tx, "in a transaction");
        tx.put("things", "a", value);
        await requireFrozen(tx, "of an own write");
      });
    },
  },
  {
    name: "a value put as a Json is stored with its text unchanged",
    async run({ store }) {
      const jsonValues = Object.entries(VALUES).map(([id, value]) => [id, json(value)] as const);
      await store.transact(async (tx) => {
        for (const [id, jsonValue] of jsonValues) tx.put("values", id, jsonValue);
        for (const [id, { value }] of jsonValues) equal((await tx.get("values", id))?.value, value, id);
      });
      for (const [id, { text, value }] of jsonValues) {
        const stored = await store.get("values", id);
        equal(stored?.value, value, id);
        equal(JSON.stringify(stored?.value), text, id);
      }
      await store.transact((tx) => tx.put("things", "odd", json({ kept: [-0], gone: undefined })));
      equal((await store.get("things", "odd"))?.value, { kept: [0] });
    },
  },
  {
    name: "ids with unusual characters stay distinct and are returned unchanged",
    async run({ store }) {
      await store.transact((tx) => {
        for (const id of UNUSUAL_IDS) tx.put("odd", id, { id });
      });
      for (const id of UNUSUAL_IDS) equal(await store.get("odd", id), { id, revision: 1, value: { id } });
      equal(
        (await store.list("odd", { limit: 100 })).map(({ id }) => id),
        [...UNUSUAL_IDS].sort(),
      );
    },
  },
  {
    name: "ids of 899 bytes that differ in their last character stay distinct",
    async run({ store }) {
      await put(store, "things", longId("a"), 1);
      await put(store, "things", longId("b"), 2);
      equal((await store.get("things", longId("a")))?.value, 1);
      equal((await store.get("things", longId("b")))?.value, 2);
    },
  },
  {
    name: "an id that is empty, ill-formed or longer than 1,000 bytes is rejected",
    async run({ store }) {
      for (const id of ["", "\ud800", "x".repeat(1001), "é".repeat(501)])
        await rejects(put(store, "things", id, 1), TypeError, JSON.stringify(id.slice(0, 5)));
      equal(await store.list("things", { limit: 10 }), []);
    },
  },
  {
    name: "a value of more than 384 KiB is stored",
    async run({ store }) {
      // The repeated text has 6 bytes in UTF-8.
      const value = { text: "é✓x".repeat(64 * 1024), end: true };
      await put(store, "things", "large", value);
      equal((await store.get("things", "large"))?.value, value);
    },
  },
  {
    name: "revisions begin at 1 and rise with every put",
    async run({ store }) {
      for (let revision = 1; revision <= 3; revision++) {
        await put(store, "things", "a", "same");
        equal((await store.get("things", "a"))?.revision, revision);
        equal((await store.list("things", { limit: 1 }))[0]?.revision, revision);
      }
      await put(store, "things", "b", "other");
      equal((await store.get("things", "b"))?.revision, 1);
    },
  },
  {
    name: "a delete removes one record and no other",
    async run({ store }) {
      for (const id of ["a", "b", "c"]) await put(store, "things", id, id);
      await remove(store, "things", "b");
      equal(await store.get("things", "b"), undefined);
      equal(
        (await store.list("things", { limit: 10 })).map(({ id }) => id),
        ["a", "c"],
      );
    },
  },
  {
    name: "revisions do not restart after a delete",
    async run({ store }) {
      await put(store, "things", "a", 1);
      await put(store, "things", "a", 2);
      await remove(store, "things", "a");
      await put(store, "things", "a", 3);
      agree((await store.get("things", "a"))!.revision > 2, "the revision restarted after a delete");
      await remove(store, "things", "a");
      await put(store, "things", "a", 4);
      agree((await store.get("things", "a"))!.revision > 3, "it restarted after a second delete");
    },
  },
  {
    name: "deleting a record that does not exist changes nothing",
    async run({ store }) {
      await remove(store, "things", "a");
      await remove(store, "things", "a", 0);
      equal(await store.get("things", "a"), undefined);
      await put(store, "things", "a", 1, 0);
      equal((await store.get("things", "a"))?.revision, 1);
    },
  },
  {
    name: "a put or delete that expects the current revision succeeds",
    async run({ store }) {
      await put(store, "things", "a", 1, 0);
      await put(store, "things", "a", 2, 1);
      equal(await store.get("things", "a"), { id: "a", revision: 2, value: 2 });
      await remove(store, "things", "a", 2);
      equal(await store.get("things", "a"), undefined);
      await put(store, "things", "a", 3, 0);
      equal((await store.get("things", "a"))?.value, 3);
    },
  },
  {
    name: "a put or delete with another revision is a RevisionConflict and changes nothing",
    async run({ store }) {
      await rejects(put(store, "things", "a", 1, 1), RevisionConflict);
      await rejects(remove(store, "things", "a", 1), RevisionConflict);
      await put(store, "things", "a", 1);
      await put(store, "things", "a", 2);
      for (const expected of [0, 1, 3]) {
        await rejects(put(store, "things", "a", 9, expected), RevisionConflict, `put ${expected}`);
        await rejects(remove(store, "things", "a", expected), RevisionConflict, `delete ${expected}`);
      }
      equal(await store.get("things", "a"), { id: "a", revision: 2, value: 2 });
      await remove(store, "things", "a");
      await rejects(put(store, "things", "a", 9, 2), RevisionConflict);
    },
  },
];
