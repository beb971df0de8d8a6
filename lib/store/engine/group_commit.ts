/**
 * Transactions over an engine that other processes share. What waits in this process is decided one after another and
 * committed at once, so that many callers share one round trip; when another process was faster, all of it is decided again.
 */
import { asyncDraft, type AsyncView, type Key, listOverView } from "./async_write_set.ts";
import { inner, type Version, type Versions } from "./write_set.ts";
import { type Store, StoreBusy, StoreUnavailable, type Tx } from "../store.ts";

/** A record as it will be, and as it was when it was read: `undefined` when it never was. */
export interface Write {
  readonly next: Version;
  readonly before: Version | undefined;
}

/** One try to carry a batch. Whatever its methods reject with ends it, and nothing of it is kept. */
export interface Attempt extends AsyncView {
  /** Makes the writes durable, all or none, if all that was read still holds; without writes it only makes sure of that. */
  commit(writes: readonly Write[]): Promise<void>;
  /** Lets go without a commit; never rejects. */
  abandon(): Promise<void>;
}

/** A store engine that many processes write to. */
export interface Engine {
  /** Begins a try: what it reads is what was durable at one moment, or the commit refuses it. */
  begin(): Promise<Attempt>;
  /** A batch of this many written records takes no further decision. */
  readonly roomy: number;
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

/** Where chance and time come from. */
export interface Chance {
  /** From 0 to below 1. */
  random(): number;
  /** Milliseconds since the epoch. */
  now(): number;
  sleep(ms: number): Promise<void>;
}

/** The machine's. */
export const realChance: Chance = {
  random: () => Math.random(),
  now: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

const TRIES = 8;
const MOST_DECISIONS = 256;
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 1000;

/** How long to wait after this many tries: anything up to a bound that doubles, so that those who collided part. */
export const pauseAfter = (tries: number, random: () => number): number =>
  Math.floor(random() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1)));

/** Does the work again while it is contended. Errors: `StoreBusy` after 8 tries; any other of the work. */
export async function tried<T>(
  work: () => Promise<T>,
  { random, sleep }: Pick<Chance, "random" | "sleep">,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Contended)) throw error;
      if (tries === TRIES) throw new StoreBusy(`contended after ${TRIES} tries: ${error.message}`, { cause: error });
      await sleep(pauseAfter(tries, random));
    }
  }
}

interface Job {
  decide(tx: Tx): unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** `transact` and `close` over an engine. */
export function groupCommit(engine: Engine, chance: Chance): Pick<Store, "transact" | "close"> {
  const queue: Job[] = [];
  let running: Promise<void> | undefined;
  let closed = false;

  const run = async (): Promise<void> => {
    while (queue.length > 0) await carry(queue.splice(0, MOST_DECISIONS));
    running = undefined;
  };

  /** Brings each job to its end, or puts it back. */
  const carry = async (jobs: Job[]): Promise<void> => {
    try {
      const ends = await tried(() => attempt(engine, jobs), chance);
      queue.unshift(...jobs.slice(ends.length));
      for (const end of ends) end();
    } catch (error) {
      for (const { reject } of jobs) reject(error);
    }
  };

  return {
    transact<T>(decide: (tx: Tx) => T | Promise<T>) {
      if (closed) return Promise.reject(new StoreUnavailable("the store is closed"));
      return new Promise<T>((resolve, reject) => {
        queue.push({ decide, resolve: resolve as Job["resolve"], reject });
        running ??= run();
      });
    },
    async close() {
      closed = true;
      await running;
    },
  };
}

/** Decides as many jobs as one commit takes, one at least, and commits; gives what to tell each of them. */
async function attempt(engine: Engine, jobs: readonly Job[]): Promise<(() => void)[]> {
  const base = await engine.begin();
  try {
    const batch = batchOver(base);
    const ends: (() => void)[] = [];
    for (const job of jobs) {
      if (ends.length > 0 && batch.size() >= engine.roomy) break;
      ends.push(await decided(job, batch, engine));
      if (batch.failure) throw batch.failure.error;
    }
    // What was refused was judged by what is not durable yet, and told by nobody before it is.
    await base.commit(batch.writes());
    return ends;
  } catch (error) {
    await base.abandon();
    throw error;
  }
}

async function decided({ decide, resolve, reject }: Job, batch: Batch, { check }: Engine): Promise<() => void> {
  const { tx, end, writes } = asyncDraft(batch);
  try {
    const result = await decide(tx);
    end();
    const versions = await writes();
    if (check) for (const byId of versions.values()) for (const version of byId.values()) check(version);
    batch.accept(versions);
    return () => resolve(result);
  } catch (error) {
    end();
    return () => reject(error);
  }
}

/** What the decisions of one try see: each what the ones before it wrote. */
interface Batch extends AsyncView {
  accept(versions: Versions): void;
  /** How many records were written. */
  size(): number;
  writes(): Write[];
  /** What a read failed with. A decision may have caught it, and must not be heard then. */
  readonly failure: { error: unknown } | undefined;
}

function batchOver(base: Attempt): Batch {
  const read = new Map<string, Map<string, Version | undefined>>();
  const written: Versions = new Map();
  let failure: Batch["failure"];

  const orFail = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  };

  const load = async (keys: readonly Key[]): Promise<void> => {
    const missing = keys.filter(({ collection, id }) => !inner(read, collection).has(id));
    if (missing.length === 0) return;
    const versions = await orFail(base.versions(missing));
    missing.forEach(({ collection, id }, index) => inner(read, collection).set(id, versions[index]));
  };

  const versionOf = ({ collection, id }: Key): Version | undefined =>
    written.get(collection)?.get(id) ?? read.get(collection)?.get(id);

  return {
    async versions(keys) {
      await load(keys);
      return keys.map(versionOf);
    },
    list: (collection, options) => orFail(listOverView(base, collection, written.get(collection), options)),
    accept(versions) {
      for (const [collection, byId] of versions)
        for (const [id, version] of byId) inner(written, collection).set(id, version);
    },
    size: () => [...written.values()].reduce((sum, byId) => sum + byId.size, 0),
    writes: () =>
      [...written.values()].flatMap((byId) =>
        [...byId.values()].map((next) => ({ next, before: read.get(next.collection)?.get(next.id) })),
      ),
    get failure() {
      return failure;
    },
  };
}
