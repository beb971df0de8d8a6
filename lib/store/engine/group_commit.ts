/**
 * Transactions over an engine that several processes share. The decisions that wait in this process are one batch: what they
 * declare is fetched in one round trip with the head, they run once, one after another, and one commit makes their writes
 * durable. Further reads go to the engine one after another; the cache of the last commit answers the others.
 */
import { type Store, StoreBusy } from "../store.ts";
import type { Engine } from "./attempt.ts";
import { type Pacing, retryContended } from "./pacing.ts";
import { prefetch } from "./prefetch.ts";
import { type Job, createQueue } from "./queue.ts";
import { createReadCache, type ReadCache } from "./read_cache.ts";
import { type BatchResult, runBatch } from "./run.ts";

/** A commit takes about 100 writes, so more decisions than this rarely fit; all that wait are prefetched. */
const MAX_DECISIONS_PER_BATCH = 100;
/** After this many commits without one of another process between them, the last commit is taken to be the head still. */
const COMMITS_UNTIL_ALONE = 3;
/** A process that held the head for longer waits as long before its next batch, so that others can write. */
const LONG_HOLD_MS = 250;
const MAX_YIELD_MS = 2000;

/** `transact` and `close` over an engine. Each job ends with a result or an error, or returns to the queue. */
export function groupCommit(engine: Engine, pacing: Pacing): Pick<Store, "transact" | "close"> {
  const { untouched: _, ...careful } = engine;
  const sharing: Sharing = {
    cache: createReadCache(),
    conflicted: false,
    aloneCommits: 0,
    holdMs: 0,
    readsAll: false,
  };
  return createQueue(async (queue) => {
    const jobs: Job[] = [];
    /** Number of decisions at the first attempt. */
    let first = 0;
    const takeMore = (): void => void jobs.push(...queue.splice(0, MAX_DECISIONS_PER_BATCH - jobs.length));
    try {
      const { ends } = await retryContended(
        () => {
          takeMore();
          first ||= jobs.length;
          return attempt(sharing.readsAll ? careful : engine, sharing, {
            jobs,
            takeMore,
            now: () => pacing.clock.now(),
          });
        },
        pacing,
        engine.tries,
      );
      queue.unshift(...jobs.slice(ends.length));
      for (const end of ends) end();
      const { conflicted, holdMs } = sharing;
      if (conflicted && holdMs > LONG_HOLD_MS) await pacing.clock.sleep(Math.min(holdMs, MAX_YIELD_MS));
    } catch (error) {
      // Jobs that arrived after the first attempt have attempts left.
      if (error instanceof StoreBusy) queue.unshift(...jobs.splice(first));
      for (const { reject } of jobs) reject(error);
    } finally {
      sharing.cache.trim();
    }
  });
}

/** State of a process on a shared store. */
interface Sharing {
  cache: ReadCache;
  /** True if another process had committed before the last attempt. */
  conflicted: boolean;
  /** Number of commits in a row without one of another process between them. */
  aloneCommits: number;
  /** How long the last commit held the head; milliseconds. */
  holdMs: number;
  /** True if the last attempt failed on the head as it was read: then records that are put as new are read as well. */
  readsAll: boolean;
}

/** Runs as many jobs as one commit takes, at least one, and commits. `takeMore` adds the jobs that arrived meanwhile. */
async function attempt(
  engine: Engine,
  sharing: Sharing,
  { jobs, takeMore, now }: { jobs: readonly Job[]; takeMore: () => void; now: () => number },
): Promise<BatchResult> {
  const { cache } = sharing;
  const isAlone = sharing.aloneCommits >= COMMITS_UNTIL_ALONE;
  const base = engine.begin(isAlone ? cache.head : undefined);
  const isOutdated = sharing.conflicted || cache.head === undefined;
  const early = isOutdated ? undefined : prefetch(jobs, base, cache);
  early?.catch(() => undefined);
  try {
    const head = await base.head;
    const since = now();
    await early;
    sharing.conflicted = head !== cache.head;
    if (sharing.conflicted) {
      cache.reset(head);
      takeMore();
    }
    if (sharing.conflicted || !early) await prefetch(jobs, base, cache);
    const batch = await runBatch(jobs, { engine, cache, base });
    cache.advance(await base.commit(batch.writes), batch.writes);
    sharing.holdMs = now() - since;
    sharing.aloneCommits = sharing.conflicted ? 0 : sharing.aloneCommits + 1;
    sharing.readsAll = false;
    return batch;
  } catch (error) {
    // Cached data may be the cause, and late answers must not enter the cache of a later attempt.
    sharing.cache = createReadCache();
    sharing.aloneCommits = 0;
    sharing.readsAll = !isAlone;
    // No read may be sent after the attempt has released its connection.
    await early?.catch(() => undefined);
    await base.abandon();
    throw error;
  }
}
