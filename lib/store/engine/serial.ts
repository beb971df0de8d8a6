/** Transactions over records that nobody else writes to: decisions run one after another, each over all before it. */
import { type Store, StoreUnavailable, type Tx } from "../store.ts";
import type { Versions, View } from "./view.ts";
import { writeSet } from "./write_set.ts";

/** Keeps what a decision wrote, at once for those after it. It resolves when this and everything before it is durable. */
export type Keep = (writes: Versions) => Promise<void> | void;

/** What is to be told of a decision, and when. */
interface Judgement<T> {
  durable: Promise<void> | void;
  answer(): T;
}

/**
 * `transact` and `close` over a view; `keep` is given every decision's writes, none for one that read only or was refused.
 * Once there is a `failure`, no further decision is run.
 */
export function serial(
  view: View,
  keep: Keep,
  failure: () => Error | undefined = () => undefined,
): Pick<Store, "transact" | "close"> {
  let queue: Promise<unknown> = Promise.resolve();
  let answered: Promise<unknown> = Promise.resolve();
  let closed = false;

  const judge = async <T>(decide: (tx: Tx) => T | Promise<T>): Promise<Judgement<T>> => {
    const failed = failure();
    if (failed) throw failed;
    const { tx, end, writes } = writeSet(view);
    try {
      const result = await decide(tx);
      end();
      return { durable: keep(await writes()), answer: () => result };
    } catch (error) {
      end();
      const refuse = (): never => {
        throw error;
      };
      // It may tell of what was read, so it waits for that to be durable like any other answer.
      return { durable: keep(new Map()), answer: refuse };
    }
  };

  return {
    transact<T>(decide: (tx: Tx) => T | Promise<T>) {
      if (closed) return Promise.reject(new StoreUnavailable("the store is closed"));
      const judged = queue.then(() => judge(decide));
      queue = judged.catch(() => undefined);
      const answer = judged.then(async ({ durable, answer }) => {
        await durable;
        return answer();
      });
      answered = answer.catch(() => undefined);
      return answer;
    },
    async close() {
      closed = true;
      await answered;
    },
  };
}
