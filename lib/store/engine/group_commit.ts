/**
 * Transactions over an engine that several processes share. The decisions that wait in this process form a batch: their
 * declared reads are fetched in one round trip with the head, they run one after another, and one commit makes their writes
 * durable. Reads that were not declared are answered by the cache of the last commit, or fetched one at a time.
 */
import { type Store, StoreBusy } from "../store.ts";
import type { Engine } from "./attempt.ts";
import { type Pacing, retryContended } from "./pacing.ts";
import { prefetch } from "./prefetch.ts";
import { type Job, createQueue } from "./queue.ts";
import { createReadCache, type ReadCache } from "./read_cache.ts";
import { type BatchResult, runBatch } from "./run.ts";

/** A commit takes about 100 writes, so more decisions than this rarely fit. */
const MAX_DECISIONS_PER_BATCH = 100;
/** After this many successive commits of this process, the last one is assumed to be the head. */
const COMMITS_UNTIL_SOLE_WRITER = 3;
/**
 * If other processes write too, a process that locked the head for longer than this pauses before its next batch, so that the others
 * get a turn. The pause is as long as the lock was, up to `MAX_YIELD_MS`.
 */
const LONG_HOLD_MS = 250;
const MAX_YIELD_MS = 2000;

/** Creates `transact` and `close` over an engine. Each job gets a result or an error, or returns to the queue. */
export function groupCommit(engine: Engine, pacing: Pacing): Pick<Store, "transact" | "close"> {
  // Without `assumeAbsent`, records that are put as new are read too (see `readsAll`).
  const { assumeAbsent: _, ...readingEngine } = engine;
  const state: ProcessState = {
    cache: createReadCache(),
    conflicted: false,
    successiveCommits: 0,
    holdMs: 0,
    readsAll: false,
  };
  return createQueue(async (queue) => {
    const jobs: Job[] = [];
    let jobsAtFirstAttempt = 0;
    const takeMore = (): void => void jobs.push(...queue.splice(0, MAX_DECISIONS_PER_BATCH - jobs.length));
    try {
      const { reports } = await retryContended(
        () => {
          takeMore();
          jobsAtFirstAttempt ||= jobs.length;
          return attempt(state.readsAll ? readingEngine : engine, state, {
            jobs,
            takeMore,
            now: () => pacing.clock.now(),
          });
        },
        pacing,
        engine.maxTries,
      );
      // Jobs that did not fit into the commit.
      queue.unshift(...jobs.slice(reports.length));
      for (const report of reports) report();
      const { conflicted, holdMs } = state;
      if (conflicted && holdMs > LONG_HOLD_MS) await pacing.clock.sleep(Math.min(holdMs, MAX_YIELD_MS));
    } catch (error) {
      // Jobs that arrived after the first attempt are tried again.
      if (error instanceof StoreBusy) queue.unshift(...jobs.splice(jobsAtFirstAttempt));
      for (const { reject } of jobs) reject(error);
    } finally {
      state.cache.trim();
    }
  });
}

/** State of a process on a shared store. */
interface ProcessState {
  cache: ReadCache;
  /** True if another process had committed before the last attempt. */
  conflicted: boolean;
  /** Number of successive commits without a commit of another process between them. */
  successiveCommits: number;
  /** How long the last batch locked the head. */
  holdMs: number;
  /** True if the last attempt failed without assuming its head: a record that is put as new may exist, so it is read as well. */
  readsAll: boolean;
}

/** Runs as many jobs as fit in one commit, at least one, and commits. `takeMore` adds the jobs that arrived meanwhile. */
async function attempt(
  engine: Engine,
  state: ProcessState,
  { jobs, takeMore, now }: { jobs: readonly Job[]; takeMore: () => void; now: () => number },
): Promise<BatchResult> {
  const { cache } = state;
  const isSoleWriter = state.successiveCommits >= COMMITS_UNTIL_SOLE_WRITER;
  const base = engine.begin(isSoleWriter ? cache.head : undefined);
  // With an outdated cache, a prefetch that is sent along with the request for the head would have to be repeated.
  const isPresumablyOutdated = state.conflicted || cache.head === undefined;
  const earlyPrefetch = isPresumablyOutdated ? undefined : prefetch(jobs, base, cache);
  earlyPrefetch?.catch(() => undefined);
  try {
    const head = await base.head;
    const since = now();
    await earlyPrefetch;
    state.conflicted = head !== cache.head;
    if (state.conflicted) {
      cache.reset(head);
      takeMore();
    }
    if (state.conflicted || !earlyPrefetch) await prefetch(jobs, base, cache);
    const batch = await runBatch(jobs, { engine, cache, base });
    cache.advance(await base.commit(batch.writes), batch.writes);
    state.holdMs = now() - since;
    state.successiveCommits = state.conflicted ? 0 : state.successiveCommits + 1;
    state.readsAll = false;
    return batch;
  } catch (error) {
    // Cached data may be the cause, and late answers must not enter the cache of a later attempt.
    state.cache = createReadCache();
    state.successiveCommits = 0;
    state.readsAll = !isSoleWriter;
    // No read may be sent after the attempt has released its connection.
    await earlyPrefetch?.catch(() => undefined);
    await base.abandon();
    throw error;
  }
}
