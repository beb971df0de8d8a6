/** Runs the decisions of a batch, one after another, over the cache of the store. */
import { yieldToEventLoop } from "../../kit/event_loop.ts";
import type { Attempt, Engine, Write } from "./attempt.ts";
import { fetchReads } from "./prefetch.ts";
import type { Job } from "./queue.ts";
import type { ReadCache } from "./read_cache.ts";
import { getInnerMap, type Key, mapAwaitable, recordName, type Version, type View } from "./view.ts";
import { countBytes, mergeList, writeSet } from "./write_set.ts";

/** Result of a batch. */
export interface BatchResult {
  /** Reports the result of each decision; fewer than jobs where one commit takes no more. */
  readonly ends: readonly (() => void)[];
  readonly writes: readonly Write[];
}

/** A decision that was run. */
interface DecisionResult {
  /** Reports its result, once everything that it read and wrote is durable. */
  readonly end: () => void;
  readonly writes: readonly Version[];
  readonly isRejected: boolean;
}

/** Runs decisions over the cache and the writes of earlier decisions; reads what is not cached, one read after another. */
export async function runBatch(
  jobs: readonly Job[],
  { engine, cache, base }: { engine: Engine; cache: ReadCache; base: Attempt },
): Promise<BatchResult> {
  const { most } = engine;
  const written = new Map<string, Map<string, Version>>();
  const ends: (() => void)[] = [];
  let count = 0;
  let bytes = 0;
  const pending: Promise<void>[] = [];
  let failure: { error: unknown } | undefined;

  /** Adds the writes of a decision, if the commit has room for them. */
  const accept = ({ writes, end }: DecisionResult): boolean => {
    const further = writes.filter(({ collection, id }) => !written.get(collection)?.has(id)).length;
    const more = countBytes(writes);
    if (count > 0 && (count + further > most.writes || bytes + more > most.bytes)) return false;
    count += further;
    bytes += more;
    for (const version of writes) getInnerMap(written, version.collection).set(version.id, version);
    ends.push(end);
    return true;
  };

  const fetch: typeof fetchReads = (...args) => {
    const fetched = fetchReads(...args).catch((error: unknown) => {
      // The decision may catch this error, and its result is invalid then.
      failure ??= { error };
      throw error;
    });
    pending.push(fetched);
    return fetched;
  };
  const findKnown = (key: Key): { found: Version | undefined } | undefined => {
    const own = written.get(key.collection)?.get(key.id);
    return own ? { found: own } : cache.version(key);
  };

  /** `unread`: collects the records that a decision puts as new without reading them; absent: it reads them. */
  const createView = (unread: Map<string, Key> | undefined): View => ({
    versions(keys) {
      const unknown = keys.filter((key) => !findKnown(key));
      const fetched = unknown.length > 0 ? fetch({ keys: unknown, pages: [] }, base, cache) : undefined;
      return mapAwaitable(fetched, () => keys.map((key) => findKnown(key)?.found));
    },
    untouched(key) {
      const known = findKnown(key);
      if (known || !unread) return known;
      const absent = engine.untouched?.(key);
      if (absent) unread.set(recordName(key), key);
      return absent;
    },
    list: (collection, options) =>
      mergeList(written.get(collection), options, (below) => {
        const page = { collection, options: below };
        const fetched = cache.rows(page) ? undefined : fetch({ keys: [], pages: [page] }, base, cache);
        return mapAwaitable(fetched, () => cache.rows(page)!);
      }),
  });

  const runWithView = async (job: Job, unread: Map<string, Key> | undefined): Promise<DecisionResult> => {
    const result = await runDecision(job, createView(unread), engine);
    // Reads that the decision did not wait for are included, and those that follow them.
    for (; pending.length > 0; await yieldToEventLoop()) await Promise.allSettled(pending.splice(0));
    if (failure) throw failure.error;
    return result;
  };
  const run = async (job: Job): Promise<DecisionResult> => {
    const unread = new Map<string, Key>();
    const result = await runWithView(job, unread);
    // A rejection writes nothing, so no commit verifies that its unread records are absent: it runs again and reads them. Its
    // ids may be other ones then, so what the first run left unread does not help.
    return result.isRejected && unread.size > 0 ? runWithView(job, undefined) : result;
  };

  for (const job of jobs) if (!accept(await run(job))) break;
  const writes = [...written.values()].flatMap((byId) =>
    [...byId.values()].map((version) => {
      const known = cache.version(version);
      return { ...version, before: known?.found, unread: !known };
    }),
  );
  return { ends, writes };
}

async function runDecision(
  { decide, resolve, reject }: Job,
  view: View,
  { check }: Pick<Engine, "check">,
): Promise<DecisionResult> {
  const { tx, end, writes } = writeSet(view);
  try {
    const result = await decide(tx);
    end();
    const versions = await writes();
    if (check) versions.forEach(check);
    return { writes: versions, end: () => resolve(result), isRejected: false };
  } catch (error) {
    end();
    return { writes: [], end: () => reject(error), isRejected: true };
  }
}
