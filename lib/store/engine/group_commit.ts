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
/** So many decisions cost more to run than a round trip takes: where others write, they are not run over what has changed. */
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
  const sharing: Sharing = { held: holding(), overtaken: false, alone: 0, heldMs: 0, common: { keys: [], pages: [] } };
  return queued(async (queue) => {
    const jobs: Job[] = [];
    /** So many were there at the first try. */
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
      const { overtaken, heldMs } = sharing;
      if (overtaken && heldMs > LONG_HOLD_MS) await pacing.clock.sleep(Math.min(heldMs, MAX_YIELD_MS));
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
  /** Whether another had committed when this one came to do so last. */
  overtaken: boolean;
  /** How many of its commits followed its own, one after another. */
  alone: number;
  /** How long its last commit held the head. */
  heldMs: number;
  /** Whether the last try failed: then nothing is taken for granted. */
  failed?: boolean;
  /** What more than one decision of the last batch read. */
  common: Reading;
}

/** Decides as many jobs as one commit takes, one at least, and commits. `takeMore`: those that came while it waited. */
async function attempt(
  engine: Engine,
  sharing: Sharing,
  { jobs, takeMore, now }: { jobs: readonly Job[]; takeMore: () => void; now: () => number },
): Promise<Run> {
  const { held } = sharing;
  const isInVain = sharing.overtaken && jobs.length >= MANY;
  let run = await runBatch(isInVain ? [] : jobs, { engine, held });
  const base = engine.begin(sharing.alone >= SETTLED ? held.head : undefined);
  try {
    const ahead = learn(collectReads(run, held, "not held"), base, held);
    ahead.catch(() => undefined);
    const head = await base.head;
    const since = now();
    await ahead;
    sharing.overtaken = head !== held.head;
    if (sharing.overtaken) {
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
    sharing.alone = sharing.overtaken ? 0 : sharing.alone + 1;
    sharing.failed = false;
    // What was refused was judged by what was not durable yet, and told by nobody before it was.
    return run;
  } catch (error) {
    // What it holds may be why, and answers that are still on their way must not be taken for those of a later try.
    sharing.held = held.doubted();
    sharing.alone = 0;
    sharing.failed = true;
    await base.abandon();
    throw error;
  }
}
