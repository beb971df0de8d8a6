/** Work on sealed segments in the background: checks them, writes their indexes and compacts them, in small pieces. */
import { dirname } from "node:path";
import type { Log } from "../../lib/kit/platform.ts";
import { type Catalog, fileOf, placeOf } from "./catalog.ts";
import { eachOperation, StoreDamaged } from "./journal_format.ts";
import { SLICE, writeCompacted } from "./compaction.ts";
import { asideOf, type Files, type Paths, replaceFile } from "./files.ts";
import { commitAt, scanLines, type Segment } from "./segment.ts";
import { newIndex } from "./segment_index.ts";

/** Background work; it never fails what waits in the foreground. */
export interface Maintenance {
  /**
   * Looks at the sealed segments soon: holds those that were opened by their index against their checksums, writes the
   * indexes that are missing, and compacts where half is superseded.
   */
  wake(): void;
  /** Compacts wherever anything is superseded. Errors: what went wrong, now or before: it is not tried again. */
  compact(): Promise<void>;
  /** Gives up what is under way and waits for that. */
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
  /** Sealed segments that have no index yet. */
  unindexed: Set<Segment>;
  now(): number;
  nextFile(): number;
}

/** Maintenance over the sealed segments of a journal. */
export function newMaintenance(parts: MaintenanceParts): Maintenance {
  const { files, paths, log, catalog, sequences, segments, sealed, unindexed } = parts;
  let stopping = false;
  let failure: unknown;
  let work: Promise<unknown> = Promise.resolve();
  const stopped = (): boolean => stopping;
  const unread = sealed.filter((segment) => !unindexed.has(segment));

  /** An index spares the start the reading of a segment; damage in it would be served unnoticed. */
  const check = async (segment: Segment): Promise<void> => {
    const visit = (buffer: Buffer, start: number, end: number, offset: number): boolean => {
      if (!stopping) commitAt(segment.path, buffer, start, end, offset);
      return !stopping;
    };
    const end = await scanLines(files, segment, segment.begins, visit, { piece: SLICE });
    if (end < segment.bytes && !stopping) throw new StoreDamaged(segment.path, end, "its last line has no end");
  };

  /** Writes the index of a segment; what still lay in the file `replaced`, which it takes the place of, is moved first. */
  const index = async (segment: Segment, replaced?: number): Promise<void> => {
    const builder = newIndex(sequences);
    let operations = 0;
    let live = 0;
    const visit = (buffer: Buffer, start: number, end: number, offset: number): boolean => {
      if (stopping) return false;
      const { body } = commitAt(segment.path, buffer, start, end, offset);
      eachOperation(buffer, body, end, ({ collection, id, revision, deleted, start: at }) => {
        operations++;
        const latest = catalog.place(collection, id);
        const place = placeOf(segment.file, offset + at - start);
        const moves = !deleted && latest !== undefined && fileOf(latest) === replaced;
        if (moves) catalog.put(collection, id, place);
        if (deleted && latest === undefined) builder.buried(collection, id, revision);
        else if (moves || latest === place) builder.live(collection, id, offset + at - start);
        else return;
        live++;
      });
      return true;
    };
    const end = await scanLines(files, segment, segment.begins, visit, { piece: SLICE });
    if (end < segment.bytes) return;
    if (replaced !== undefined) {
      segment.operations = operations;
      segment.live += live;
    }
    await replaceFile(files, paths.index(segment.header.segment), builder.content(segment));
    unindexed.delete(segment);
  };

  const compactOne = async (segment: Segment): Promise<void> => {
    const writtenAt = new Date(parts.now()).toISOString();
    const compacted = await writeCompacted(
      { files, catalog, sequences, stopped },
      segment,
      parts.nextFile(),
      writtenAt,
    );
    if (!compacted) return;
    segments.set(compacted.file, compacted);
    await files.rename(asideOf(segment.path), segment.path);
    sealed[sealed.indexOf(segment)] = compacted;
    unindexed.delete(segment);
    unindexed.add(compacted);
    await files.syncFolder(dirname(segment.path));
    await index(compacted, segment.file);
    if (stopping) return;
    segments.delete(segment.file);
    await files.close(segment.fd);
    log.info("journal segment compacted", { file: segment.path, bytes_before: segment.bytes, bytes: compacted.bytes });
  };

  const pass = async (worthwhile: (segment: Segment) => boolean): Promise<void> => {
    for (const segment of unread.splice(0)) if (!stopping) await check(segment);
    for (const segment of [...unindexed]) if (!stopping) await index(segment);
    for (const segment of [...sealed]) if (!stopping && worthwhile(segment)) await compactOne(segment);
  };

  const enqueue = (worthwhile: (segment: Segment) => boolean): Promise<void> => {
    const done = work.then(async () => {
      if (stopping) return;
      if (failure !== undefined) throw failure;
      try {
        await pass(worthwhile);
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

  return {
    wake: () => void enqueue(({ live, operations }) => live <= operations / 2).catch(() => undefined),
    compact: () => enqueue(({ live, operations }) => live < operations),
    async stop() {
      stopping = true;
      await work;
    },
  };
}
