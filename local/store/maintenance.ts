/** Maintains sealed segments in the background, in small steps: verifies and compacts them, and writes the catalog file. */
import type { Log } from "../../lib/kit/platform.ts";
import type { DamagedFile } from "../../lib/store/faults.ts";
import { type Catalog, writeCatalog } from "./catalog.ts";
import { moveRecords, writeCompacted } from "./compaction.ts";
import { newDamage } from "./damage.ts";
import { temporaryPath, type Files, type Paths } from "./files.ts";
import { StoreDamaged } from "./journal_format.ts";
import type { SupersededRecords } from "./superseded_records.ts";
import { isClean, type Segment } from "./segment.ts";
import { waitUntilUnused } from "./segment_uses.ts";

/** Background work; its failures never fail reads or writes. */
export interface Maintenance {
  /**
   * Soon verifies the checksums of segments that the start did not read, compacts segments of which half is superseded, and writes
   * the catalog file if it lacks more than three segments.
   */
  wake(): void;
  /** Adds a segment that was sealed. */
  addSealed(segment: Segment): void;
  /**
   * Compacts all segments with superseded records; returns the paths of damaged files that still have some. Errors: those of the
   * file system; the next call tries again.
   */
  compact(): Promise<readonly string[]>;
  /** Checks the sealed files and a part of their content, and tries failed work again. */
  inspect(): Promise<void>;
  /** Records damage that a read found. */
  recordDamage(error: StoreDamaged): void;
  listDamage(): readonly DamagedFile[];
  /** Returns why the last work failed; undefined when it succeeded. */
  failure(): string | undefined;
  /** Cancels work under way, waits for its end, and writes the catalog file if necessary. */
  stop(): Promise<void>;
}

/** Parts of maintenance. */
export interface MaintenanceParts {
  files: Files;
  paths: Paths;
  log: Log;
  catalog: Catalog;
  sequences: readonly string[];
  /** Open files of the journal by number. */
  segments: Map<number, Segment>;
  /** Sealed segments in order. */
  sealed: Segment[];
  /** Sealed segments that this process has not read yet. */
  unread: Set<Segment>;
  /** True if the catalog file covers all sealed segments. */
  covered: boolean;
  superseded: SupersededRecords;
  now(): number;
  nextFile(): number;
}

/** Segments that the catalog file may lack; a start reads that many in about half a second. */
const MAX_UNINDEXED = 3;

/** One pass: which segments it compacts, and how many the catalog file may lack afterwards. */
interface Pass {
  isWorthwhile(removable: number, all: number): boolean;
  maxUnindexed: number;
}

const HALF_SUPERSEDED: Pass = {
  isWorthwhile: (removable, all) => removable > 0 && removable >= all / 2,
  maxUnindexed: MAX_UNINDEXED,
};
/** Also writes the catalog file, which has the ids of removed records. */
const ANY_SUPERSEDED: Pass = { isWorthwhile: (removable) => removable > 0, maxUnindexed: 0 };

/** Creates the maintenance of the sealed segments of a journal. */
export function newMaintenance(parts: MaintenanceParts): Maintenance {
  const { files, paths, log, catalog, segments, sealed, unread, superseded } = parts;
  // If some are not covered, their number is unknown: the next pass must write the catalog file.
  let unindexed = parts.covered ? 0 : MAX_UNINDEXED + 1;
  let isStopping = false;
  let failure: { reason: string; pass: Pass } | undefined;
  /** True while the rename of a compacted file may not be durable. */
  let isUnsynced = false;
  let queue: Promise<unknown> = Promise.resolve();
  const stopped = (): boolean => isStopping;
  const damage = newDamage({ ...parts, stopped });
  /**
   * Highest file number of the older segments at the last check of a segment's deletions. Compaction gives a segment a higher
   * number, so while this one is the same, no older segment has changed and all deletions are still needed.
   */
  const newestFileAtCheck = new WeakMap<Segment, number>();

  const recordCatalog = async (): Promise<void> => {
    const indexedCount = unindexed;
    if (sealed.length > 0) await writeCatalog(files, paths, catalog, sealed);
    // Further segments may have been sealed meanwhile.
    unindexed -= indexedCount;
  };

  const syncNames = async (): Promise<void> => {
    await files.syncFolder(paths.folder);
    isUnsynced = false;
  };

  /** Compacts a segment; `older`: segments before it with superseded records. */
  const compactOne = async (segment: Segment, older: readonly Segment[]): Promise<void> => {
    const writtenAt = new Date(parts.now()).toISOString();
    // The content of a damaged segment is not known, so all deletions stay.
    const isInOlderSegment = older.some(damage.has)
      ? () => true
      : await superseded.findDeletedIn(segment, segment.deletions > 0 ? older : [], { files, catalog, stopped });
    const to = { file: parts.nextFile(), writtenAt, isInOlderSegment };
    const written = await writeCompacted({ files, catalog, stopped }, segment, to);
    if (!written) return;
    const { segment: compacted } = written;
    try {
      await files.rename(temporaryPath(segment.path), segment.path);
    } catch (error) {
      await files.close(compacted.fd);
      throw error;
    }
    isUnsynced = true;
    segments.set(compacted.file, compacted);
    sealed[sealed.indexOf(segment)] = compacted;
    unread.delete(segment);
    unindexed++;
    // Records that have not moved yet are read from the former file. Moving is never cancelled: the catalog file would lack the rest.
    await moveRecords(catalog, written, segment.file);
    segments.delete(segment.file);
    superseded.remove(segment.file);
    await waitUntilUnused(segment);
    await files.close(segment.fd);
    await syncNames();
    log.info("journal segment compacted", { file: segment.path, bytes_before: segment.bytes, bytes: compacted.bytes });
  };

  const run = async ({ isWorthwhile, maxUnindexed }: Pass): Promise<void> => {
    if (isUnsynced) await syncNames();
    for (const segment of [...unread]) if (!isStopping && (await damage.verify(segment))) unread.delete(segment);
    const unclean: Segment[] = [];
    let newest = 0;
    for (const segment of [...sealed]) {
      const { puts, live, deletions } = segment;
      // Superseded records, and the deletions unless all are known to be needed.
      const removableCount = puts - live + (newestFileAtCheck.get(segment) === newest ? 0 : deletions);
      // Segments are numbered from 1 in order; a compacted one has its former number.
      const index = segment.header.segment - 1;
      if (!isStopping && !damage.has(segment) && isWorthwhile(removableCount, puts + deletions))
        try {
          await compactOne(segment, unclean);
          newestFileAtCheck.set(sealed[index]!, newest);
        } catch (error) {
          // This segment or an earlier one is damaged; the others are still compacted.
          if (!(error instanceof StoreDamaged)) throw error;
          damage.record(error);
        }
      newest = Math.max(newest, sealed[index]!.file);
      if (!isClean(sealed[index]!)) unclean.push(sealed[index]!);
    }
    if (!isStopping && unindexed > maxUnindexed) await recordCatalog();
  };

  /** Queues a pass. After a failure only passes with `isRetry` run. */
  const enqueue = (pass: Pass, isRetry = true): Promise<void> => {
    const done = queue.then(async () => {
      if (isStopping || (failure !== undefined && !isRetry)) return;
      try {
        await run(pass);
        if (failure !== undefined) log.info("work on the journal's sealed files succeeds again");
        failure = undefined;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        if (reason !== failure?.reason)
          log.error("work on the journal's sealed files failed; the next cycle tries again", { reason });
        failure = { reason, pass };
        throw error;
      }
    });
    queue = done.catch(() => undefined);
    return done;
  };

  const wake = (): void => void enqueue(HALF_SUPERSEDED, false).catch(() => undefined);

  return {
    wake,
    addSealed(segment) {
      sealed.push(segment);
      unindexed++;
      wake();
    },
    async compact() {
      await enqueue(ANY_SUPERSEDED);
      return sealed.filter((segment) => damage.has(segment) && !isClean(segment)).map(({ path }) => path);
    },
    async inspect() {
      const done = queue.then(() => damage.inspect());
      queue = done.catch(() => undefined);
      try {
        await done;
      } finally {
        if (failure !== undefined) await enqueue(failure.pass).catch(() => undefined);
      }
    },
    recordDamage: damage.record,
    listDamage: damage.list,
    failure: () => failure?.reason,
    async stop() {
      isStopping = true;
      await queue;
      if (unindexed > 0 && failure === undefined)
        await recordCatalog().catch((error: unknown) =>
          log.warn("the catalog file could not be written; the next start reads the journal", { error }),
        );
    },
  };
}
