/** Runs the decisions of a batch, one after another, and collects their writes for one commit. */
import { yieldToEventLoop } from "../../kit/event_loop.ts";
import type { Attempt, Engine, Write } from "./attempt.ts";
import { fetchReads } from "./prefetch.ts";
import type { Job } from "./queue.ts";
import type { ReadCache } from "./read_cache.ts";
import { getInnerMap, type Key, mapAwaitable, recordName, type Version, type View } from "./view.ts";
import { countBytes, mergeList, writeSet } from "./write_set.ts";

/** Result of a batch. */
export interface BatchResult {
  /** One function for each job that was run, to report its result after the commit; later jobs did not fit in the commit. */
  readonly reports: readonly (() => void)[];
  readonly writes: readonly Write[];
}

/** Result of one decision. */
interface DecisionResult {
  /** Reports the result to the caller; called once everything that the decision read and wrote is durable. */
  readonly report: () => void;
  readonly writes: readonly Version[];
  readonly isRejected: boolean;
}

/** Runs decisions on the cached records and the writes of earlier decisions; each read of other records is one round trip. */
export async function runBatch(
  jobs: readonly Job[],
  { engine, cache, base }: { engine: Engine; cache: ReadCache; base: Attempt },
): Promise<BatchResult> {
  const { limits } = engine;
  const written = new Map<string, Map<string, Version>>();
  const reports: (() => void)[] = [];
  let count = 0;
  let bytes = 0;
  const pendingReads: Promise<void>[] = [];
  let readFailure: { error: unknown } | undefined;

  /** Adds the writes of a decision, if the commit has room for them. */
  const accept = ({ writes, report }: DecisionResult): boolean => {
    const addedCount = writes.filter(({ collection, id }) => !written.get(collection)?.has(id)).length;
    const addedBytes = countBytes(writes);
    const isOverLimit = count + addedCount > limits.writes || bytes + addedBytes > limits.bytes;
    // The first decision is always accepted, since a commit has room for any one decision.
    if (count > 0 && isOverLimit) return false;
    count += addedCount;
    bytes += addedBytes;
    for (const version of writes) getInnerMap(written, version.collection).set(version.id, version);
    reports.push(report);
    return true;
  };

  const fetchTracked: typeof fetchReads = (...args) => {
    const fetched = fetchReads(...args).catch((error: unknown) => {
      // Remembered, since the decision may catch this error and return an invalid result.
      readFailure ??= { error };
      throw error;
    });
    pendingReads.push(fetched);
    return fetched;
  };
  const findKnown = (key: Key): { found: Version | undefined } | undefined => {
    const own = written.get(key.collection)?.get(key.id);
    return own ? { found: own } : cache.version(key);
  };

  /** `unread` collects the records that a decision puts as new without reading them; if it is absent, they are read. */
  const createView = (unread: Map<string, Key> | undefined): View => ({
    versions(keys) {
      const unknown = keys.filter((key) => !findKnown(key));
      const fetched = unknown.length > 0 ? fetchTracked({ keys: unknown, pages: [] }, base, cache) : undefined;
      return mapAwaitable(fetched, () => keys.map((key) => findKnown(key)?.found));
    },
    assumeAbsent(key) {
      const known = findKnown(key);
      if (known || !unread) return known;
      const absent = engine.assumeAbsent?.(key);
      if (absent) unread.set(recordName(key), key);
      return absent;
    },
    list: (collection, options) =>
      mergeList(written.get(collection), options, (storedOptions) => {
        const page = { collection, options: storedOptions };
        const fetched = cache.rows(page) ? undefined : fetchTracked({ keys: [], pages: [page] }, base, cache);
        return mapAwaitable(fetched, () => cache.rows(page)!);
      }),
  });

  const runWithView = async (job: Job, unread: Map<string, Key> | undefined): Promise<DecisionResult> => {
    const result = await runDecision(job, createView(unread), engine);
    // Also waits for reads that the decision did not await, and for reads that follow their answers.
    while (pendingReads.length > 0) {
      await Promise.allSettled(pendingReads.splice(0));
      await yieldToEventLoop();
    }
    if (readFailure) throw readFailure.error;
    return result;
  };
  const run = async (job: Job): Promise<DecisionResult> => {
    const unread = new Map<string, Key>();
    const result = await runWithView(job, unread);
    // A rejection writes nothing, so no commit verifies that its unread records are absent: it runs again and reads them. The
    // second run may use other ids, so it must not rely on `unread` of the first.
    return result.isRejected && unread.size > 0 ? runWithView(job, undefined) : result;
  };

  for (const job of jobs) if (!accept(await run(job))) break;
  const writes = [...written.values()].flatMap((byId) =>
    [...byId.values()].map((version) => {
      const cached = cache.version(version);
      return { ...version, before: cached?.found, unread: !cached };
    }),
  );
  return { reports, writes };
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
    return { writes: versions, report: () => resolve(result), isRejected: false };
  } catch (error) {
    end();
    return { writes: [], report: () => reject(error), isRejected: true };
  }
}
