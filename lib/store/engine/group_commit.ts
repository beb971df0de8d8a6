/**
 * Transactions over an engine that other processes share. What waits in this process is decided one after another and
 * committed at once. Decisions are run over what the process holds already, and what they read beyond that is asked for
 * together: where all was as they took it, they hold, and otherwise they are run again. So a batch takes two or three round
 * trips, however much its decisions read one after another.
 */
import type { Store } from "../store.ts";
import type { Engine } from "./attempt.ts";
import { type Held, holding } from "./held.ts";
import { type Pacing, withRetries } from "./pacing.ts";
import { type Job, queued } from "./queue.ts";
import { learn, readingOf, type Run, runOf, stillRight } from "./run.ts";

const MOST_DECISIONS = 256;
/** After so many runs that took something for absent which was there, decisions read one thing after another. */
const GUESSING_RUNS = 4;

/** `transact` and `close` over an engine. Each job is brought to its end, or put back. */
export function groupCommit(engine: Engine, pacing: Pacing): Pick<Store, "transact" | "close"> {
  const held = holding();
  return queued(async (queue) => {
    const jobs: Job[] = [];
    const takeMore = (): void => void jobs.push(...queue.splice(0, MOST_DECISIONS - jobs.length));
    try {
      const { ends } = await withRetries(() => {
        takeMore();
        return attempt(engine, held, { jobs, takeMore });
      }, pacing);
      queue.unshift(...jobs.slice(ends.length));
      for (const end of ends) end();
    } catch (error) {
      for (const { reject } of jobs) reject(error);
    } finally {
      held.bound();
    }
  });
}

/** Decides as many jobs as one commit takes, one at least, and commits. `takeMore`: those that came while it waited. */
async function attempt(
  engine: Engine,
  held: Held,
  { jobs, takeMore }: { jobs: readonly Job[]; takeMore: () => void },
): Promise<Run> {
  let run = await runOf(jobs, { engine, held });
  const base = engine.begin();
  try {
    const ahead = learn(readingOf(run, held, "not held"), base, held);
    const [head] = await Promise.all([base.head, ahead]);
    if (head !== held.head) {
      const reading = readingOf(run, held, "all");
      held.moveTo(head);
      takeMore();
      await learn(reading, base, held);
    }
    for (let runs = 1; ; runs++) {
      const right = stillRight(run, held);
      if (right.length === run.decided.length && right.length > 0) break;
      const isGuessing = runs < GUESSING_RUNS;
      run = await runOf(jobs, { engine, held, right, base: isGuessing ? undefined : base });
      if (isGuessing) await learn(readingOf(run, held, "not held"), base, held);
    }
    const writes = run.writes(held);
    held.follow(await base.commit(writes), writes);
    // What was refused was judged by what was not durable yet, and told by nobody before it was.
    return run;
  } catch (error) {
    await base.abandon();
    throw error;
  }
}
