/** Runs decisions one after another against what has been accepted; each resolves when what it read and wrote is durable. */
import { sequenceId } from "../../lib/store/collections.ts";
import { draft, type Versions } from "../../lib/store/engine/write_set.ts";
import { StoreUnavailable, type Tx } from "../../lib/store/store.ts";
import type { Journal } from "./journal.ts";
import type { Overlay } from "./overlay.ts";

type Decide<T> = (tx: Tx) => T | Promise<T>;

/** The queue of transactions. */
export interface Transactions {
  run<T>(decide: Decide<T>): Promise<T>;
  /** Refuses further ones, and waits for those under way. */
  close(): Promise<void>;
}

/** A queue over a journal. `sizes`: the collections that are only appended to, and how many records each has. */
export function newTransactions(
  accepted: Overlay,
  journal: Journal,
  sizes: readonly (readonly [collection: string, size: number])[],
): Transactions {
  const appended = new Map(sizes);
  let queue: Promise<void> = Promise.resolve();
  let closed = false;

  /** Takes the writes on, or throws because a sequence would not only grow. */
  const checkSequences = (writes: Versions): void => {
    const grown: [string, number][] = [];
    for (const [collection, before] of appended) {
      let size = before;
      for (const { id, text } of writes.get(collection)?.values() ?? []) {
        const next = sequenceId(size + 1);
        if (text === undefined || id !== next)
          throw new Error(
            `${collection}/${id} cannot be written: ${collection} is only appended to, and its next id is ${next}`,
          );
        size++;
      }
      if (size > before) grown.push([collection, size]);
    }
    for (const [collection, size] of grown) appended.set(collection, size);
  };

  const one = async <T>(
    decide: Decide<T>,
    resolve: (result: T) => void,
    reject: (error: unknown) => void,
  ): Promise<void> => {
    if (journal.failure) return reject(journal.failure);
    let writes: Versions | undefined;
    let durable: () => void;
    try {
      const { tx, finish } = draft(accepted);
      const result = await decide(tx);
      const finished = finish();
      checkSequences(finished);
      writes = finished;
      durable = () => resolve(result);
    } catch (error) {
      // It may tell of what was read, so it waits for that to be durable like any other answer.
      durable = () => reject(error);
    }
    if (journal.failure) return reject(journal.failure);
    const waiter = { durable, failed: reject };
    if (!writes || writes.size === 0) return journal.whenDurable(waiter);
    accepted.add(writes);
    journal.append(writes, waiter);
  };

  return {
    run(decide) {
      if (closed) return Promise.reject(new StoreUnavailable("the store is closed"));
      return new Promise((resolve, reject) => {
        queue = queue.then(() => one(decide, resolve, reject));
      });
    },
    async close() {
      closed = true;
      await queue;
      await journal.idle();
    },
  };
}
