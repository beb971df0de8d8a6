/** Work on sealed segments in the background: checks them, compacts them and keeps the catalog file, in small pieces. */
import { dirname } from "node:path";
import type { Log } from "../../lib/kit/platform.ts";
import { type Catalog, writeCatalog } from "./catalog.ts";
import { moveRecords, writeCompacted } from "./compaction.ts";
import { asideOf, type Files, type Paths } from "./files.ts";
import { StoreDamaged } from "./journal_format.ts";
import type { Remains } from "./remains.ts";
import { batchAt, isClean, scanLines, type Segment, SLICE } from "./segment.ts";

/** Background work; it never fails what waits in the foreground. */
export interface Maintenance {
  /**
   * Looks at the sealed segments soon: holds those that the start did not read against their checksums, compacts where half
   * is superseded, and writes the catalog file when it is some segments behind.
   */
  wake(): void;
  /** A segment was sealed. */
  sealed(segment: Segment): void;
  /** Compacts wherever anything is superseded. Errors: what went wrong, now or before: it is not tried again. */
  compact(): Promise<void>;
  /** Gives up what is under way, waits for that, and brings the catalog file up to date. */
  stop(): Promise<void>;
}

/** What maintenance is built from. */
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
  /** Those of them that nobody has read yet. */
  unread: Set<Segment>;
  /** Whether the catalog file tells of all of them. */
  covered: boolean;
  remains: Remains;
  now(): number;
  nextFile(): number;
}

/** A start reads so many segments, of which the catalog file does not tell as they are, in about half a second. */
const MOST_UNTOLD = 3;

/** Maintenance over the sealed segments of a journal. */
export function newMaintenance(parts: MaintenanceParts): Maintenance {
  const { files, paths, log, catalog, sequences, segments, sealed, unread, remains } = parts;
  let untold = parts.covered ? 0 : MOST_UNTOLD + 1;
  let stopping = false;
  let failure: unknown;
  let work: Promise<unknown> = Promise.resolve();
  const stopped = (): boolean => stopping;
  /** Of those whose deletions were gone through, the newest file before them then: until another is written none can go. */
  const sifted = new WeakMap<Segment, number>();

  /** The catalog file spares the start the reading of a segment; damage in it would be served unnoticed. */
  const check = async (segment: Segment): Promise<void> => {
    const visit = (buffer: Buffer, start: number, end: number, offset: number): boolean => {
      if (!stopping) batchAt(segment.path, buffer, start, end, offset);
      return !stopping;
    };
    const end = await scanLines(files, segment, segment.begins, visit, { piece: SLICE });
    if (end < segment.bytes && !stopping) throw new StoreDamaged(segment.path, end, "its last line has no end");
    if (!stopping) unread.delete(segment);
  };

  const told = async (): Promise<void> => {
    const before = untold;
    if (sealed.length > 0) await writeCatalog(files, paths, catalog, sealed);
    // Others may have been sealed meanwhile.
    untold -= before;
  };

  /** `older`: those before it in which something is superseded. */
  const compactOne = async (segment: Segment, older: readonly Segment[]): Promise<void> => {
    const writtenAt = new Date(parts.now()).toISOString();
    const under = await remains.under(segment, segment.deletions > 0 ? older : [], { files, catalog, stopped });
    const to = { file: parts.nextFile(), writtenAt, remains: under };
    const written = await writeCompacted({ files, catalog, sequences, stopped }, segment, to);
    if (!written) return;
    const { segment: compacted } = written;
    segments.set(compacted.file, compacted);
    await files.rename(asideOf(segment.path), segment.path);
    sealed[sealed.indexOf(segment)] = compacted;
    unread.delete(segment);
    untold++;
    await files.syncFolder(dirname(segment.path));
    // Until all of it has moved, what lay in the file before is read there. It is not stopped in the middle: the catalog file
    // would lack the rest.
    await moveRecords(catalog, written, segment.file);
    segments.delete(segment.file);
    remains.forget(segment.file);
    await files.close(segment.fd);
    log.info("journal segment compacted", { file: segment.path, bytes_before: segment.bytes, bytes: compacted.bytes });
  };

  const pass = async (worthwhile: (superseded: number, all: number) => boolean, mostUntold: number): Promise<void> => {
    for (const segment of [...unread]) if (!stopping) await check(segment);
    const unclean: Segment[] = [];
    let newest = 0;
    for (const segment of [...sealed]) {
      const { puts, live, deletions } = segment;
      const superseded = puts - live + (sifted.get(segment) === newest ? 0 : deletions);
      const index = segment.header.segment - 1;
      if (!stopping && worthwhile(superseded, puts + deletions)) {
        await compactOne(segment, unclean);
        sifted.set(sealed[index]!, newest);
      }
      newest = Math.max(newest, sealed[index]!.file);
      if (!isClean(sealed[index]!)) unclean.push(sealed[index]!);
    }
    if (!stopping && untold > mostUntold) await told();
  };

  const enqueue = (worthwhile: (superseded: number, all: number) => boolean, mostUntold: number): Promise<void> => {
    const done = work.then(async () => {
      if (stopping) return;
      if (failure !== undefined) throw failure;
      try {
        await pass(worthwhile, mostUntold);
      } catch (error) {
        // A segment may be half moved to its new file: both are still read, and neither is worked on again.
        failure = error;
        log.error("work on the journal's sealed segments failed and rests until a restart", { error });
        throw error;
      }
    });
    work = done.catch(() => undefined);
    return done;
  };

  const wake = (): void =>
    void enqueue((superseded, all) => superseded > 0 && superseded >= all / 2, MOST_UNTOLD).catch(() => undefined);

  return {
    wake,
    sealed(segment) {
      sealed.push(segment);
      untold++;
      wake();
    },
    // The ids of what is gone stand in the catalog file too.
    compact: () => enqueue((superseded) => superseded > 0, 0),
    async stop() {
      stopping = true;
      await work;
      if (untold > 0 && failure === undefined)
        await told().catch((error: unknown) =>
          log.warn("the catalog file could not be written; the next start reads the journal", { error }),
        );
    },
  };
}
