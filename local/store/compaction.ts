/** Rewrites a sealed segment with only what still counts (Bitcask's merge). */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Catalog, placeFile, placeOffset, packPlace } from "./catalog.ts";
import { temporaryPath, type Files, writeAll } from "./files.ts";
import {
  eachText,
  isDeletion,
  lineWriter,
  type Operation,
  operationText,
  readKey,
  StoreDamaged,
} from "./journal_format.ts";
import { type Offsets, offsetsWithin } from "./offsets.ts";
import { lowest } from "./places.ts";
import { parseBatch, createSegment, JOURNAL_FORMAT, scanLines, type Segment, SLICE } from "./segment.ts";

/** Segments to compact, and the functions that decide which records count. */
export interface CompactionParts {
  files: Files;
  catalog: Catalog;
  /** Asked between pieces: true gives the work up. */
  stopped(): boolean;
}

/** Replacement of a segment: a separate, durable file under this number. */
export interface Compaction {
  file: number;
  writtenAt: string;
  /** Returns whether a deleted record may lie in an older segment: it would come back if its deletion were forgotten. */
  remains(collection: string, id: string): boolean;
}

/** A segment without what no longer counts, and where its records have moved. */
export interface Compacted {
  segment: Segment;
  moves: Moves;
}

/** The offsets at which the records of a file that were live lay, rising, and those at which they lie now. */
interface Moves {
  from: number[];
  to: number[];
}

/**
 * Writes the compacted content of a segment aside; gives `undefined` when stopped before its end. A record counts while it
 * is the latest, a deletion while its record is not live and an older segment may still have it. The last commit is kept
 * even when empty, so that a missing end still shows. Batches are joined, so that sequences lie in long runs. Errors:
 * `StoreDamaged`, with nothing replaced.
 */
export async function writeCompacted(
  { files, catalog, stopped }: CompactionParts,
  segment: Segment,
  { file, writtenAt, remains }: Compaction,
): Promise<Compacted | undefined> {
  const live = await liveIn(catalog, segment);
  const header = { ...segment.header, format: JOURNAL_FORMAT, written_at: writtenAt, compacted: true } as const;
  const compacted = await createSegment(files, segment.path, file, header);
  const floors = new Map<string, number>();
  const line = lineWriter();
  const moves: Moves = { from: [], to: [] };
  /** Number of the first record of each sequence, and its records. */
  let runs = new Map<string, { first: number; records: Kept[] }>();
  let operations: Kept[] = [];
  /** The bytes of what is kept, until they are written. */
  let bytes = Buffer.allocUnsafe(SLICE * 2);
  let gathered = 0;
  let reached = header.after;

  /** Returns whether a deletion counts. One that does not shows how high revisions went. */
  const counts = ({ collection, id, revision }: Operation): boolean => {
    if (id !== "" && catalog.place(collection, id) === undefined && remains(collection, id)) return true;
    floors.set(collection, Math.max(floors.get(collection) ?? 0, revision));
    return false;
  };

  const gather = (buffer: Buffer, start: number, end: number, rank: number): Kept => {
    const needed = gathered + end - start;
    if (needed > bytes.length) bytes = Buffer.concat([bytes], needed * 2);
    const kept = { start: gathered, end: needed, rank };
    buffer.copy(bytes, gathered, start, end);
    gathered = needed;
    return kept;
  };

  const gatherRecord = (collection: string, first: number, record: Kept): void => {
    const run = runs.get(collection);
    if (run) run.records.push(record);
    else runs.set(collection, { first, records: [record] });
    compacted.puts++;
  };

  const visit = (buffer: Buffer, start: number, end: number, offset: number): boolean => {
    if (stopped()) return false;
    // Checked, so that a fresh checksum is never put on what does not match its own.
    const head = parseBatch(segment.path, buffer, start, end, offset);
    eachText(buffer, head.body, end, (begin, close, sequence, number) => {
      const at = offset + begin - start;
      const rank = live.delete(at) ? moves.from.push(at) - 1 : -1;
      if (sequence !== undefined) return gatherRecord(sequence, number, gather(buffer, begin, close, rank));
      if (rank === -1 && !(isDeletion(buffer, close) && counts(readKey(buffer, begin, close)))) return;
      operations.push(gather(buffer, begin, close, rank));
      if (rank === -1) compacted.deletions++;
      else compacted.puts++;
    });
    reached = head.sequence;
    return true;
  };

  const add = ({ start, end, rank }: Kept): void => {
    const at = line.addBytes(bytes, start, end);
    if (rank !== -1) moves.to[rank] = compacted.bytes + at;
  };

  const flush = async (): Promise<void> => {
    const last = reached === segment.last && compacted.last < reached;
    if (gathered >= SLICE || last) {
      line.begin({ sequence: reached, previous: compacted.last });
      for (const [name, { first, records }] of runs) {
        line.sequence(name, first);
        records.forEach(add);
      }
      line.operations();
      operations.forEach(add);
      if (last)
        for (const [collection, revision] of floors)
          line.add(operationText({ collection, id: "", revision, json: undefined }));
      line.end();
      await writeAll(files, compacted.fd, line.bytes, compacted.bytes);
      compacted.bytes += line.bytes.length;
      compacted.last = reached;
      runs = new Map();
      operations = [];
      gathered = 0;
      line.clear();
    }
    await nextTurn();
  };

  try {
    const end = await scanLines(files, segment, segment.begins, visit, { piece: SLICE, between: flush });
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

/** Moves what lay in the file `from` to the segment that took its place, in the catalog. Errors: `StoreDamaged`. */
export async function moveRecords(catalog: Catalog, { segment, moves }: Compacted, from: number): Promise<void> {
  await catalog.sweep((places) => {
    for (let index = 0; index < places.length; index++) {
      const place = places[index]!;
      if (placeFile(place) !== from) continue;
      const offset = placeOffset(place);
      const rank = lowest(moves.from.length, (at) => moves.from[at]! >= offset);
      if (moves.from[rank] !== offset)
        throw new StoreDamaged(segment.path, 0, `it lacks the record that lay at byte ${offset} of it before`);
      places[index] = packPlace(segment.file, moves.to[rank]!);
      segment.live++;
    }
  });
}

/** An operation that counts: its offset among the gathered bytes, and its rank among the live records; -1 for a deletion. */
interface Kept {
  start: number;
  end: number;
  rank: number;
}

/** The offsets of the live records in a segment. Errors: `StoreDamaged` where the catalog knows of fewer. */
async function liveIn(catalog: Catalog, segment: Segment): Promise<Offsets> {
  const live = offsetsWithin(segment.bytes);
  await catalog.sweep((places) => {
    for (const place of places) {
      if (placeFile(place) !== segment.file) continue;
      const offset = placeOffset(place);
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
