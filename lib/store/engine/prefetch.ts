/** Fetches the reads that waiting decisions declare, before any of these decisions runs. */
import { yieldToEventLoop } from "../../kit/event_loop.ts";
import { Contended } from "./attempt.ts";
import type { Job } from "./queue.ts";
import type { Page, ReadCache } from "./read_cache.ts";
import { type Key, makeReads, recordName, type Version, type View } from "./view.ts";

/** Records and pages to read. */
interface ReadSet {
  readonly keys: readonly Key[];
  readonly pages: readonly Page[];
}

/** Reads records and pages into the cache in one round trip. */
export async function fetchReads({ keys, pages }: ReadSet, base: View, cache: ReadCache): Promise<void> {
  const [found, ...rows] = await Promise.all([
    keys.length > 0 ? base.versions(keys) : [],
    ...pages.map(({ collection, options }) => base.list(collection, options)),
  ]);
  keys.forEach((key, index) => cache.add(key, (found as readonly (Version | undefined)[])[index]));
  pages.forEach((page, index) => cache.addPage(page, rows[index]!));
}

/** Reads that are collected for the next round trip. */
interface WaitingReads {
  readonly keys: Map<string, Key>;
  readonly pages: Map<string, Page>;
  readonly fetched: Promise<void>;
}

/**
 * Runs the prefetch functions of jobs concurrently. Their reads within one turn of the event loop share a round trip. The
 * decision repeats a read that fails here. Errors: `Contended`, which ends the attempt.
 */
export async function prefetch(jobs: readonly Job[], base: View, cache: ReadCache): Promise<void> {
  const fetches: Promise<void>[] = [];
  let waiting: WaitingReads | undefined;
  let ended = false;

  const enqueue = (): WaitingReads => {
    if (ended) throw new Error("this prefetch has ended: await every read within it");
    if (waiting) return waiting;
    const keys = new Map<string, Key>();
    const pages = new Map<string, Page>();
    // The first reads of all jobs are requested synchronously; later ones are collected for a turn of the event loop.
    const collected = fetches.length === 0 ? Promise.resolve() : yieldToEventLoop();
    const fetched = collected.then(() => {
      waiting = undefined;
      return fetchReads({ keys: [...keys.values()], pages: [...pages.values()] }, base, cache);
    });
    fetches.push(fetched);
    return (waiting = { keys, pages, fetched });
  };

  const reads = makeReads({
    versions(keys) {
      const find = (): readonly (Version | undefined)[] => keys.map((key) => cache.version(key)?.found);
      const unknown = keys.filter((key) => !cache.version(key));
      if (unknown.length === 0) return find();
      const { keys: queued, fetched } = enqueue();
      for (const key of unknown) queued.set(recordName(key), key);
      return fetched.then(find);
    },
    list(collection, options) {
      const page = { collection, options };
      const rows = cache.rows(page);
      if (rows) return rows;
      const { pages, fetched } = enqueue();
      pages.set(`${collection}\0${JSON.stringify(options)}`, page);
      return fetched.then(() => cache.rows(page)!);
    },
  });
  await Promise.allSettled(jobs.map(async (job) => job.prefetch?.(reads)));
  ended = true;
  // All answers are awaited, since a late one would overwrite records in the cache that were written meanwhile.
  for (const result of await Promise.allSettled(fetches))
    if (result.status === "rejected" && result.reason instanceof Contended) throw result.reason;
}
