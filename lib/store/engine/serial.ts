/** Transactions over records that nobody else writes to: decisions run one after another, each over all before it. */
import type { Store } from "../store.ts";
import { type Job, createQueue } from "./queue.ts";
import type { Awaitable, Version, View } from "./view.ts";
import { writeSet } from "./write_set.ts";

/** Storage of the records. */
export interface Keeper {
  /**
   * Keeps what a decision wrote, at once for those after it; nothing, of one that only read or was refused. It resolves when
   * this and everything before it is durable, and throws or rejects when it never will be.
   */
  keep(writes: readonly Version[]): Promise<void> | void;
  /** Why nothing is kept at present: then the next decision is not run. No decision is under way when it is called. */
  failure?(): Awaitable<Error | undefined>;
  /** Lets whatever else waits have its turn of the event loop, between decisions of which many wait. */
  nextTurn?(): Promise<unknown>;
}

/** Sixty-four decisions that came at once took a turn of a tenth of a second, in which nothing else was answered. */
const DECISIONS_PER_TURN = 8;

/** `transact`, `others` and `close` over a view. */
export function serial(
  view: View,
  { keep, failure, nextTurn }: Keeper,
): Pick<Store, "transact" | "close"> & Required<Pick<Store, "others">> {
  let last: Promise<void> | undefined;
  let carried = 0;

  /** Runs a decision, and tells of it when that is durable. Errors: when nothing is kept any more. */
  const carry = async ({ decide, resolve, reject }: Job): Promise<void> => {
    const { tx, end, writes } = writeSet(view);
    let tell: () => void;
    let durable: Promise<void> | void;
    try {
      const result = await decide(tx);
      end();
      durable = keep(await writes());
      tell = () => resolve(result);
    } catch (error) {
      end();
      // It may tell of what was read, so it waits for that to be durable like any other answer.
      durable = keep([]);
      tell = () => reject(error);
    }
    if (durable) last = durable.then(tell, reject);
    else tell();
  };

  const { transact, close } = createQueue(async (queue) => {
    const job = queue.shift()!;
    const failing = failure?.();
    const failed = failing instanceof Promise ? await failing : failing;
    if (failed) job.reject(failed);
    else await carry(job).catch(job.reject);
    if (++carried % DECISIONS_PER_TURN === 0) await nextTurn?.();
  });
  return { transact, others: async () => "", close: () => close().then(() => last) };
}
