/** Cases for the store in a Durable Object in addition to the contract: how the store uses its storage. */
import { durableObjectStore, type ObjectStorage } from "../../../lib/store/durable_object.ts";
import { StoreUnavailable } from "../../../lib/store/store.ts";
import { agree } from "../../contract/agree.ts";
import type { AnyStore } from "../../contract/any_store.ts";
import { equal, rejects } from "../../contract/check.ts";
import { put, remove } from "../../contract/store_records.ts";
import { makeBarrier } from "../scripted_adapter.ts";

/** Returns a storage in which some methods are replaced. */
export const overrideStorage = (storage: ObjectStorage, methods: Partial<ObjectStorage>): ObjectStorage => ({
  sql: { exec: (query, ...bindings) => storage.sql.exec(query, ...bindings) },
  transactionSync: (run) => storage.transactionSync(run),
  sync: () => storage.sync(),
  ...methods,
});

/** Opens a store on a storage, without the types of collections. */
const storeOn = (storage: ObjectStorage): AnyStore => durableObjectStore(storage);

/** Cases by name. */
export const objectCases: Record<string, (storage: ObjectStorage) => Promise<void>> = {
  async "writes, reads and conflicts are answered after the data is durable"(storage) {
    const { opened, open } = makeBarrier();
    const store = storeOn(overrideStorage(storage, { sync: () => opened }));
    const answers: string[] = [];
    const recordAnswer = (name: string, work: Promise<unknown>) =>
      work.catch(() => name).then(() => answers.push(name));
    const first = Promise.all([
      recordAnswer("write", put(store, "things", "a", 1)),
      recordAnswer(
        "read in a transaction",
        store.transact((tx) => tx.get("things", "a")),
      ),
      // A conflict, since no record has revision 7.
      recordAnswer("conflict", put(store, "things", "a", 2, 7)),
    ]);
    // A write whose sync does not wait for `opened`, which lets the calls above proceed to their own sync.
    await put(storeOn(storage), "others", "b", 1);
    const later = [
      recordAnswer("get", store.get("things", "a")),
      recordAnswer("list", store.list("things", { limit: 1 })),
    ];
    await storage.sync();
    equal(answers, []);
    open();
    await Promise.all([first, ...later]);
    equal(answers.sort(), ["conflict", "get", "list", "read in a transaction", "write"]);
  },

  async "a failed sync fails the calls that wait for it and all later calls"(storage) {
    const { opened, open } = makeBarrier();
    let syncs = 0;
    const failing = async (): Promise<void> => {
      syncs++;
      await opened;
      throw new Error("the disk is gone");
    };
    const store = storeOn(overrideStorage(storage, { sync: failing }));
    const waiting = [put(store, "things", "a", 1), store.get("things", "a"), put(store, "things", "b", 1)];
    const outcomes = Promise.allSettled(waiting);
    open();
    await rejects(waiting[0]!, StoreUnavailable);
    await rejects(waiting[2]!, StoreUnavailable);
    await outcomes;
    await rejects(put(store, "things", "c", 1), StoreUnavailable);
    await rejects(store.get("things", "a"), StoreUnavailable);
    await rejects(
      store.transact(() => 1),
      StoreUnavailable,
    );
    await store.close();
    // The first call starts a sync, and the calls during it share the next one.
    agree(syncs <= 2, "a failed store synced again");
  },

  async "close waits until all writes are durable"(storage) {
    const { opened, open } = makeBarrier();
    const store = storeOn(overrideStorage(storage, { sync: () => opened }));
    const written = put(store, "things", "a", 1);
    let isClosed = false;
    const closing = store.close().then(() => (isClosed = true));
    // This write's own sync does not wait for `opened`; `close` could have ended by then.
    await put(storeOn(storage), "others", "b", 1);
    equal(isClosed, false, "the store is closed");
    open();
    await Promise.all([written, closing]);
  },

  async "a transaction of which one write fails stores nothing"(storage) {
    let inserts = 0;
    const exec: ObjectStorage["sql"]["exec"] = (query, ...bindings) => {
      if (query.startsWith("insert") && ++inserts === 2) throw new Error("database or disk is full");
      return storage.sql.exec(query, ...bindings);
    };
    const store = storeOn(overrideStorage(storage, { sql: { exec } }));
    const failed = store.transact((tx) => (tx.put("things", "a", 1), tx.put("things", "b", 1)));
    await rejects(failed, StoreUnavailable);
    equal(await store.list("things", { limit: 9 }), []);
    await put(store, "things", "c", 1);
    equal((await store.list("things", { limit: 9 })).length, 1);
  },

  async "many records are read with one statement"(storage) {
    let statements = 0;
    const exec: ObjectStorage["sql"]["exec"] = (query, ...bindings) => {
      statements++;
      return storage.sql.exec(query, ...bindings);
    };
    const store = storeOn(overrideStorage(storage, { sql: { exec } }));
    const ids = Array.from({ length: 300 }, (_, index) => `r${index}`);
    for (let from = 0; from < ids.length; from += 50)
      await store.transact((tx) => ids.slice(from, from + 50).forEach((id) => tx.put("things", id, id)));
    statements = 0;
    equal(
      (await store.getMany("things", ids)).map((stored) => stored?.value),
      ids,
    );
    equal(statements, 1, "the number of statements");
  },

  async "a page of records does not read the deleted records"(storage) {
    let rows = 0;
    const exec: ObjectStorage["sql"]["exec"] = (query, ...bindings) => {
      const cursor = storage.sql.exec(query, ...bindings) as ReturnType<typeof exec> & { rowsRead: number };
      const found = cursor.toArray();
      rows += cursor.rowsRead;
      return { toArray: () => found };
    };
    const store = storeOn(overrideStorage(storage, { sql: { exec } }));
    const ids = Array.from({ length: 50 }, (_, index) => `q${100 + index}`);
    await store.transact((tx) => ids.forEach((id) => tx.put("queue", id, 1)));
    await store.transact((tx) => ids.slice(0, 49).forEach((id) => tx.delete("queue", id)));
    rows = 0;
    equal(
      (await store.list("queue", { limit: 1 })).map(({ id }) => id),
      ["q149"],
    );
    agree(rows > 0 && rows <= 2, `${rows} rows were read`);
  },

  async "a record that is put and deleted in one transaction is deleted"(storage) {
    const store = storeOn(storage);
    await put(store, "things", "a", 1);
    await remove(store, "things", "a");
    await store.transact((tx) => {
      tx.put("things", "a", 2);
      tx.delete("things", "a");
    });
    equal(await store.get("things", "a"), undefined);
    await put(store, "things", "a", 3, 0);
    agree((await store.get("things", "a"))!.revision > 2, "the revision restarted");
  },
};
