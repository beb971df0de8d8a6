/** One run of a batch of decisions, over what is held of the store; what is not held is taken for absent, and noted. */
import type { Attempt, Engine, Write } from "./attempt.ts";
import { type Found, type Held, isSame, isSamePage, type Page, type Rows } from "./held.ts";
import type { Job } from "./queue.ts";
import { inner, type Key, recordName, onceThere, type Version, type View } from "./view.ts";
import { countBytes, mergeList, writeSet } from "./write_set.ts";

/** A decision that was run. */
interface Decided {
  /** Reports its result, once all that it rests on is durable. */
  readonly end: () => void;
  readonly writes: readonly Version[];
  readonly saw: Saw;
}

/** Reads of a decision from the store, without the writes of earlier decisions. */
class Saw {
  /** All records that it asked for, those too that decisions before it wrote. */
  readonly asked = new Map<string, Key>();
  readonly versions = new Map<string, { key: Key; found: Found }>();
  readonly pages = new Map<string, { page: Page; rows: Rows }>();
  /** Records that it put as new without asking for them: the commit is refused where they are not. */
  readonly untouched = new Map<string, { key: Key; found: Found }>();

  /** Returns whether all of these reads are still current. */
  holds(held: Held, engine: Engine): boolean {
    for (const { key, found } of this.untouched.values()) {
      const known = held.version(key) ?? engine.untouched?.(key);
      if (!known || !isSame(known.found, found)) return false;
    }
    for (const { key, found } of this.versions.values()) {
      const known = held.version(key);
      if (!known || !isSame(known.found, found)) return false;
    }
    for (const { page, rows } of this.pages.values()) {
      const known = held.rows(page);
      if (!known || !isSamePage(known, rows)) return false;
    }
    return true;
  }
}

/** Reads of a run. */
export interface Reading {
  keys: Key[];
  pages: Page[];
}

/** A run of some decisions. */
export interface Run {
  /** Reports of each decision; fewer than provided where one commit takes no more. */
  readonly ends: readonly (() => void)[];
  readonly decided: readonly Decided[];
  writes(held: Held): Write[];
}

/** All that was read, or what of it is not held. */
export function collectReads({ decided }: Run, held: Held, which: "all" | "not held"): Reading {
  const keys = new Map<string, Key>();
  const pages = new Map<string, Page>();
  for (const { saw } of decided) {
    for (const [name, { key }] of saw.versions) if (which === "all" || !held.version(key)) keys.set(name, key);
    for (const [name, { page }] of saw.pages) if (which === "all" || !held.rows(page)) pages.set(name, page);
  }
  return { keys: [...keys.values()], pages: [...pages.values()] };
}

/** Returns the reads that more than one decision made. */
export function commonReading({ decided }: Run): Reading {
  const seen = new Set<string>();
  const isSecond = (name: string): boolean => seen.has(name) || !seen.add(name);
  const keys = new Map<string, Key>();
  const pages = new Map<string, Page>();
  for (const { saw } of decided) {
    for (const [name, key] of saw.asked) if (isSecond(name)) keys.set(name, key);
    for (const [name, { page }] of saw.pages) if (isSecond(`page ${name}`)) pages.set(name, page);
  }
  return { keys: [...keys.values()], pages: [...pages.values()] };
}

/** Reads in one round trip, and holds what was found. */
export async function learn({ keys, pages }: Reading, base: View, held: Held): Promise<void> {
  const [found, ...rows] = await Promise.all([
    keys.length > 0 ? base.versions(keys) : [],
    ...pages.map(({ collection, options }) => base.list(collection, options)),
  ]);
  keys.forEach((key, index) => held.learn(key, (found as readonly Found[])[index]));
  pages.forEach((page, index) => held.learnPage(page, rows[index]!));
}

/** The decisions of a run that saw what is so, up to the first that did not: those need not be run again. */
export function stillRight({ decided }: Run, held: Held, engine: Engine): readonly Decided[] {
  const wrong = decided.findIndex(({ saw }) => !saw.holds(held, engine));
  return wrong === -1 ? decided : decided.slice(0, wrong);
}

/**
 * Runs decisions one after another, each over what those before it wrote. `right`: the first of them, as they were run
 * before. `base`: where what is not held is read, one thing after another, instead of being taken for absent.
 */
export async function runBatch(
  jobs: readonly Job[],
  {
    engine,
    held,
    right = [],
    base,
  }: { engine: Engine; held: Held; right?: readonly Decided[]; base?: Attempt | undefined },
): Promise<Run> {
  const { most } = engine;
  const written = new Map<string, Map<string, Version>>();
  const decided: Decided[] = [];
  let count = 0;
  let bytes = 0;
  const reading: Promise<unknown>[] = [];
  let failure: { error: unknown } | undefined;

  /** Takes writes on, if there is room for them. */
  const accept = (one: Decided): boolean => {
    const further = one.writes.filter(({ collection, id }) => !written.get(collection)?.has(id)).length;
    const more = countBytes(one.writes);
    if (count > 0 && (count + further > most.writes || bytes + more > most.bytes)) return false;
    count += further;
    bytes += more;
    for (const version of one.writes) inner(written, version.collection).set(version.id, version);
    decided.push(one);
    return true;
  };

  const orFail = async <T>(read: Promise<T>): Promise<T> => {
    reading.push(read);
    try {
      return await read;
    } catch (error) {
      // A decision may catch it, and must not be heard then.
      failure ??= { error };
      throw error;
    }
  };

  const viewFor = (saw: Saw): View => {
    const foundOf = (key: Key): Found => {
      const name = recordName(key);
      saw.asked.set(name, key);
      const own = written.get(key.collection)?.get(key.id);
      if (own) return own;
      const known = held.version(key);
      const found = known ? known.found : engine.absent?.(key);
      saw.versions.set(name, { key, found });
      return found;
    };
    const rowsOf = (page: Page): Rows => {
      const rows = held.rows(page) ?? [];
      saw.pages.set(`${page.collection}\0${JSON.stringify(page.options)}`, { page, rows });
      return rows;
    };
    const isUnknown = (key: Key): boolean => !written.get(key.collection)?.has(key.id) && !held.version(key);
    return {
      versions(keys) {
        const unknown = base ? keys.filter(isUnknown) : [];
        const learnt = unknown.length > 0 ? orFail(learn({ keys: unknown, pages: [] }, base!, held)) : undefined;
        return onceThere(learnt, () => keys.map(foundOf));
      },
      untouched(key) {
        if (!isUnknown(key)) return { found: foundOf(key) };
        const known = engine.untouched?.(key);
        if (known) saw.untouched.set(recordName(key), { key, found: known.found });
        return known;
      },
      list: (collection, options) =>
        mergeList(written.get(collection), options, (below) => {
          const page = { collection, options: below };
          const learnt = base && !held.rows(page) ? orFail(learn({ keys: [], pages: [page] }, base, held)) : undefined;
          return onceThere(learnt, () => rowsOf(page));
        }),
    };
  };

  for (const one of right) accept(one);
  for (const job of jobs.slice(right.length)) {
    const one = await decide(job, viewFor, engine);
    // Also those that it did not wait for.
    await Promise.allSettled(reading.splice(0));
    if (failure) throw failure.error;
    if (!accept(one)) break;
  }
  return {
    decided,
    ends: decided.map(({ end }) => end),
    writes: (held) =>
      [...written.values()].flatMap((byId) =>
        [...byId.values()].map((version) => {
          const known = held.version(version);
          return { ...version, before: known?.found, unread: !known };
        }),
      ),
  };
}

async function decide({ decide, resolve, reject }: Job, viewFor: (saw: Saw) => View, { check }: Engine) {
  const saw = new Saw();
  const { tx, end, writes } = writeSet(viewFor(saw));
  try {
    const result = await decide(tx);
    end();
    const versions = await writes();
    if (check) versions.forEach(check);
    return { saw, writes: versions, end: () => resolve(result) };
  } catch (error) {
    end();
    // It writes nothing that a commit would refuse, so what it took for new has to be looked at.
    for (const [name, taken] of saw.untouched) saw.versions.set(name, taken);
    return { saw, writes: [], end: () => reject(error) };
  }
}
