/** Tracks superseded records that are still in the journal's files: a record's deletion must stay as long as the record. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { type Catalog, packLocation } from "./catalog.ts";
import type { Files } from "./files.ts";
import { visitOperations, visitTexts, isDeletion, readOperation, StoreDamaged } from "./journal_format.ts";
import { parseBatch, scanLines, type Segment, SLICE_BYTES } from "./segment.ts";

/** Superseded records by file, recorded as they are superseded, so that files need not be read repeatedly. */
export interface SupersededRecords {
  /** Begins to record for a new file. */
  begin(file: number): void;
  /** Records that a record in a file was superseded. */
  add(file: number, collection: string, id: string): void;
  remove(file: number): void;
  /**
   * Returns a function that checks if an older segment contains a record that a segment deletes. It works by hashes, so it may be
   * true for a few others. Segments that were not recorded from their beginning are read. Errors: `StoreDamaged`.
   */
  findDeletedIn(
    segment: Segment,
    older: readonly Segment[],
    reading: ReadingParts,
  ): Promise<(collection: string, id: string) => boolean>;
}

/** Dependencies of reading files. `stopped` is called between slices; true cancels, and the result is then invalid. */
export interface ReadingParts {
  files: Files;
  catalog: Catalog;
  stopped(): boolean;
}

/** Creates the tracking, without files. */
export function newSupersededRecords(): SupersededRecords {
  const hashesByFile = new Map<number, Hashes>();

  const read = async (segment: Segment, reading: ReadingParts): Promise<Hashes> => {
    const { file } = segment;
    const hashes = newHashList();
    // Records that are superseded meanwhile are recorded too.
    hashesByFile.set(file, hashes);
    const isComplete = await visitLines(segment, reading, (buffer, body, end, offset) =>
      visitOperations(buffer, body, end, ({ collection, id, deleted, start }) => {
        if (deleted || reading.catalog.locate(collection, id) === packLocation(file, offset + start)) return;
        hashes.add(hashOf(collection, id));
      }),
    );
    if (!isComplete) hashesByFile.delete(file);
    return hashes;
  };

  return {
    begin: (file) => void hashesByFile.set(file, newHashList()),
    add: (file, collection, id) => hashesByFile.get(file)?.add(hashOf(collection, id)),
    remove: (file) => void hashesByFile.delete(file),
    async findDeletedIn(segment, older, reading) {
      const deletedHashes = new Set<number>();
      const foundHashes = new Set<number>();
      if (older.length > 0)
        await visitLines(segment, reading, (buffer, body, end) =>
          visitTexts(buffer, body, end, (start, close, sequence) => {
            if (sequence !== undefined || !isDeletion(buffer, close)) return;
            const { collection, id } = readOperation(buffer, start, close);
            deletedHashes.add(hashOf(collection, id));
          }),
        );
      for (const olderSegment of older) {
        if (reading.stopped()) break;
        (hashesByFile.get(olderSegment.file) ?? (await read(olderSegment, reading))).each(
          (hash) => deletedHashes.has(hash) && foundHashes.add(hash),
        );
        await nextTurn();
      }
      return (collection, id) => foundHashes.has(hashOf(collection, id));
    },
  };
}

/** Visits the lines of a sealed segment; `offset` is to be added to offsets in the buffer. False: it was cancelled. */
async function visitLines(
  segment: Segment,
  { files, stopped }: ReadingParts,
  visit: (buffer: Buffer, body: number, end: number, offset: number) => void,
): Promise<boolean> {
  const scannedEnd = await scanLines(
    files,
    segment,
    segment.firstOffset,
    (buffer, start, end, offset) => {
      if (stopped()) return false;
      visit(buffer, parseBatch(segment.path, buffer, start, end, offset).body, end, offset - start);
      return true;
    },
    { chunkBytes: SLICE_BYTES },
  );
  if (scannedEnd < segment.bytes && !stopped())
    throw new StoreDamaged(segment.path, scannedEnd, "its last line has no end");
  return scannedEnd === segment.bytes;
}

/** Hashes a key to a 32-bit integer. */
const hashOf = (collection: string, id: string): number => crc32(`${collection}\n${id}`) | 0;

/** A list of hashes, which may have duplicates. */
interface Hashes {
  add(hash: number): void;
  each(visit: (hash: number) => void): void;
}

const CHUNK_LENGTH = 1024;

function newHashList(): Hashes {
  const chunks: Int32Array[] = [];
  let size = 0;
  return {
    add(hash) {
      (chunks[Math.floor(size / CHUNK_LENGTH)] ??= new Int32Array(CHUNK_LENGTH))[size % CHUNK_LENGTH] = hash;
      size++;
    },
    each(visit) {
      for (let index = 0; index < size; index++)
        visit(chunks[Math.floor(index / CHUNK_LENGTH)]![index % CHUNK_LENGTH]!);
    },
  };
}
