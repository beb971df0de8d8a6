/**
 * Transactions over an engine that other processes share. What waits in this process is decided one after another and
 * committed at once, so that many callers share one round trip; when another process was faster, all of it is decided again.
 */
import type { Clock } from "../../kit/platform.ts";
import { type Store, StoreBusy } from "../store.ts";
import { type Job, queued } from "./queue.ts";
import { inner, nameOf, type Version, type View } from "./view.ts";
import { bytesOf, listOver, writeSet } from "./write_set.ts";

/** One try to carry a batch. Whatever its methods reject with ends it, and nothing of it is kept. */
export interface Attempt extends View {
  /** Makes the writes durable, all or none, if all that was read still holds; without writes it only makes sure of that. */
  commit(writes: readonly Version[]): Promise<void>;
  /** Lets go without a commit; never rejects. */
  abandon(): Promise<void>;
}

/** A store engine that many processes write to. */
export interface Engine {
  /** Begins a try: what it reads is what was durable at one moment, or the commit refuses it. */
  begin(): Promise<Attempt>;
  /** What one commit takes, records and bytes of text: as much as one decision may write, or more. */
  readonly most: { readonly writes: number; readonly bytes: number };
  /** Throws when the engine cannot hold a record; then its transaction is refused, and no other. */
  check?(version: Version): void;
}

/** Another process was at work: the same may succeed a little later. */
export class Contended extends Error {
  override readonly name = "Contended";
}

/** The engine did not say whether it kept a transaction, and cannot be asked: it may be kept, or not. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

/** When a request is made again: by a clock that can be waited on, and by numbers from 0 to below 1. */
export interface Pacing {
  clock: Clock & { sleep(ms: number): Promise<void> };
  random: () => number;
}

/** The machine's clock and chance. */
export const systemPacing: Pacing = {
  clock: { now: () => Date.now(), sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) },
  random: () => Math.random(),
};

const TRIES = 8;
const MOST_DECISIONS = 256;
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 1000;

/** How long to wait after this many tries: anything up to a bound that doubles, so that those who collided part. */
export const pauseAfter = (tries: number, random: Pacing["random"]): number =>
  Math.floor(random() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1)));

/** Does the work again while it is contended. Errors: `StoreBusy` after 8 tries; any other of the work. */
export async function withRetries<T>(work: () => Promise<T>, { clock, random }: Pacing): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Contended)) throw error;
      if (tries === TRIES) throw new StoreBusy(`contended after ${TRIES} tries: ${error.message}`, { cause: error });
      await clock.sleep(pauseAfter(tries, random));
    }
  }
}

/** `transact` and `close` over an engine. Each job is brought to its end, or put back. */
export const groupCommit = (engine: Engine, pacing: Pacing): Pick<Store, "transact" | "close"> =>
  queued(async (queue) => {
    const jobs = queue.splice(0, MOST_DECISIONS);
    try {
      const ends = await withRetries(() => attempt(engine, jobs), pacing);
      queue.unshift(...jobs.slice(ends.length));
      for (const end of ends) end();
    } catch (error) {
      for (const { reject } of jobs) reject(error);
    }
  });

/** Decides as many jobs as one commit takes, one at least, and commits; gives what to tell each of them. */
async function attempt(engine: Engine, jobs: readonly Job[]): Promise<(() => void)[]> {
  const base = await engine.begin();
  try {
    const batch = batchOver(base, engine.most);
    const ends: (() => void)[] = [];
    for (const job of jobs) {
      const end = await decided(job, batch, engine);
      if (batch.failure) throw batch.failure.error;
      if (!end) break;
      ends.push(end);
    }
    // What was refused was judged by what is not durable yet, and told by nobody before it is.
    await base.commit(batch.writes());
    return ends;
  } catch (error) {
    await base.abandon();
    throw error;
  }
}

/** What to tell of a job; `undefined` when what it writes has no place in the batch beside what is there. */
async function decided({ decide, resolve, reject }: Job, batch: Batch, { check }: Engine) {
  const { tx, end, writes } = writeSet(batch);
  try {
    const result = await decide(tx);
    end();
    const versions = await writes();
    if (check) versions.forEach(check);
    return batch.accept(versions) ? () => resolve(result) : undefined;
  } catch (error) {
    end();
    return () => reject(error);
  }
}

/** What the decisions of one try see: each what the ones before it wrote. */
interface Batch extends View {
  /** Takes writes on, if there is room for them. */
  accept(versions: readonly Version[]): boolean;
  writes(): Version[];
  /** What a read failed with. A decision may have caught it, and must not be heard then. */
  readonly failure: { error: unknown } | undefined;
}

function batchOver(base: Attempt, most: Engine["most"]): Batch {
  const read = new Map<string, Version | undefined>();
  const written = new Map<string, Map<string, Version>>();
  let count = 0;
  let bytes = 0;
  let failure: Batch["failure"];

  const orFail = async <T>(work: () => T): Promise<Awaited<T>> => {
    try {
      return await work();
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  };

  return {
    async versions(keys) {
      const missing = keys.filter((key) => !read.has(nameOf(key)));
      if (missing.length > 0) {
        const versions = await orFail(() => base.versions(missing));
        missing.forEach((key, index) => read.set(nameOf(key), versions[index]));
      }
      return keys.map((key) => written.get(key.collection)?.get(key.id) ?? read.get(nameOf(key)));
    },
    list(collection, options) {
      return orFail(async () => listOver(written.get(collection), options, (below) => base.list(collection, below)));
    },
    accept(versions) {
      const further = versions.filter(({ collection, id }) => !written.get(collection)?.has(id)).length;
      const more = bytesOf(versions);
      if (count > 0 && (count + further > most.writes || bytes + more > most.bytes)) return false;
      count += further;
      bytes += more;
      for (const version of versions) inner(written, version.collection).set(version.id, version);
      return true;
    },
    writes: () => [...written.values()].flatMap((byId) => [...byId.values()]),
    get failure() {
      return failure;
    },
  };
}
