/** Stores that treat records wrongly, which the contract must find. In this file `c` is a collection. */
import { Json } from "../../lib/store/json.ts";
import type { Listed, ListOptions, Stored } from "../../lib/store/store.ts";
import {
  type BrokenStores,
  mapTexts,
  onKeys,
  onMembers,
  onPut,
  onReads,
  onRecords,
  onTexts,
  onTx,
  onValues,
} from "./wrapped_store.ts";

const parseIfJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

const replaceUnrepresentable = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, member) => (typeof member === "bigint" ? null : member)) ?? "null");

/** Returns a record whose value is a copy that is not frozen. */
const unfreeze = (stored: Stored): Stored => ({ ...stored, value: structuredClone(stored.value) });

export const brokenRecords: BrokenStores = {
  "put does nothing": () => onPut(() => () => undefined),
  "put ignores the expected revision": () => onPut((put) => (c, id, value) => put(c, id, value)),
  "put treats an expected revision of 0 as none": () =>
    onPut((put) => (c, id, value, expected) => put(c, id, value, expected || undefined)),
  "put treats no expected revision as 0": () =>
    onPut(
      (put) =>
        (c, id, value, expected = 0) =>
          put(c, id, value, expected),
    ),
  "put merges objects": () => {
    const lastValues = new Map<string, object>();
    return onTx((tx) => ({
      put(c, id, value, expected) {
        const merged =
          typeof value === "object" && value && !Array.isArray(value) ? { ...lastValues.get(c + id), ...value } : value;
        tx.put(c, id, merged, expected);
        if (typeof merged === "object" && merged) lastValues.set(c + id, merged);
      },
    }));
  },
  "delete does nothing": () => onTx(() => ({ delete: () => undefined })),
  "delete removes neighbouring records too": () =>
    onTx((tx) => ({
      delete(c, id, expected) {
        tx.delete(c, id, expected);
        for (const other of ["a", "b", "c"]) tx.delete(c, other);
      },
    })),
  // A delete that expects a revision fails if there is no record.
  "a delete of an absent record throws": () =>
    onTx((tx) => ({ delete: (c, id, expected) => tx.delete(c, id, expected ?? 1) })),
  "delete ignores the expected revision": () => onTx((tx) => ({ delete: (c, id) => tx.delete(c, id) })),
  "a conflict is another error": () =>
    onPut((put) => (...call) => {
      try {
        put(...call);
      } catch {
        throw new Error("conflict");
      }
    }),
  "absent records are null": () =>
    onReads(({ get }) => ({ get: async (c, id) => (await get(c, id)) ?? (null as never) })),
  "returned values are not frozen": () => onRecords(unfreeze),
  "only the top level of returned values is frozen": () =>
    onRecords((stored) => {
      const own = unfreeze(stored);
      Object.freeze(own.value);
      return own;
    }),
  "only values returned by get are frozen": () =>
    onReads(({ getMany, list }) => ({
      getMany: async (c, ids) => (await getMany(c, ids)).map((stored) => stored && unfreeze(stored)),
      list: async <K extends boolean>(c: string, options: ListOptions<K>) =>
        (await list(c, options)).map((row) => (options.keysOnly ? row : unfreeze(row as Stored))) as Listed<
          K,
          unknown
        >[],
    })),
  "a Json is stored as an ordinary value": () =>
    onValues((value) => (value instanceof Json ? { text: value.text } : value)),
  "a Json is stored as its text": () => onValues((value) => (value instanceof Json ? value.text : value)),
  "a put value is shared with its caller": () => {
    const putValues = new Map<string, unknown>();
    return onTx((tx) => ({
      put(c, id, value, expected) {
        tx.put(c, id, value, expected);
        putValues.set(c + id, value);
      },
      async get(c, id) {
        const stored = await tx.get(c, id);
        return stored && { ...stored, value: putValues.get(c + id) ?? stored.value };
      },
    }));
  },
  "text that reads like JSON is parsed": () =>
    onRecords((stored) => ({ ...stored, value: mapTexts(stored.value, parseIfJson) })),
  "text is trimmed": () => onTexts((text) => text.trim()),
  "text is normalised": () => onTexts((text) => text.normalize("NFC")),
  "text is cut at 64 KiB": () => onTexts((text) => text.slice(0, 65_536)),
  "members are sorted": () => onMembers((members) => Object.fromEntries(Object.entries(members).sort())),
  "an own __proto__ is lost": () => onMembers((members) => Object.assign({}, members)),
  "a value that JSON cannot represent becomes null": () => onValues(replaceUnrepresentable),
  "an undefined member is rejected": () =>
    onMembers((members) => {
      if (Object.values(members).includes(undefined)) throw new TypeError("undefined");
      return members;
    }),
  // An id of blanks alone would become empty, and so invalid.
  "ids are trimmed": () => onKeys((c, id) => [c, id.trim() || "_"]),
  "ids are compared without case": () => onKeys((c, id) => [c, id.toLowerCase()]),
  // The long ids of the contract have 450 characters. Ids of 1,000 characters or more are not cut, so they stay too long.
  "ids are cut at 449 characters": () => onKeys((c, id) => [c, id.length < 1000 ? id.slice(0, 449) : id]),
  "any id is accepted": () => onKeys((c, id) => [c, id === "" || !id.isWellFormed() || id.length > 500 ? "some" : id]),
  "collections are not separate": () => onKeys((c, id) => [c === "others" ? "things" : c, id]),
  "revisions do not rise": () => onRecords((stored) => ({ ...stored, revision: 1 })),
  "revisions count all the store's puts": () => {
    const numbers = new Map<string, number>();
    return onRecords((stored, collection) => {
      const key = `${collection}/${stored.id}/${stored.revision}`;
      if (!numbers.has(key)) numbers.set(key, numbers.size + 1);
      return { ...stored, revision: numbers.get(key)! };
    });
  },
  "revisions restart after a delete": () => {
    const deleted = new Map<string, number>();
    const { store } = onTx((tx) => ({
      delete(c, id, expected) {
        void tx.get(c, id).then(
          (stored) => deleted.set(c + id, stored?.revision ?? 0),
          () => undefined,
        );
        tx.delete(c, id, expected);
      },
    }));
    const { get } = store;
    return {
      store: {
        ...store,
        async get(c, id) {
          const stored = await get(c, id);
          return stored && { ...stored, revision: stored.revision - (deleted.get(c + id) ?? 0) };
        },
      },
    };
  },
};
