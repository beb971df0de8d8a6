/** Rewrites a sealed segment without superseded records (the merge of Bitcask). */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Catalog, locationFile, locationOffset, packLocation } from "./catalog.ts";
import { temporaryPath, type Files, writeAll } from "./files.ts";
import {
  visitTexts,
  isDeletion,
  createLineWriter,
  type Operation,
  operationText,
  readOperation,
  StoreDamaged,
} from "./journal_format.ts";
import { type OffsetSet, createOffsetSet } from "./offset_set.ts";
import { findLowest } from "./location_map.ts";
import { parseBatch, createSegment, JOURNAL_FORMAT, scanLines, type Segment, SLICE_BYTES } from "./segment.ts";

/** Dependencies of a compaction. */
export interface CompactionParts {
  files: Files;
  catalog: Catalog;
  /** Called between slices of work; true cancels the work. */
  stopped(): boolean;
}

/** Replacement of a segment: a separate, durable file under this number. */
export interface Compaction {
  file: number;
  writtenAt: string;
  /** Checks that an older segment may contain a deleted record, which would come back without its deletion. */
  isInOlderSegment(collection: string, id: string): boolean;
}

/** A compacted segment, and how its records moved. */
export interface CompactionResult {
  segment: Segment;
  moves: Moves;
}

/** Former offsets of live records in ascending order, and their new offsets. */
interface Moves {
  from: number[];
  to: number[];
}

/**
 * Writes the compacted content of a segment to a temporary file; undefined when it was cancelled. It copies live records, and
 * deletions whose record an older segment may still contain. It writes the last commit even if that is empty, so that a cut file
 * is noticed, and joins batches, so that records of a sequence are contiguous. Errors: `StoreDamaged`; nothing is replaced then.
 */
export async function writeCompacted(
  { files, catalog, stopped }: CompactionParts,
  segment: Segment,
  { file, writtenAt, isInOlderSegment }: Compaction,
): Promise<CompactionResult | undefined> {
  const live = await findLiveOffsets(catalog, segment);
  const header = { ...segment.header, format: JOURNAL_FORMAT, written_at: writtenAt, compacted: true } as const;
  const compacted = await createSegment(files, segment.path, file, header);
  const floors = new Map<string, number>();
  const line = createLineWriter();
  const moves: Moves = { from: [], to: [] };
  /** Number of the first record of each sequence, and its records. */
  let runs = new Map<string, { first: number; records: LiveOperation[] }>();
  let operations: LiveOperation[] = [];
  /** Bytes of copied operations, until they are written. */
  let bytes = Buffer.allocUnsafe(SLICE_BYTES * 2);
  let gatheredBytes = 0;
  let lastSequence = header.after;

  /** Checks that a deletion must be copied. Otherwise its revision raises the floor of its collection. */
  const isDeletionNeeded = ({ collection, id, revision }: Operation): boolean => {
    if (id !== "" && catalog.locate(collection, id) === undefined && isInOlderSegment(collection, id)) return true;
    floors.set(collection, Math.max(floors.get(collection) ?? 0, revision));
    return false;
  };

  const copyOperation = (buffer: Buffer, start: number, end: number, rank: number): LiveOperation => {
    const needed = gatheredBytes + end - start;
    // A copy with more room.
    if (needed > bytes.length) bytes = Buffer.concat([bytes], needed * 2);
    const operation = { start: gatheredBytes, end: needed, rank };
    buffer.copy(bytes, gatheredBytes, start, end);
    gatheredBytes = needed;
    return operation;
  };

  const gatherRecord = (collection: string, first: number, record: LiveOperation): void => {
    const run = runs.get(collection);
    if (run) run.records.push(record);
    else runs.set(collection, { first, records: [record] });
    compacted.puts++;
  };

  const visit = (buffer: Buffer, start: number, end: number, offset: number): boolean => {
    if (stopped()) return false;
    // Verified first, so that damaged data never gets a new, valid checksum.
    const head = parseBatch(segment.path, buffer, start, end, offset);
    visitTexts(buffer, head.body, end, (begin, close, sequence, number) => {
      const at = offset + begin - start;
      // The index of `at` in `moves.from`; -1 for a record that is not live, or a deletion.
      const rank = live.delete(at) ? moves.from.push(at) - 1 : -1;
      if (sequence !== undefined) return gatherRecord(sequence, number, copyOperation(buffer, begin, close, rank));
      if (rank === -1 && !(isDeletion(buffer, close) && isDeletionNeeded(readOperation(buffer, begin, close)))) return;
      operations.push(copyOperation(buffer, begin, close, rank));
      if (rank === -1) compacted.deletions++;
      else compacted.puts++;
    });
    lastSequence = head.sequence;
    return true;
  };

  const add = ({ start, end, rank }: LiveOperation): void => {
    const at = line.addBytes(bytes, start, end);
    if (rank !== -1) moves.to[rank] = compacted.bytes + at;
  };

  const flush = async (): Promise<void> => {
    // The last line ends with the segment's last commit, even if it has no operation.
    const isLastLine = lastSequence === segment.last && compacted.last < lastSequence;
    if (gatheredBytes >= SLICE_BYTES || isLastLine) {
      line.begin({ sequence: lastSequence, previous: compacted.last });
      for (const [name, { first, records }] of runs) {
        line.sequence(name, first);
        records.forEach(add);
      }
      line.operations();
      operations.forEach(add);
      if (isLastLine)
        for (const [collection, revision] of floors)
          line.add(operationText({ collection, id: "", revision, json: undefined }));
      line.end();
      await writeAll(files, compacted.fd, line.bytes, compacted.bytes);
      compacted.bytes += line.bytes.length;
      compacted.last = lastSequence;
      runs = new Map();
      operations = [];
      gatheredBytes = 0;
      line.clear();
    }
    await nextTurn();
  };

  try {
    const end = await scanLines(files, segment, segment.firstOffset, visit, {
      chunkBytes: SLICE_BYTES,
      between: flush,
    });
    // `visit` ends the scan early only if the work is cancelled.
    if (end < segment.bytes) return await discard(files, compacted);
    if (live.size > 0) throw new StoreDamaged(segment.path, live.first(), "a record should begin here");
    compacted.reserved = compacted.bytes;
    await files.sync(compacted.fd);
    return { segment: compacted, moves };
  } catch (error) {
    await discard(files, compacted).catch(() => undefined);
    throw error;
  }
}

/** Changes locations in the file `from` to those in the compacted segment. Errors: `StoreDamaged`. */
export async function moveRecords(catalog: Catalog, { segment, moves }: CompactionResult, from: number): Promise<void> {
  await catalog.visitAll((locations) => {
    for (let index = 0; index < locations.length; index++) {
      const location = locations[index]!;
      if (locationFile(location) !== from) continue;
      const offset = locationOffset(location);
      const rank = findLowest(moves.from.length, (at) => moves.from[at]! >= offset);
      if (moves.from[rank] !== offset)
        throw new StoreDamaged(segment.path, 0, `it lacks the record that was at byte ${offset} before the compaction`);
      locations[index] = packLocation(segment.file, moves.to[rank]!);
      segment.live++;
    }
  });
}

/** A copied operation: its offsets in the gathered bytes, and its index among the live records; -1 for a deletion. */
interface LiveOperation {
  start: number;
  end: number;
  rank: number;
}

/** Finds the offsets of the live records in a segment. Errors: `StoreDamaged` where the catalog has fewer than the segment counts. */
async function findLiveOffsets(catalog: Catalog, segment: Segment): Promise<OffsetSet> {
  const live = createOffsetSet(segment.bytes);
  await catalog.visitAll((locations) => {
    for (const location of locations) {
      if (locationFile(location) !== segment.file) continue;
      const offset = locationOffset(location);
      if (offset >= segment.bytes) throw new StoreDamaged(segment.path, offset, "a record should begin here");
      live.add(offset);
    }
  });
  if (live.size < segment.live)
    throw new StoreDamaged(segment.path, 0, `${segment.live} records are live in it, and ${live.size} are known`);
  return live;
}

async function discard(files: Files, { fd, path }: Segment): Promise<undefined> {
  await files.close(fd);
  await files.remove(temporaryPath(path));
}
