/** Opens, creates and scans the files of the journal. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { LostRecords } from "../../lib/store/faults.ts";
import { temporaryPath, type Files, writeAll } from "./files.ts";
import { isIntact, type Line, makeLine, NEWLINE, readHead, StoreDamaged } from "./journal_format.ts";

/** Format in the first line of a journal. */
export const JOURNAL_FORMAT = "countersign-journal/1";

/** The first line of a journal file. */
export interface Header {
  format: typeof JOURNAL_FORMAT;
  /** Random id of the store, so that files of two stores are never mixed. */
  store: string;
  /** Counts the journal's files from 1. */
  segment: number;
  /** The number of the last commit before this file, 0 at the beginning. */
  after: number;
  written_at: string;
  /** Present after a compaction. */
  compacted?: true;
  /** Present in a file that was created because the file with the newest records was missing. */
  lost?: LostRecords;
}

/** An open file of the journal. */
export interface Segment {
  readonly header: Header;
  /** The checksum of the header line, which differs after a compaction. */
  readonly mark: string;
  /** Number of this file in locations; a compacted file has a new one. */
  file: number;
  readonly fd: number;
  readonly inode: number;
  path: string;
  /** Offset of its first commit. */
  readonly firstOffset: number;
  /** Length of the durable content. */
  bytes: number;
  /** Length of the file with the zeros after its content, which make syncs faster. */
  reserved: number;
  /** The number of its last commit, `header.after` while it has none. */
  last: number;
  /** Counts of records, of those that are not superseded, and of deletions. */
  puts: number;
  live: number;
  deletions: number;
}

/** Checks that no record of a segment is superseded. Then no deletion in a later segment is needed because of this one. */
export const isClean = ({ puts, live }: Segment): boolean => live === puts;

const MAX_HEADER_BYTES = 4096;

/** Opens a journal file and reads its header. Errors: `StoreDamaged`. */
export async function openSegment(files: Files, path: string, file: number, mode: "read" | "write"): Promise<Segment> {
  const fd = await files.open(path, mode);
  try {
    const buffer = Buffer.allocUnsafe(MAX_HEADER_BYTES);
    const start = buffer.subarray(0, files.readNow(fd, buffer, MAX_HEADER_BYTES, 0));
    const end = start.indexOf(NEWLINE);
    if (end === -1 || !isIntact(start.subarray(0, end)))
      throw new StoreDamaged(path, 0, "this is not the first line of a journal");
    const segment = parseSegment(path, file, { fd, inode: await files.inode(fd) }, start.subarray(0, end + 1));
    if (segment.header.format !== JOURNAL_FORMAT)
      throw new StoreDamaged(path, 0, `it is not of the format ${JOURNAL_FORMAT}`, "Use the version that wrote it.");
    segment.reserved = await files.size(fd);
    segment.bytes = findContentEnd(files, fd, segment.reserved);
    return segment;
  } catch (error) {
    await files.close(fd);
    throw error;
  }
}

/** Returns the length of a file without the zeros at its end. */
export function findContentEnd(files: Files, fd: number, size: number): number {
  const buffer = Buffer.allocUnsafe(64 * 1024);
  for (let end = size; end > 0;) {
    const from = Math.max(0, end - buffer.length);
    files.readNow(fd, buffer, end - from, from);
    for (; end > from; end--) if (buffer[end - from - 1] !== 0) return end;
  }
  return 0;
}

/** Creates a durable segment with only its header, under a temporary name; the caller renames it to `path`. */
export async function createSegment(files: Files, path: string, file: number, header: Header): Promise<Segment> {
  const line = Buffer.from(makeLine(header));
  const fd = await files.open(temporaryPath(path), "create");
  try {
    await writeAll(files, fd, line, 0);
    await files.sync(fd);
    return parseSegment(path, file, { fd, inode: await files.inode(fd) }, line);
  } catch (error) {
    await files.close(fd);
    throw error;
  }
}

function parseSegment(path: string, file: number, opened: Pick<Segment, "fd" | "inode">, line: Buffer): Segment {
  const { crc, ...header } = JSON.parse(line.toString()) as Header & { crc: string };
  const { length } = line;
  return {
    header,
    mark: crc,
    file,
    ...opened,
    path,
    firstOffset: length,
    bytes: length,
    reserved: length,
    last: header.after,
    puts: 0,
    live: 0,
    deletions: 0,
  };
}

/** Receives a line in `buffer` from `start` to `end` (without its line end), and its `offset` in the file; false stops the scan. */
export type LineVisitor = (buffer: Buffer, start: number, end: number, offset: number) => boolean | void;

/** Bytes that are processed in one turn of the event loop: about a millisecond. */
export const SLICE_BYTES = 64 * 1024;

/** Options of a scan. */
export interface ScanOptions {
  /** Bytes read at a time. */
  chunkBytes?: number;
  /** Runs after each chunk; by default it yields to the event loop. */
  between?: () => Promise<unknown>;
}

/**
 * Visits the complete lines of a file from `offset` up to its `bytes`. Returns the offset after the last one, or of the line at
 * which the visitor stopped.
 */
export async function scanLines(
  files: Files,
  { fd, bytes }: { fd: number; bytes: number },
  offset: number,
  visit: LineVisitor,
  { chunkBytes = 1 << 20, between = nextTurn }: ScanOptions = {},
): Promise<number> {
  let buffer = Buffer.allocUnsafe(Math.min(chunkBytes, bytes - offset));
  let carried = 0;
  let base = offset;
  while (base + carried < bytes) {
    // A line that fills the buffer needs a larger one.
    if (carried === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
    const wanted = Math.min(buffer.length - carried, bytes - base - carried);
    const bytesRead = await files.read(fd, buffer.subarray(carried), wanted, base + carried);
    if (bytesRead === 0) return base;
    const length = carried + bytesRead;
    let start = 0;
    // Behind `length`, the buffer still has bytes of an earlier read.
    for (let end = buffer.indexOf(NEWLINE, carried); end !== -1 && end < length; end = buffer.indexOf(NEWLINE, start)) {
      if (visit(buffer, start, end, base + start) === false) return base + start;
      start = end + 1;
    }
    // The incomplete line moves to the start of the buffer.
    buffer.copy(buffer, 0, start, length);
    carried = length - start;
    base += start;
    await between();
  }
  return base;
}

/** Reads the head of a visited line of the file `path`. Errors: `StoreDamaged` where the checksum does not match. */
export function parseBatch(path: string, buffer: Buffer, start: number, end: number, offset: number): Line {
  if (!isIntact(buffer.subarray(start, end)))
    throw new StoreDamaged(path, offset, "the line does not match its checksum");
  const head = readHead(buffer, start);
  if (!head) throw new StoreDamaged(path, offset, "the line is not a batch of commits");
  return head;
}
