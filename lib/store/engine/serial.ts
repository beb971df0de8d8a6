/** Transactions over records that nobody else writes to: decisions run one after another, each over all before it. */
import { type Store, StoreUnavailable, type Tx } from "../store.ts";
import type { Version, View } from "./view.ts";
import { writeSet } from "./write_set.ts";

/**
 * Keeps what a decision wrote, at once for those after it; nothing of one that only read or was refused. It resolves when
 * this and everything before it is durable.
 */
export type Keep = (writes: readonly Version[]) => Promise<void> | void;

interface Judgement<T> {
  durable: Promise<void> | void;
  answer(): T;
}

/** `transact` and `close` over a view. Once there is a `failure`, no further decision is run. */
export function serial(
  view: View,
  keep: Keep,
  failure: () => Error | undefined = () => undefined,
): Pick<Store, "transact" | "close"> {
  let queue: Promise<void> = Promise.resolve();
  let last: Promise<void> | undefined;
  let closed = false;

  /** Runs a decision; gives what to tell of it, and when. Errors: when nothing is kept any more. */
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
      const answer = (): never => {
        throw error;
      };
      // It may tell of what was read, so it waits for that to be durable like any other answer.
      return { durable: keep([]), answer };
    }
  };

  return {
    transact<T>(decide: (tx: Tx) => T | Promise<T>) {
      if (closed) return Promise.reject(new StoreUnavailable("the store is closed"));
      return new Promise<T>((resolve, reject) => {
        const one = async (): Promise<void> => {
          const { durable, answer } = await judge(decide);
          last = durable ? durable.then(answer).then(resolve, reject) : undefined;
          if (!durable) resolve(answer());
        };
        queue = queue.then(one).catch(reject);
      });
    },
    async close() {
      closed = true;
      await queue;
      await last;
    },
  };
}
