/** Queue of waiting decisions, in order of arrival. */
import { type Prefetch, type Store, StoreUnavailable, type Tx } from "../store.ts";

/** A waiting decision, with the callbacks of its caller. */
export interface Job {
  decide(tx: Tx): unknown;
  prefetch: Prefetch | undefined;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** Creates `transact` and `close` over a queue. `runJobs` takes jobs from the front and completes them; it never rejects. */
export function createQueue(runJobs: (queue: Job[]) => Promise<void>): Pick<Store, "transact" | "close"> {
  const queue: Job[] = [];
  let running: Promise<void> | undefined;
  let closed = false;

  const runAll = async (): Promise<void> => {
    while (queue.length > 0) await runJobs(queue);
    running = undefined;
  };
  return {
    transact<T>(decide: (tx: Tx) => T | Promise<T>, prefetch?: Prefetch) {
      if (closed) return Promise.reject(new StoreUnavailable("the store is closed"));
      return new Promise<T>((resolve, reject) => {
        queue.push({ decide, prefetch, resolve: resolve as Job["resolve"], reject });
        // Started in a microtask, so that decisions that are requested in the same synchronous code can form one batch.
        running ??= Promise.resolve().then(runAll);
      });
    },
    async close() {
      closed = true;
      await running;
    },
  };
}
