/** Work on sealed segments in the background: checks them, compacts them and keeps the catalog file, in small pieces. */
import type { Log } from "../../lib/kit/platform.ts";
import type { DamagedFile } from "../../lib/store/faults.ts";
import { type Catalog, writeCatalog } from "./catalog.ts";
import { moveRecords, writeCompacted } from "./compaction.ts";
import { newDamage } from "./damage.ts";
import { temporaryPath, type Files, type Paths } from "./files.ts";
import { StoreDamaged } from "./journal_format.ts";
import type { Remains } from "./remains.ts";
import { isClean, type Segment } from "./segment.ts";
import { whenUnused } from "./uses.ts";

/** Background work; it never fails what waits in the foreground. */
export interface Maintenance {
  /**
   * Looks at the sealed segments soon: verifies those that the start did not read against their checksums, compacts where half
   * is superseded, and writes the catalog file when it is some segments behind.
   */
  wake(): void;
  /** A segment was sealed. */
  sealed(segment: Segment): void;
  /**
   * Compacts wherever anything is superseded, and returns the paths of damaged files, which are left out. Errors: what went
   * wrong; the next call tries again.
   */
  compact(): Promise<readonly string[]>;
  /** Checks the sealed files, a part of their content included, and tries again what failed. */
  inspect(): Promise<void>;
  /** A read found damage. */
  damaged(error: StoreDamaged): void;
  damage(): readonly DamagedFile[];
  /** Why the last compaction failed; undefined when it did not. */
  failure(): string | undefined;
  /** Gives up what is under way, waits for that, and brings the catalog file up to date. */
  stop(): Promise<void>;
}

/** Parts of maintenance. */
export interface MaintenanceParts {
  files: Files;
  paths: Paths;
  log: Log;
  catalog: Catalog;
  sequences: readonly string[];
  /** The open files of the journal by their numbers. */
  segments: Map<number, Segment>;
  /** The sealed ones, in order. */
  sealed: Segment[];
  /** Sealed segments that nobody has read yet. */
  unread: Set<Segment>;
  /** True if the catalog file covers all of them. */
  covered: boolean;
  remains: Remains;
  now(): number;
  nextFile(): number;
}

/** A start reads so many segments, of which the catalog file does not tell as they are, in about half a second. */
const MAX_UNINDEXED = 3;

/** The work of one pass: the files that it compacts, and how many the catalog file may lack afterwards. */
interface Pass {
  worthwhile(superseded: number, all: number): boolean;
  maxUnindexed: number;
}

const HALF_SUPERSEDED: Pass = {
  worthwhile: (superseded, all) => superseded > 0 && superseded >= all / 2,
  maxUnindexed: MAX_UNINDEXED,
};
/** The catalog file, too, has the ids of what is removed. */
const ANY_SUPERSEDED: Pass = { worthwhile: (superseded) => superseded > 0, maxUnindexed: 0 };

/** Maintenance over the sealed segments of a journal. */
export function newMaintenance(parts: MaintenanceParts): Maintenance {
  const { files, paths, log, catalog, segments, sealed, unread, remains } = parts;
  let unindexed = parts.covered ? 0 : MAX_UNINDEXED + 1;
  let stopping = false;
  let failure: { reason: string; pass: Pass } | undefined;
  let isUnsynced = false;
  let work: Promise<unknown> = Promise.resolve();
  const stopped = (): boolean => stopping;
  const damage = newDamage({ ...parts, stopped });
  /** Segments whose deletions were checked, with the newest older file at that time: until another is written none can go. */
  const checked = new WeakMap<Segment, number>();

  const recordCatalog = async (): Promise<void> => {
    const before = unindexed;
    if (sealed.length > 0) await writeCatalog(files, paths, catalog, sealed);
    // Others may have been sealed meanwhile.
    unindexed -= before;
  };

  const syncNames = async (): Promise<void> => {
    await files.syncFolder(paths.folder);
    isUnsynced = false;
  };

  /** `older`: those before it in which something is superseded. */
  const compactOne = async (segment: Segment, older: readonly Segment[]): Promise<void> => {
    const writtenAt = new Date(parts.now()).toISOString();
    // Nobody can say what lies in a damaged one, so that each deletion stays.
    const under = older.some(damage.has)
      ? () => true
      : await remains.under(segment, segment.deletions > 0 ? older : [], { files, catalog, stopped });
    const to = { file: parts.nextFile(), writtenAt, remains: under };
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
    // Until all of it has moved, what lay in the file before is read there. It is not stopped in the middle: the catalog file
    // would lack the rest.
    await moveRecords(catalog, written, segment.file);
    segments.delete(segment.file);
    remains.forget(segment.file);
    await whenUnused(segment);
    await files.close(segment.fd);
    await syncNames();
    log.info("journal segment compacted", { file: segment.path, bytes_before: segment.bytes, bytes: compacted.bytes });
  };

  const run = async ({ worthwhile, maxUnindexed }: Pass): Promise<void> => {
    if (isUnsynced) await syncNames();
    for (const segment of [...unread]) if (!stopping && (await damage.verify(segment))) unread.delete(segment);
    const unclean: Segment[] = [];
    let newest = 0;
    for (const segment of [...sealed]) {
      const { puts, live, deletions } = segment;
      const superseded = puts - live + (checked.get(segment) === newest ? 0 : deletions);
      const index = segment.header.segment - 1;
      if (!stopping && !damage.has(segment) && worthwhile(superseded, puts + deletions))
        try {
          await compactOne(segment, unclean);
          checked.set(sealed[index]!, newest);
        } catch (error) {
          // This segment or an earlier one is damaged; the others are compacted all the same.
          if (!(error instanceof StoreDamaged)) throw error;
          damage.note(error);
        }
      newest = Math.max(newest, sealed[index]!.file);
      if (!isClean(sealed[index]!)) unclean.push(sealed[index]!);
    }
    if (!stopping && unindexed > maxUnindexed) await recordCatalog();
  };

  /** After a failure only `isRetry` runs; and a retry does at least what failed. */
  const enqueue = (pass: Pass, isRetry = true): Promise<void> => {
    const done = work.then(async () => {
      if (stopping || (failure !== undefined && !isRetry)) return;
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
    work = done.catch(() => undefined);
    return done;
  };

  const wake = (): void => void enqueue(HALF_SUPERSEDED, false).catch(() => undefined);

  return {
    wake,
    sealed(segment) {
      sealed.push(segment);
      unindexed++;
      wake();
    },
    async compact() {
      await enqueue(ANY_SUPERSEDED);
      return sealed.filter((segment) => damage.has(segment) && !isClean(segment)).map(({ path }) => path);
    },
    async inspect() {
      const done = work.then(() => damage.inspect());
      work = done.catch(() => undefined);
      try {
        await done;
      } finally {
        if (failure !== undefined) await enqueue(failure.pass).catch(() => undefined);
      }
    },
    damaged: damage.note,
    damage: damage.list,
    failure: () => failure?.reason,
    async stop() {
      stopping = true;
      await work;
      if (unindexed > 0 && failure === undefined)
        await recordCatalog().catch((error: unknown) =>
          log.warn("the catalog file could not be written; the next start reads the journal", { error }),
        );
    },
  };
}
