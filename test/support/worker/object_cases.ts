/** What the store in a Durable Object promises beside the contract: how it treats the storage below it. */
import { expect } from "vitest";
import { durableObjectStore, type ObjectStorage } from "../../../lib/store/durable_object.ts";
import { StoreUnavailable } from "../../../lib/store/store.ts";
import { put, remove } from "../../contract/store_records.ts";
import { gate } from "../scripted_adapter.ts";

/** The same storage with some of it replaced. */
export const storageWith = (storage: ObjectStorage, over: Partial<ObjectStorage>): ObjectStorage => ({
  sql: { exec: (query, ...bindings) => storage.sql.exec(query, ...bindings) },
  transactionSync: (run) => storage.transactionSync(run),
  sync: () => storage.sync(),
  ...over,
});

const LARGEST = 1_998_000;

/** Cases by name. */
export const objectCases: Record<string, (storage: ObjectStorage) => Promise<void>> = {
  async "no answer leaves before what it tells of is durable: a write, a look, a refusal"(storage) {
    const { opened, open } = gate();
    const store = durableObjectStore(storageWith(storage, { sync: () => opened }));
    const answers: string[] = [];
    const noted = (name: string, work: Promise<unknown>) => work.catch(() => name).then(() => answers.push(name));
    const done = Promise.all([
      noted("write", put(store, "things", "a", 1)),
      noted(
        "look in a transaction",
        store.transact((tx) => tx.get("things", "a")),
      ),
      noted("conflict", put(store, "things", "a", 2, 7)),
    ]);
    await put(durableObjectStore(storage), "others", "b", 1);
    const later = [noted("get", store.get("things", "a")), noted("list", store.list("things", { limit: 1 }))];
    await storage.sync();
    expect(answers).toEqual([]);
    open();
    await Promise.all([done, ...later]);
    expect(answers.sort()).toEqual(["conflict", "get", "list", "look in a transaction", "write"]);
  },

  async "a sync that fails fails all that waited for it, and everything after it"(storage) {
    const { opened, open } = gate();
    let syncs = 0;
    const failing = async (): Promise<void> => {
      syncs++;
      await opened;
      throw new Error("the disk is gone");
    };
    const store = durableObjectStore(storageWith(storage, { sync: failing }));
    const waiting = [put(store, "things", "a", 1), store.get("things", "a"), put(store, "things", "b", 1)];
    const outcomes = Promise.allSettled(waiting);
    open();
    await expect(waiting[0]).rejects.toThrow(StoreUnavailable);
    await expect(waiting[2]).rejects.toThrow(StoreUnavailable);
    await outcomes;
    await expect(put(store, "things", "c", 1)).rejects.toThrow(StoreUnavailable);
    await expect(store.get("things", "a")).rejects.toThrow(StoreUnavailable);
    await expect(store.transact(() => 1)).rejects.toThrow(StoreUnavailable);
    await store.close();
    expect(syncs).toBeLessThanOrEqual(2);
  },

  async "a storage that refuses one write of a transaction keeps none of it"(storage) {
    let inserts = 0;
    const exec: ObjectStorage["sql"]["exec"] = (query, ...bindings) => {
      if (query.startsWith("insert") && ++inserts === 2) throw new Error("database or disk is full");
      return storage.sql.exec(query, ...bindings);
    };
    const store = durableObjectStore(storageWith(storage, { sql: { exec } }));
    const refused = store.transact((tx) => (tx.put("things", "a", 1), tx.put("things", "b", 1)));
    await expect(refused).rejects.toThrow(StoreUnavailable);
    expect(await store.list("things", { limit: 9 })).toEqual([]);
    await put(store, "things", "c", 1);
    expect(await store.list("things", { limit: 9 })).toHaveLength(1);
  },

  async "a record that no row can hold is refused, with all of its transaction, and the largest is kept"(storage) {
    const store = durableObjectStore(storage);
    const large = store.transact(
      (tx) => (tx.put("things", "a", 1), tx.put("things", "large", "é".repeat(LARGEST / 2))),
    );
    await expect(large).rejects.toThrow(
      new RangeError(`things/large has ${LARGEST + 2} bytes as JSON; a record in a Durable Object may have ${LARGEST}`),
    );
    expect(await store.list("things", { limit: 9 })).toEqual([]);
    const id = "é".repeat(500);
    await put(store, "things", id, "x".repeat(LARGEST - 2));
    expect((await store.get("things", id))!.value).toHaveLength(LARGEST - 2);
  },

  async "a page of live records does not go through the deleted ones"(storage) {
    let rows = 0;
    const exec: ObjectStorage["sql"]["exec"] = (query, ...bindings) => {
      const cursor = storage.sql.exec(query, ...bindings) as ReturnType<typeof exec> & { rowsRead: number };
      const found = cursor.toArray();
      rows += cursor.rowsRead;
      return { toArray: () => found };
    };
    const store = durableObjectStore(storageWith(storage, { sql: { exec } }));
    const ids = Array.from({ length: 90 }, (_, index) => `q${100 + index}`);
    await store.transact((tx) => ids.forEach((id) => tx.put("queue", id, 1)));
    await store.transact((tx) => ids.slice(0, 89).forEach((id) => tx.delete("queue", id)));
    rows = 0;
    expect((await store.list("queue", { limit: 1 })).map(({ id }) => id)).toEqual(["q189"]);
    expect(rows).toBeGreaterThan(0);
    expect(rows).toBeLessThanOrEqual(2);
  },

  async "what was put, deleted, put and deleted in one transaction is deleted"(storage) {
    const store = durableObjectStore(storage);
    await put(store, "things", "a", 1);
    await remove(store, "things", "a");
    await store.transact((tx) => {
      tx.put("things", "a", 2);
      tx.delete("things", "a");
    });
    expect(await store.get("things", "a")).toBeUndefined();
    await put(store, "things", "a", 3, 0);
    expect((await store.get("things", "a"))!.revision).toBeGreaterThan(2);
  },
};
