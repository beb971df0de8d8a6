/** Transactions on records with a single writing process: decisions run one after another, and each sees all earlier writes. */
import type { Store } from "../store.ts";
import { type Job, createQueue } from "./queue.ts";
import type { Awaitable, Version, View } from "./view.ts";
import { writeSet } from "./write_set.ts";

/** Storage of the records. */
export interface SerialStorage {
  /**
   * Stores the writes of a decision, none if it only read or failed; the next decision sees them immediately. Resolves when
   * these and all earlier writes are durable. Throws or rejects if they could not be made durable.
   */
  persist(writes: readonly Version[]): Promise<void> | void;
  /** Returns the error of the next decision if nothing can be written at present. No decision is running when it is called. */
  findWriteError?(): Awaitable<Error | undefined>;
  /** Yields to the event loop between decisions. */
  yieldTurn?(): Promise<unknown>;
}

/** Number of decisions before other work gets a turn of the event loop: 64 would block it for a tenth of a second. */
const DECISIONS_PER_TURN = 8;

/** Creates `transact`, `others` and `close` over a view. */
export function serial(
  view: View,
  { persist, findWriteError, yieldTurn }: SerialStorage,
): Pick<Store, "transact" | "close"> & Required<Pick<Store, "others">> {
  let lastReport: Promise<void> | undefined;
  let decisionCount = 0;

  /** Runs a decision, and reports its result when its writes are durable. Errors: those of `persist`. */
  const runJob = async ({ decide, resolve, reject }: Job): Promise<void> => {
    const { tx, end, writes } = writeSet(view);
    let report: () => void;
    let durable: Promise<void> | void;
    try {
      const result = await decide(tx);
      end();
      durable = persist(await writes());
      report = () => resolve(result);
    } catch (error) {
      end();
      // The error may depend on records that were read, so it too waits until they are durable.
      durable = persist([]);
      report = () => reject(error);
    }
    if (durable) lastReport = durable.then(report, reject);
    else report();
  };

  const { transact, close } = createQueue(async (queue) => {
    const job = queue.shift()!;
    const result = findWriteError?.();
    const error = result instanceof Promise ? await result : result;
    if (error) job.reject(error);
    else await runJob(job).catch(job.reject);
    if (++decisionCount % DECISIONS_PER_TURN === 0) await yieldTurn?.();
  });
  // `others` is constant, since no other process writes.
  return { transact, others: async () => "", close: () => close().then(() => lastReport) };
}
