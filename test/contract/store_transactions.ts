/**
 * Cases of the store contract about transactions: atomic, serialized, durable. The last argument of a put is the expected
 * revision, 0 for a record that must not exist.
 */
import { RevisionConflict, StoreUnavailable } from "../../lib/store/store.ts";
import { agree } from "./agree.ts";
import type { AnyStore, AnyTx } from "./any_store.ts";
import { equal, rejects, throws } from "./check.ts";
import type { StoreCase } from "./store_cases.ts";
import { put, remove } from "./store_records.ts";

const increment = (store: AnyStore, id = "n"): Promise<number> =>
  store.transact(async (tx) => {
    const next = ((await tx.get("counters", id))?.value ?? 0) + 1;
    tx.put("counters", id, next);
    return next;
  });

const repeat = <T>(count: number, start: (index: number) => Promise<T>): Promise<T>[] =>
  Array.from({ length: count }, (_, index) => start(index));

const numberedIds = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);

/** Requires that work is rejected with a `RangeError` whose message has a number. */
async function rejectsWithNumber(work: Promise<unknown>, number: number): Promise<void> {
  const error = await work.catch((error: unknown) => error);
  agree(
    error instanceof RangeError && new RegExp(`\\b${number}\\b`).test(error.message),
    `${number} is not rejected with its number: ${error}`,
  );
}

/** Creates a promise, `sent`, that `send` resolves. */
function createSignal(): { sent: Promise<void>; send(): void } {
  let send = (): void => undefined;
  const sent = new Promise<void>((resolve) => (send = resolve));
  return { sent, send: () => send() };
}

export const transactionCases: readonly StoreCase[] = [
  {
    name: "a transaction resolves to the result of its decision, synchronous or not",
    async run({ store }) {
      equal(await store.transact(() => 7), 7);
      equal(await store.transact(async () => "later"), "later");
      equal(await store.transact(() => undefined), undefined);
    },
  },
  {
    name: "a decision that throws writes nothing, and its error is passed on",
    async run({ store }) {
      await put(store, "things", "kept", 1);
      const error = new Error("no");
      const rejected = store.transact(async (tx) => {
        tx.put("things", "a", 1);
        tx.put("things", "kept", 2);
        tx.delete("things", "kept");
        await tx.get("things", "a");
        throw error;
      });
      await rejects(rejected, error);
      equal(await store.list("things", { limit: 10 }), [{ id: "kept", revision: 1, value: 1 }]);
      await put(store, "things", "kept", 3, 1);
    },
  },
  {
    name: "an error that a decision throws synchronously is passed on too",
    async run({ store }) {
      const rejected = store.transact(() => {
        throw new RangeError("synchronous");
      });
      await rejects(rejected, RangeError);
    },
  },
  {
    name: "a conflict undoes every write of the transaction, in all collections",
    async run({ store }) {
      await put(store, "things", "a", 1);
      await put(store, "others", "b", 1);
      const rejected = store.transact((tx) => {
        tx.put("things", "a", 2);
        tx.delete("others", "b");
        tx.put("others", "new", 1);
        // No record has the revision 5.
        tx.put("things", "c", 1, 5);
      });
      await rejects(rejected, RevisionConflict);
      equal((await store.get("things", "a"))?.value, 1);
      equal((await store.get("others", "b"))?.value, 1);
      equal(await store.get("others", "new"), undefined);
    },
  },
  {
    name: "a conflict undoes the transaction even when its decision catches it",
    async run({ store }) {
      const rejected = store.transact(async (tx) => {
        tx.put("things", "a", 1);
        try {
          tx.put("things", "b", 1, 5);
        } catch {
          return "caught";
        }
        return "unnoticed";
      });
      await rejects(rejected, RevisionConflict);
      equal(await store.list("things", { limit: 10 }), []);
    },
  },
  {
    name: "all writes of a transaction are stored",
    async run({ store }) {
      await store.transact((tx) => {
        for (let index = 0; index < 20; index++) tx.put(`c${index % 4}`, `r${index}`, index);
      });
      for (let index = 0; index < 20; index++) equal((await store.get(`c${index % 4}`, `r${index}`))?.value, index);
    },
  },
  {
    name: "a decision may write 99 records, counting each record once, deletes included",
    async run({ store }) {
      await store.transact((tx) => {
        for (let round = 0; round < 3; round++) for (const id of numberedIds(99)) tx.put("things", id, round);
      });
      await store.transact((tx) => {
        for (const id of numberedIds(99)) tx.delete("things", id);
      });
      equal(await store.list("things", { limit: 1 }), []);
      await store.transact((tx) => {
        for (const id of numberedIds(99)) tx.put("things", id, "again", 0);
      });
      equal((await store.list("things", { limit: 120 })).length, 99);
    },
  },
  {
    name: "more than 99 writes are all rejected, with a RangeError that has their number",
    async run({ store }) {
      for (const [puts, deletes] of [
        [100, 0],
        [0, 100],
        [60, 60],
      ] as const) {
        for (const id of numberedIds(deletes)) await put(store, "things", `old-${id}`, 1);
        const before = await store.list("things", { limit: 120 });
        const rejected = store.transact((tx) => {
          for (const id of numberedIds(puts)) tx.put("things", id, 1);
          for (const id of numberedIds(deletes)) tx.delete("things", `old-${id}`);
        });
        await rejectsWithNumber(rejected, puts + deletes);
        equal(await store.list("things", { limit: 120 }), before, `${puts} puts and ${deletes} deletes`);
      }
    },
  },
  {
    name: "more than 1,000,000 bytes of JSON are rejected, with a RangeError that has their number",
    async run({ store }) {
      // 250,000 bytes as JSON, with its quotes.
      const quarter = "é".repeat(124_999);
      await store.transact((tx) => {
        for (const id of ["a", "b", "c", "d"]) tx.put("things", id, quarter);
      });
      const rejected = store.transact((tx) => {
        for (const id of ["a", "b", "c"]) tx.put("things", id, quarter);
        tx.put("things", "d", `${quarter}x`);
      });
      await rejectsWithNumber(rejected, 1_000_001);
      equal((await store.get("things", "d"))?.value, quarter);
      equal((await store.get("things", "a"))?.revision, 1);
    },
  },
  {
    name: "a transaction reads its own writes and deletes",
    async run({ store }) {
      await put(store, "things", "old", 1);
      await store.transact(async (tx) => {
        tx.put("things", "new", { n: 1 });
        equal((await tx.get("things", "new"))?.value, { n: 1 });
        tx.put("things", "new", { n: 2 });
        equal((await tx.get("things", "new"))?.value, { n: 2 });
        tx.delete("things", "old");
        equal(await tx.get("things", "old"), undefined);
      });
    },
  },
  {
    name: "an expected revision is compared with the transaction's own writes",
    async run({ store }) {
      await put(store, "things", "a", 1);
      await store.transact(async (tx) => {
        tx.put("things", "a", 2, 1);
        const { revision } = (await tx.get("things", "a"))!;
        agree(revision > 1, "an own write has the previous revision");
        tx.put("things", "a", 3, revision);
        tx.delete("things", "a");
        tx.put("things", "a", 4, 0);
      });
      const stored = await store.get("things", "a");
      equal(stored?.value, 4);
      agree(stored!.revision > 1, "the revision restarted");
      await rejects(
        store.transact((tx) => {
          tx.put("things", "b", 1, 0);
          tx.put("things", "b", 2, 0);
        }),
        RevisionConflict,
      );
    },
  },
  {
    name: "the revision that a transaction reads of its own write is the stored one",
    async run({ store }) {
      const read = await store.transact(async (tx) => {
        tx.put("things", "a", 1);
        tx.put("things", "a", 2);
        return (await tx.get("things", "a"))!.revision;
      });
      equal((await store.get("things", "a"))!.revision, read);
    },
  },
  {
    name: "uncommitted writes are not visible to other reads",
    async run({ store }) {
      await put(store, "things", "a", 1);
      const written = createSignal();
      const mayEnd = createSignal();
      const writing = store.transact(async (tx) => {
        tx.put("things", "a", 2);
        tx.put("things", "b", 2);
        written.send();
        await mayEnd.sent;
      });
      try {
        await Promise.race([written.sent, writing]);
        equal((await store.get("things", "a"))?.value, 1);
        equal((await store.list("things", { limit: 10 })).length, 1);
      } finally {
        mayEnd.send();
        await writing;
      }
      equal((await store.get("things", "b"))?.value, 2);
    },
  },
  {
    name: "a transaction sees all transactions that resolved before it",
    async run({ store }) {
      for (let index = 0; index < 20; index++) {
        await put(store, "things", `r${index}`, index);
        const [record, page] = await store.transact(
          async (tx) => [await tx.get("things", `r${index}`), await tx.list("things", { limit: 100 })] as const,
        );
        equal(record?.value, index);
        equal(page.length, index + 1);
      }
    },
  },
  {
    name: "a record deleted by an earlier transaction is not listed in a later one",
    async run({ store }) {
      await put(store, "things", "a", 1);
      await put(store, "things", "b", 1);
      const [, page] = await Promise.all([
        remove(store, "things", "a"),
        store.transact((tx) => tx.list("things", { limit: 10 })),
      ]);
      equal(
        page.map(({ id }) => id),
        ["b"],
      );
    },
  },
  {
    name: "200 concurrent increments return each number from 1 to 200 once",
    async run({ store }) {
      const numbers = await Promise.all(repeat(200, () => increment(store)));
      equal(
        [...numbers].sort((a, b) => a - b),
        Array.from({ length: 200 }, (_, index) => index + 1),
      );
      equal((await store.get("counters", "n"))?.value, 200);
    },
  },
  {
    name: "only one of 50 concurrent creations of a record succeeds",
    async run({ store }) {
      const outcomes = await Promise.allSettled(repeat(50, (index) => put(store, "things", "one", index, 0)));
      const won = outcomes.flatMap(({ status }, index) => (status === "fulfilled" ? [index] : []));
      equal(won.length, 1);
      for (const outcome of outcomes)
        if (outcome.status === "rejected")
          agree(outcome.reason instanceof RevisionConflict, `a lost decision failed with ${outcome.reason}`);
      equal((await store.get("things", "one"))?.value, won[0]);
    },
  },
  {
    name: "a revision check on one record prevents two decisions from taking the last seat",
    async run({ store }) {
      await put(store, "meta", "head", 0);
      const take = (name: string): Promise<boolean> =>
        store.transact(async (tx) => {
          const head = (await tx.get("meta", "head"))!;
          const taken = await tx.list("seats", { limit: 10 });
          if (taken.length >= 3) return false;
          tx.put("seats", name, true);
          tx.put("meta", "head", head.value + 1, head.revision);
          return true;
        });
      const outcomes = await Promise.all(repeat(20, (index) => take(`p${index}`)));
      equal(outcomes.filter(Boolean).length, 3);
      equal((await store.list("seats", { limit: 10 })).length, 3);
      equal((await store.get("meta", "head"))?.value, 3);
    },
  },
  {
    name: "a failed decision does not affect concurrent decisions",
    async run({ store }) {
      const outcomes = await Promise.allSettled(
        repeat(30, (index) =>
          store.transact(async (tx) => {
            const next = ((await tx.get("counters", "n"))?.value ?? 0) + 1;
            tx.put("counters", "n", next);
            if (index % 3 === 0) throw new Error("no");
          }),
        ),
      );
      equal(outcomes.filter(({ status }) => status === "rejected").length, 10);
      equal((await store.get("counters", "n"))?.value, 20);
    },
  },
  {
    name: "a write after the end of its decision is rejected",
    async run({ store }) {
      let endedTx: AnyTx | undefined;
      await store.transact((tx) => {
        endedTx = tx;
        tx.put("things", "a", 1);
      });
      throws(() => endedTx!.put("things", "late", 1));
      throws(() => endedTx!.delete("things", "a"));
      equal(
        (await store.list("things", { limit: 10 })).map(({ id }) => id),
        ["a"],
      );
    },
  },
  {
    name: "200 concurrent transactions share their syncs",
    needs: "syncs",
    async run({ store, syncs }) {
      await increment(store);
      const before = syncs!();
      await Promise.all(repeat(200, () => increment(store)));
      agree(syncs!() > before, "nothing was synced");
      agree(syncs!() - before <= 20, `there were ${syncs!() - before} syncs`);
    },
  },
  {
    name: "only decisions see writes before they are durable, and results wait until they are",
    needs: "stall",
    async run({ store, stall }) {
      await put(store, "things", "a", 1);
      const release = stall!();
      const answers: string[] = [];
      /** Adds a name to `answers` when the work ends. */
      const recordEnd = (name: string, work: Promise<unknown>): Promise<unknown> =>
        work.catch(() => undefined).finally(() => answers.push(name));
      const hasRead = createSignal();
      const willReject = createSignal();
      let readByTransaction: unknown[] = [];
      const allEnded = Promise.all([
        recordEnd(
          "write",
          store.transact((tx) => {
            tx.put("things", "a", 2);
            tx.put("things", "b", 1);
          }),
        ),
        recordEnd(
          "read",
          store.transact(async (tx) => {
            readByTransaction = [(await tx.get("things", "a"))?.value, (await tx.list("things", { limit: 9 })).length];
            hasRead.send();
          }),
        ),
        recordEnd(
          "rejection",
          store.transact(async (tx) => {
            await tx.get("things", "a");
            willReject.send();
            throw new Error("decided from data that is not durable");
          }),
        ),
      ]);
      try {
        await Promise.race([Promise.all([hasRead.sent, willReject.sent]), allEnded]);
        equal(readByTransaction, [2, 2]);
        equal((await store.get("things", "a"))?.value, 1);
        equal((await store.list("things", { limit: 9 })).length, 1);
        equal(answers, []);
      } finally {
        release();
        await allEnded;
      }
      equal((await store.get("things", "a"))?.value, 2);
    },
  },
  {
    name: "values, order and revisions survive reopening, also revisions of deleted records",
    needs: "reopen",
    async run({ store, reopen }) {
      for (const id of ["b", "a", "c"]) await put(store, "things", id, { id, text: "é\n" });
      await put(store, "things", "a", { again: true });
      await remove(store, "things", "c");
      await put(store, "others", "x", 1);
      await remove(store, "others", "x");
      await put(store, "others", "x", 2);
      const [things, others] = [await store.list("things", { limit: 10 }), await store.list("others", { limit: 10 })];

      const reopened = await reopen!();
      equal(await reopened.list("things", { limit: 10 }), things);
      equal(await reopened.list("others", { limit: 10 }), others);
      equal(await reopened.get("things", "c"), undefined);
      await put(reopened, "things", "c", "new", 0);
      agree((await reopened.get("things", "c"))!.revision > 1, "the revision of a deleted record was forgotten");
      await put(reopened, "things", "a", "third", 2);

      const reopenedAgain = await reopen!();
      equal((await reopenedAgain.get("things", "a"))?.revision, 3);
      equal((await reopenedAgain.get("things", "c"))?.value, "new");
    },
  },
  {
    name: "concurrent decisions of two processes are serialized, and both see all writes",
    needs: "another",
    async run({ store, another }) {
      const other = await another!();
      const counts = await Promise.all(repeat(40, (index) => increment(index % 2 === 0 ? store : other)));
      equal(
        counts.sort((a, b) => a - b),
        counts.map((_, index) => index + 1),
        "the list of counts",
      );
      for (const process of [store, other]) equal((await process.get("counters", "n"))?.value, 40);
      await other.close();
    },
  },
  {
    name: "a process that was the only writer sees later puts and deletes of another process",
    needs: "another",
    async run({ store, another }) {
      const other = await another!();
      /** Writes several times without writes of the other process in between. */
      const writeAlone = async (): Promise<void> => {
        for (const id of numberedIds(5)) await increment(store, id);
      };
      await writeAlone();
      await put(other, "things", "a", 1);
      await rejects(put(store, "things", "a", 9, 0), RevisionConflict);
      equal(await store.get("things", "a"), { id: "a", revision: 1, value: 1 });

      await writeAlone();
      await remove(other, "things", "a");
      await put(store, "things", "a", 2, 0);
      agree((await store.get("things", "a"))!.revision > 1, "the revision restarted after a delete by another process");
      await increment(store, "cached");
      await put(other, "things", "b", 1);
      const { revision } = (await other.get("things", "b"))!;
      await remove(other, "things", "b");
      await store.transact(async (tx) => {
        await tx.get("counters", "cached");
        tx.put("things", "b", 2, 0);
      });
      agree(
        (await store.get("things", "b"))!.revision > revision,
        "the revision of a record that another process deleted restarted",
      );

      await writeAlone();
      await increment(other, "r0");
      // Three increments by `store`, and one by `other`.
      equal(await store.transact(async (tx) => (await tx.get("counters", "r0"))?.value), 4);
      equal(await increment(store, "r0"), 5);
      await other.close();
    },
  },
  {
    name: "close waits for running transactions, can be called twice, and ends the store",
    async run({ store }) {
      const mayEnd = createSignal();
      const slow = store.transact(async (tx) => {
        await mayEnd.sent;
        tx.put("counters", "n", 1);
        return 1;
      });
      const counted = Promise.allSettled([slow, ...repeat(20, () => increment(store))]);
      let closed = false;
      const closes = Promise.allSettled([store.close(), store.close()]).finally(() => (closed = true));
      // A close that does not wait would end within this time.
      await new Promise((resolve) => setTimeout(resolve, 20));
      equal(closed, false);
      mayEnd.send();
      equal((await counted).at(-1), { status: "fulfilled", value: 21 });
      equal(
        (await closes).map(({ status }) => status),
        ["fulfilled", "fulfilled"],
      );
      await store.close();
      await rejects(increment(store), StoreUnavailable);
    },
  },
];
