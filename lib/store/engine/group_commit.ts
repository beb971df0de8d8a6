/**
 * Transactions over an engine that other processes share. What waits in this process is decided one after another and
 * committed at once. Decisions are run over what the process holds already, and what they read beyond that is asked for
 * together: where all was as they took it, they hold, and otherwise they are run again. So a batch takes two or three round
 * trips, however much its decisions read one after another.
 */
import { type Store, StoreBusy } from "../store.ts";
import type { Engine } from "./attempt.ts";
import { type Held, holding } from "./held.ts";
import { type Pacing, withRetries } from "./pacing.ts";
import { type Job, queued } from "./queue.ts";
import { commonReading, learn, type Reading, collectReads, type Run, runBatch, stillRight } from "./run.ts";

const MOST_DECISIONS = 256;
/**
 * Number of decisions whose run costs more than a round trip: where others write, they do not run on data that may have changed.
 */
const MANY = 8;
/** After so many runs that took something for absent which was there, decisions read one thing after another. */
const GUESSING_RUNS = 4;
/** After so many commits with nobody else's between, the last one is taken to be this process's own still. */
const SETTLED = 3;
/** Who held the head of a shared store for longer waits as long before its next batch, so that others come to write. */
const LONG_HOLD_MS = 250;
const MAX_YIELD_MS = 2000;

/** `transact` and `close` over an engine. Each job is brought to its end, or put back. */
export function groupCommit(engine: Engine, pacing: Pacing): Pick<Store, "transact" | "close"> {
  const { untouched: _, ...careful } = engine;
  const sharing: Sharing = { held: holding(), conflicted: false, alone: 0, heldMs: 0, common: { keys: [], pages: [] } };
  return queued(async (queue) => {
    const jobs: Job[] = [];
    /** Number of decisions at the first attempt. */
    let first = 0;
    const takeMore = (): void => void jobs.push(...queue.splice(0, MOST_DECISIONS - jobs.length));
    try {
      const { ends } = await withRetries(
        () => {
          takeMore();
          first ||= jobs.length;
          return attempt(sharing.failed ? careful : engine, sharing, { jobs, takeMore, now: () => pacing.clock.now() });
        },
        pacing,
        engine.tries,
      );
      queue.unshift(...jobs.slice(ends.length));
      for (const end of ends) end();
      const { conflicted, heldMs } = sharing;
      if (conflicted && heldMs > LONG_HOLD_MS) await pacing.clock.sleep(Math.min(heldMs, MAX_YIELD_MS));
    } catch (error) {
      // Who came later has not had all tries.
      if (error instanceof StoreBusy) queue.unshift(...jobs.splice(first));
      for (const { reject } of jobs) reject(error);
    } finally {
      sharing.held.bound();
    }
  });
}

/** How this process stands to the others on its store. */
interface Sharing {
  held: Held;
  /** True if another process had committed before the last attempt. */
  conflicted: boolean;
  /** How many of its commits followed its own, one after another. */
  alone: number;
  /** How long its last commit held the head. */
  heldMs: number;
  /** True if the last attempt failed: then nothing is assumed. */
  failed?: boolean;
  /** Records that more than one decision of the last batch read. */
  common: Reading;
}

/** Decides as many jobs as one commit takes, one at least, and commits. `takeMore`: those that came while it waited. */
async function attempt(
  engine: Engine,
  sharing: Sharing,
  { jobs, takeMore, now }: { jobs: readonly Job[]; takeMore: () => void; now: () => number },
): Promise<Run> {
  const { held } = sharing;
  const isInVain = sharing.conflicted && jobs.length >= MANY;
  let run = await runBatch(isInVain ? [] : jobs, { engine, held });
  const base = engine.begin(sharing.alone >= SETTLED ? held.head : undefined);
  try {
    const ahead = learn(collectReads(run, held, "not held"), base, held);
    ahead.catch(() => undefined);
    const head = await base.head;
    const since = now();
    await ahead;
    sharing.conflicted = head !== held.head;
    if (sharing.conflicted) {
      const reading = isInVain ? sharing.common : collectReads(run, held, "all");
      held.moveTo(head);
      takeMore();
      await learn(reading, base, held);
    }
    for (let runs = 1; ; runs++) {
      const right = stillRight(run, held, engine);
      if (right.length === run.decided.length && right.length > 0) break;
      const isGuessing = runs < GUESSING_RUNS;
      run = await runBatch(jobs, { engine, held, right, base: isGuessing ? undefined : base });
      if (isGuessing) await learn(collectReads(run, held, "not held"), base, held);
    }
    sharing.common = commonReading(run);
    const writes = run.writes(held);
    held.follow(await base.commit(writes), writes);
    sharing.heldMs = now() - since;
    sharing.alone = sharing.conflicted ? 0 : sharing.alone + 1;
    sharing.failed = false;
    // A rejected run was decided on data that was not durable yet, and nobody has its results.
    return run;
  } catch (error) {
    // Cached data may be the cause, and late answers must not be taken for those of a later attempt.
    sharing.held = held.doubted();
    sharing.alone = 0;
    sharing.failed = true;
    await base.abandon();
    throw error;
  }
}
