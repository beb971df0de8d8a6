/** Rewrites a sealed segment with only the operations that still count. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Catalog, placeOf } from "./catalog.ts";
import { eachOperation, type Operation, trailerOf } from "./journal_format.ts";
import { asideOf, type Files, writeAll } from "./files.ts";
import { commitAt, createSegment, scanLines, type Segment } from "./segment.ts";

/** A piece of work between two turns of the event loop, in bytes: about a millisecond. */
export const SLICE = 64 * 1024;

/** What is compacted, and what decides what counts. */
export interface CompactionParts {
  files: Files;
  catalog: Catalog;
  /** Collections of which nothing is ever taken out. */
  sequences: readonly string[];
  /** Asked between pieces: true gives the work up. */
  stopped(): boolean;
}

/**
 * Writes the compacted content of a segment aside, durable, as the file number `file`; gives `undefined` when stopped
 * before its end. An operation counts while it is its record's latest, a deletion while its record is not live. The last
 * commit is kept even when empty, so that a missing end still shows. Errors: `StoreDamaged`, with nothing replaced.
 */
export async function writeCompacted(
  { files, catalog, sequences, stopped }: CompactionParts,
  segment: Segment,
  file: number,
  writtenAt: string,
): Promise<Segment | undefined> {
  const header = { ...segment.header, written_at: writtenAt, compacted: true } as const;
  const compacted = await createSegment(files, segment.path, file, header);
  let pieces: Buffer[] = [];

  const flush = async (): Promise<void> => {
    const bytes = Buffer.concat(pieces);
    pieces = [];
    await writeAll(files, compacted.fd, bytes, compacted.bytes);
    compacted.bytes += bytes.length;
    await nextTurn();
  };

  const counts = ({ collection, id, deleted }: Operation, place: number): boolean => {
    if (sequences.includes(collection)) return true;
    const latest = catalog.place(collection, id);
    return deleted ? latest === undefined : latest === place;
  };

  const visit = (buffer: Buffer, start: number, end: number, offset: number): boolean => {
    if (stopped()) return false;
    // Checked, so that a fresh checksum is never put on what does not match its own.
    const head = commitAt(segment.path, buffer, start, end, offset);
    const kept: Operation[] = [];
    let all = 0;
    eachOperation(buffer, head.body, end, (operation) => {
      all++;
      if (counts(operation, placeOf(segment.file, offset + operation.start - start))) kept.push(operation);
    });
    if (kept.length === 0 && head.sequence !== segment.last) return true;
    const whole = kept.length === all && head.previous === compacted.last;
    const line = whole
      ? Buffer.from(buffer.subarray(start, end + 1))
      : lineOfKept(buffer, head.sequence, compacted.last, kept);
    compacted.last = head.sequence;
    pieces.push(line);
    return true;
  };

  try {
    const end = await scanLines(files, segment, segment.begins, visit, {
      piece: SLICE,
      between: flush,
    });
    if (end < segment.bytes) return await discard(files, compacted);
    await files.sync(compacted.fd);
    return compacted;
  } catch (error) {
    await discard(files, compacted).catch(() => undefined);
    throw error;
  }
}

async function discard(files: Files, { fd, path }: Segment): Promise<undefined> {
  await files.close(fd);
  await files.remove(asideOf(path));
}

/** The line of a commit of which only some operations are left, or which follows another commit than before. */
function lineOfKept(buffer: Buffer, sequence: number, previous: number, kept: readonly Operation[]): Buffer {
  const prev = previous === sequence - 1 ? "" : `,"prev":${previous}`;
  const operations = kept.map(({ start, end }) => `\t${buffer.toString("utf8", start, end)}\t`);
  const body = Buffer.from(`{"n":${sequence}${prev},"ops":[${operations.join(",")}]`);
  return Buffer.concat([body, Buffer.from(`${trailerOf(body)}\n`)]);
}
