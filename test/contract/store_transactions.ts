import { expect } from "vitest";
import { RevisionConflict, type Store, StoreUnavailable, type Tx } from "../../lib/store/store.ts";
import type { StoreCase } from "./store_contract.ts";
import { put, remove } from "./store_records.ts";

const increment = (store: Store, id = "n"): Promise<number> =>
  store.transact(async (tx) => {
    const next = ((await tx.get("counters", id))?.value ?? 0) + 1;
    tx.put("counters", id, next);
    return next;
  });

const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T>[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** A moment that can be waited for. */
function signal(): { given: Promise<void>; give(): void } {
  let give = (): void => undefined;
  const given = new Promise<void>((resolve) => (give = resolve));
  return { given, give: () => give() };
}

/** Decisions: all or nothing, one after another, durable. */
export const transactionCases: readonly StoreCase[] = [
  {
    name: "a transaction resolves to what its decision gives, synchronous or not",
    async run({ store }) {
      expect(await store.transact(() => 7)).toBe(7);
      expect(await store.transact(async () => "later")).toBe("later");
      expect(await store.transact(() => undefined)).toBeUndefined();
    },
  },
  {
    name: "a decision that throws writes nothing, and its error is passed on",
    async run({ store }) {
      await put(store, "things", "kept", 1);
      const error = new Error("no");
      const refused = store.transact(async (tx) => {
        tx.put("things", "a", 1);
        tx.put("things", "kept", 2);
        tx.delete("things", "kept");
        await tx.get("things", "a");
        throw error;
      });
      await expect(refused).rejects.toBe(error);
      expect(await store.list("things", { limit: 10 })).toEqual([{ id: "kept", revision: 1, value: 1 }]);
      await put(store, "things", "kept", 3, 1);
    },
  },
  {
    name: "a decision that throws at once is passed on too",
    async run({ store }) {
      const refused = store.transact(() => {
        throw new RangeError("at once");
      });
      await expect(refused).rejects.toThrow(RangeError);
    },
  },
  {
    name: "a conflict undoes every write of the transaction, in all collections",
    async run({ store }) {
      await put(store, "things", "a", 1);
      await put(store, "others", "b", 1);
      const refused = store.transact((tx) => {
        tx.put("things", "a", 2);
        tx.delete("others", "b");
        tx.put("others", "new", 1);
        tx.put("things", "c", 1, 5);
      });
      await expect(refused).rejects.toThrow(RevisionConflict);
      expect((await store.get("things", "a"))?.value).toBe(1);
      expect((await store.get("others", "b"))?.value).toBe(1);
      expect(await store.get("others", "new")).toBeUndefined();
    },
  },
  {
    name: "a conflict undoes the transaction even when its decision catches it",
    async run({ store }) {
      const refused = store.transact(async (tx) => {
        tx.put("things", "a", 1);
        try {
          tx.put("things", "b", 1, 5);
        } catch {
          return "caught";
        }
        return "unnoticed";
      });
      await expect(refused).rejects.toThrow(RevisionConflict);
      expect(await store.list("things", { limit: 10 })).toEqual([]);
    },
  },
  {
    name: "all writes of a transaction are seen together",
    async run({ store }) {
      await store.transact((tx) => {
        for (let index = 0; index < 20; index++) tx.put(`c${index % 4}`, `r${index}`, index);
      });
      for (let index = 0; index < 20; index++)
        expect((await store.get(`c${index % 4}`, `r${index}`))?.value).toBe(index);
    },
  },
  {
    name: "a transaction reads its own writes and deletes",
    async run({ store }) {
      await put(store, "things", "old", 1);
      await store.transact(async (tx) => {
        tx.put("things", "new", { n: 1 });
        expect((await tx.get("things", "new"))?.value).toEqual({ n: 1 });
        tx.put("things", "new", { n: 2 });
        expect((await tx.get("things", "new"))?.value).toEqual({ n: 2 });
        tx.delete("things", "old");
        expect(await tx.get("things", "old")).toBeUndefined();
      });
    },
  },
  {
    name: "within a transaction an expected revision is held against its own writes",
    async run({ store }) {
      await put(store, "things", "a", 1);
      await store.transact(async (tx) => {
        tx.put("things", "a", 2, 1);
        const { revision } = (await tx.get("things", "a"))!;
        expect(revision).toBeGreaterThan(1);
        tx.put("things", "a", 3, revision);
        tx.delete("things", "a");
        tx.put("things", "a", 4, 0);
      });
      const stored = await store.get("things", "a");
      expect(stored?.value).toBe(4);
      expect(stored!.revision).toBeGreaterThan(1);
      await expect(store.transact((tx) => (tx.put("things", "b", 1, 0), tx.put("things", "b", 2, 0)))).rejects.toThrow(
        RevisionConflict,
      );
    },
  },
  {
    name: "the revision that a transaction reads of its own write is the one that is kept",
    async run({ store }) {
      const read = await store.transact(async (tx) => {
        tx.put("things", "a", 1);
        tx.put("things", "a", 2);
        return (await tx.get("things", "a"))!.revision;
      });
      expect((await store.get("things", "a"))!.revision).toBe(read);
    },
  },
  {
    name: "uncommitted writes are seen by nobody else",
    async run({ store }) {
      await put(store, "things", "a", 1);
      const written = signal();
      const mayEnd = signal();
      const done = store.transact(async (tx) => {
        tx.put("things", "a", 2);
        tx.put("things", "b", 2);
        written.give();
        await mayEnd.given;
      });
      try {
        await Promise.race([written.given, done]);
        expect((await store.get("things", "a"))?.value).toBe(1);
        expect(await store.list("things", { limit: 10 })).toHaveLength(1);
      } finally {
        mayEnd.give();
        await done;
      }
      expect((await store.get("things", "b"))?.value).toBe(2);
    },
  },
  {
    name: "a transaction sees every one that resolved before it",
    async run({ store }) {
      for (let index = 0; index < 20; index++) {
        await put(store, "things", `r${index}`, index);
        const seen = await store.transact(
          async (tx) => [await tx.get("things", `r${index}`), await tx.list("things", { limit: 100 })] as const,
        );
        expect(seen[0]?.value).toBe(index);
        expect(seen[1]).toHaveLength(index + 1);
      }
    },
  },
  {
    name: "a record deleted by an earlier transaction is not listed in a later one",
    async run({ store }) {
      await put(store, "things", "a", 1);
      await put(store, "things", "b", 1);
      const [, seen] = await Promise.all([
        remove(store, "things", "a"),
        store.transact((tx) => tx.list("things", { limit: 10 })),
      ]);
      expect(seen.map(({ id }) => id)).toEqual(["b"]);
    },
  },
  {
    name: "200 parallel increments count to 200, each number once",
    async run({ store }) {
      const numbers = await Promise.all(times(200, () => increment(store)));
      expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, index) => index + 1));
      expect((await store.get("counters", "n"))?.value).toBe(200);
    },
  },
  {
    name: "of 50 that race to create one record, one wins",
    async run({ store }) {
      const outcomes = await Promise.allSettled(times(50, (index) => put(store, "things", "one", index, 0)));
      const won = outcomes.flatMap(({ status }, index) => (status === "fulfilled" ? [index] : []));
      expect(won).toHaveLength(1);
      for (const outcome of outcomes)
        if (outcome.status === "rejected") expect(outcome.reason).toBeInstanceOf(RevisionConflict);
      expect((await store.get("things", "one"))?.value).toBe(won[0]);
    },
  },
  {
    name: "a head that is read first guards what else is read: two never take the last place",
    async run({ store }) {
      await put(store, "meta", "head", 0);
      const take = (name: string): Promise<boolean> =>
        store.transact(async (tx) => {
          const head = (await tx.get("meta", "head"))!;
          const taken = await tx.list("places", { limit: 10 });
          if (taken.length >= 3) return false;
          tx.put("places", name, true);
          tx.put("meta", "head", head.value + 1, head.revision);
          return true;
        });
      const outcomes = await Promise.all(times(20, (index) => take(`p${index}`)));
      expect(outcomes.filter(Boolean)).toHaveLength(3);
      expect(await store.list("places", { limit: 10 })).toHaveLength(3);
      expect((await store.get("meta", "head"))?.value).toBe(3);
    },
  },
  {
    name: "one that fails among many parallel ones takes none of them with it",
    async run({ store }) {
      const outcomes = await Promise.allSettled(
        times(30, (index) =>
          store.transact(async (tx) => {
            const next = ((await tx.get("counters", "n"))?.value ?? 0) + 1;
            tx.put("counters", "n", next);
            if (index % 3 === 0) throw new Error("no");
          }),
        ),
      );
      expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(10);
      expect((await store.get("counters", "n"))?.value).toBe(20);
    },
  },
  {
    name: "a write made after the decision has ended is refused",
    async run({ store }) {
      let kept: Tx | undefined;
      await store.transact((tx) => {
        kept = tx;
        tx.put("things", "a", 1);
      });
      expect(() => kept!.put("things", "late", 1)).toThrow();
      expect(() => kept!.delete("things", "a")).toThrow();
      expect((await store.list("things", { limit: 10 })).map(({ id }) => id)).toEqual(["a"]);
    },
  },
  {
    name: "200 parallel transactions share their syncs",
    needs: "syncs",
    async run({ store, syncs }) {
      await increment(store);
      const before = syncs!();
      await Promise.all(times(200, () => increment(store)));
      expect(syncs!() - before).toBeGreaterThan(0);
      expect(syncs!() - before).toBeLessThanOrEqual(20);
    },
  },
  {
    name: "what is not yet durable is seen by later decisions, not by get and list, and no answer leaves before it is",
    needs: "stall",
    async run({ store, stall }) {
      await put(store, "things", "a", 1);
      const release = stall!();
      const answers: string[] = [];
      const noted = (name: string, work: Promise<unknown>): Promise<unknown> =>
        work.catch(() => undefined).finally(() => answers.push(name));
      const reading = signal();
      const refusing = signal();
      let seen: unknown[] = [];
      const done = Promise.all([
        noted(
          "write",
          store.transact((tx) => (tx.put("things", "a", 2), tx.put("things", "b", 1))),
        ),
        noted(
          "read",
          store.transact(async (tx) => {
            seen = [(await tx.get("things", "a"))?.value, (await tx.list("things", { limit: 9 })).length];
            reading.give();
          }),
        ),
        noted(
          "refusal",
          store.transact(async (tx) => {
            await tx.get("things", "a");
            refusing.give();
            throw new Error("told from what is not durable");
          }),
        ),
      ]);
      try {
        await Promise.race([Promise.all([reading.given, refusing.given]), done]);
        expect(seen).toEqual([2, 2]);
        expect((await store.get("things", "a"))?.value).toBe(1);
        expect(await store.list("things", { limit: 9 })).toHaveLength(1);
        expect(answers).toEqual([]);
      } finally {
        release();
        await done;
      }
      expect((await store.get("things", "a"))?.value).toBe(2);
    },
  },
  {
    name: "everything is there after reopening: values, revisions, order, also of deleted records",
    needs: "reopen",
    async run({ store, reopen }) {
      for (const id of ["b", "a", "c"]) await put(store, "things", id, { id, text: "é\n" });
      await put(store, "things", "a", { again: true });
      await remove(store, "things", "c");
      await put(store, "others", "x", 1);
      await remove(store, "others", "x");
      await put(store, "others", "x", 2);
      const [things, others] = [await store.list("things", { limit: 10 }), await store.list("others", { limit: 10 })];

      const again = await reopen!();
      expect(await again.list("things", { limit: 10 })).toEqual(things);
      expect(await again.list("others", { limit: 10 })).toEqual(others);
      expect(await again.get("things", "c")).toBeUndefined();
      await put(again, "things", "c", "new", 0);
      expect((await again.get("things", "c"))!.revision).toBeGreaterThan(1);
      await put(again, "things", "a", "third", 2);

      const third = await reopen!();
      expect((await third.get("things", "a"))?.revision).toBe(3);
      expect((await third.get("things", "c"))?.value).toBe("new");
    },
  },
  {
    name: "close waits for what is under way, may be called twice, and then refuses transactions",
    async run({ store }) {
      const mayEnd = signal();
      const slow = store.transact(async (tx) => {
        await mayEnd.given;
        tx.put("counters", "n", 1);
        return 1;
      });
      const counted = Promise.allSettled([slow, ...times(20, () => increment(store))]);
      let closed = false;
      const closing = Promise.allSettled([store.close(), store.close()]).finally(() => (closed = true));
      // Time for a close that does not wait to be done too early.
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(closed).toBe(false);
      mayEnd.give();
      expect((await counted).at(-1)).toEqual({ status: "fulfilled", value: 21 });
      expect((await closing).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
      await store.close();
      await expect(increment(store)).rejects.toThrow(StoreUnavailable);
    },
  },
];
