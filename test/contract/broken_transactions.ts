/** Stores with wrong transactions, which the contract must find. In this file `c` is a collection. */
import { memoryStore } from "../../lib/store/memory.ts";
import type { ListOptions, Stored } from "../../lib/store/store.ts";
import type { AnyStore, AnyTx } from "./any_store.ts";
import type { Subject } from "./store_cases.ts";
import { type BrokenStores, onPut, onTransact, onTx } from "./wrapped_store.ts";

/**
 * Creates a store whose decisions run concurrently on the current data; the writes of each are committed when it ends,
 * with the expected revisions or without them. `get` finds a decision's own writes in `scratch`, a store without
 * other records.
 */
function createUnserialized(keepExpected: boolean): Subject {
  return onTransact((store) => async (decide) => {
    const writes: ((tx: AnyTx) => void)[] = [];
    const scratch: AnyStore = memoryStore();
    const result = await scratch.transact((own) =>
      decide({
        get: async (c, id) => (await own.get(c, id)) ?? (await store.get(c, id)),
        getMany: store.getMany,
        list: store.list,
        texts: store.texts,
        put(c, id, value, expected) {
          own.put(c, id, value);
          writes.push((tx) => tx.put(c, id, value, keepExpected ? expected : undefined));
        },
        delete(c, id, expected) {
          own.delete(c, id);
          writes.push((tx) => tx.delete(c, id, keepExpected ? expected : undefined));
        },
      }),
    );
    await store.transact((tx) => writes.forEach((write) => write(tx)));
    return result;
  });
}

/** Ignores the error of a write after the end of its transaction. */
function ignoreIfEnded(write: () => void): void {
  try {
    write();
  } catch (error) {
    if (!(error as Error).message.includes("has ended")) throw error;
  }
}

/** Copies a store into a new one; `puts` returns how many times a record is put there, which is its new revision. */
async function copyStore(store: AnyStore, puts: (stored: Stored) => number): Promise<AnyStore> {
  const copy: AnyStore = memoryStore();
  await copy.transact(async (tx) => {
    for (const collection of ["things", "others"])
      for (const stored of await store.list(collection, { limit: 100 }))
        for (let count = puts(stored); count > 0; count--) tx.put(collection, stored.id, stored.value);
  });
  return copy;
}

export const brokenTransactions: BrokenStores = {
  "another process has records of its own": () => ({ store: memoryStore(), another: async () => memoryStore() }),
  "the result of a decision is lost": () =>
    onTransact((store) => async (decide) => void (await store.transact(decide)) as never),
  "errors of a decision are wrapped": () =>
    onTransact(
      (store) => (decide) =>
        store.transact(decide).catch((cause: unknown) => {
          throw new Error("transaction failed", { cause });
        }),
    ),
  "a decision that throws is committed": () =>
    onTransact((store) => async (decide) => {
      const failures: unknown[] = [];
      const result = await store.transact((tx) =>
        Promise.resolve(tx)
          .then(decide)
          .catch((error: unknown) => void failures.push(error)),
      );
      if (failures.length > 0) throw failures[0];
      return result as never;
    }),
  "each write is committed by itself": () =>
    onTransact((store) => async (decide) => {
      const writes: Promise<void>[] = [];
      const put =
        (tx: AnyTx): AnyTx["put"] =>
        (c, id, value, expected) => {
          tx.put(c, id, value, expected);
          writes.push(store.transact((own) => own.put(c, id, value)));
        };
      return store.transact((tx) => decide({ ...tx, put: put(tx) })).finally(() => Promise.all(writes));
    }),
  "only the first collection is committed": () =>
    onTransact((store) => (decide) => {
      let first: string | undefined;
      const putInFirst =
        (tx: AnyTx): AnyTx["put"] =>
        (c, ...rest) => {
          first ??= c;
          if (c === first) tx.put(c, ...rest);
        };
      return store.transact((tx) => decide({ ...tx, put: putInFirst(tx) }));
    }),
  "a conflict that is caught is forgotten": () =>
    onTransact(
      (store) => (decide) =>
        store.transact(async (tx) => {
          const puts: Parameters<AnyTx["put"]>[] = [];
          const put: AnyTx["put"] = (c, id, value, expected) => {
            if (expected) throw new Error("conflict");
            puts.push([c, id, value, expected]);
          };
          const result = await decide({ ...tx, put });
          for (const call of puts) tx.put(...call);
          return result;
        }),
    ),
  "a transaction does not read its own writes": () => onTx((_, store) => ({ get: store.get })),
  "a transaction expects the revisions from before it": () => {
    return onTransact((store) => (decide) => {
      const own = new Set<string>();
      return store.transact((tx) =>
        decide({
          ...tx,
          put(c, id, value, expected) {
            tx.put(c, id, value, own.has(c + id) ? undefined : expected);
            own.add(c + id);
          },
        }),
      );
    });
  },
  "the revision of an own write is a guess": () =>
    onTx((tx) => ({
      async get(c, id) {
        const stored = await tx.get(c, id);
        return stored && { ...stored, revision: 1 };
      },
    })),
  "uncommitted writes are visible": () => {
    const dirty = new Map<string, unknown>();
    const { store } = onPut((put) => (c, id, value, expected) => {
      put(c, id, value, expected);
      dirty.set(c + id, value);
    });
    const { get } = store;
    return {
      store: {
        ...store,
        async get(c, id) {
          const stored = await get(c, id);
          return stored && { ...stored, value: dirty.get(c + id) ?? stored.value };
        },
      },
    };
  },
  "decisions are not serialized": () => createUnserialized(false),
  "decisions are not serialized, and only expected revisions are checked": () => createUnserialized(true),
  "a transaction reads the state before the last transaction": () => {
    const versions = new Map<string, (Stored | undefined)[]>();
    return onTx((tx) => ({
      async get(c, id) {
        const lastTwo = [...(versions.get(c + id) ?? []), await tx.get(c, id)].slice(-2);
        versions.set(c + id, lastTwo);
        return lastTwo[0];
      },
    }));
  },
  "a transaction lists records that an earlier one deleted": () => {
    const deleted = new Map<string, Stored>();
    return onTransact(
      (store) => (decide) =>
        store.transact(async (tx) => {
          const before = await tx.list("things", { limit: 100 });
          const list = async (c: string, options: ListOptions) =>
            c === "things" && deleted.size > 0 ? [...deleted.values()] : tx.list(c, options);
          const remove: AnyTx["delete"] = (c, id, expected) => {
            tx.delete(c, id, expected);
            for (const stored of before) deleted.set(stored.id, stored);
          };
          return decide({ ...tx, list: list as AnyTx["list"], delete: remove });
        }),
    );
  },
  "a failing decision fails concurrent ones too": () =>
    onTransact((store) => {
      let failed = false;
      return async (decide) => {
        const result = await store.transact(decide).catch((error: unknown) => {
          failed = true;
          throw error;
        });
        if (failed) throw new Error("failed together with another");
        return result;
      };
    }),
  "late puts are ignored without an error": () =>
    onTx((tx) => ({ put: (...call) => ignoreIfEnded(() => tx.put(...call)) })),
  "late deletes are ignored without an error": () =>
    onTx((tx) => ({ delete: (...call) => ignoreIfEnded(() => tx.delete(...call)) })),
  "each transaction has a sync of its own": () => {
    let syncs = 0;
    const subject = onTransact((store) => (decide) => store.transact(decide).finally(() => syncs++));
    return { ...subject, syncs: () => syncs };
  },
  "nothing is synced": () => ({ store: memoryStore(), syncs: () => 0 }),
  "transactions resolve before they are durable": () => ({ store: memoryStore(), stall: () => () => undefined }),
  "everything is forgotten when reopened": () => ({ store: memoryStore(), reopen: async () => memoryStore() }),
  "revisions are forgotten when reopened": () => {
    const store: AnyStore = memoryStore();
    return { store, reopen: () => copyStore(store, () => 1) };
  },
  "deleted records are forgotten when reopened": () => {
    const store: AnyStore = memoryStore();
    return { store, reopen: () => copyStore(store, ({ revision }) => revision) };
  },
  "a second close throws": () => {
    const store: AnyStore = memoryStore();
    let closed = false;
    const close = async (): Promise<void> => {
      if (closed) throw new Error("closed already");
      closed = true;
      await store.close();
    };
    return { store: { ...store, close } };
  },
  "close abandons running transactions": () => {
    const store: AnyStore = memoryStore();
    let closed = false;
    const transact: AnyStore["transact"] = (decide) =>
      store.transact(async (tx) => {
        if (closed) throw new Error("closed");
        return decide(tx);
      });
    const close = (): Promise<void> => {
      closed = true;
      return store.close();
    };
    return { store: { ...store, transact, close } };
  },
  "transactions go on after close": () => ({ store: { ...memoryStore(), close: async () => undefined } }),
};
