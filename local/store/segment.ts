/** One file of the journal: its header, what is known of it, and the reading of its lines. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { LostRecords } from "../../lib/store/faults.ts";
import { temporaryPath, type Files, writeAll } from "./files.ts";
import { isIntact, type Line, makeLine, NEWLINE, readHead, StoreDamaged } from "./journal_format.ts";

/** Format in the first line of a journal. */
export const JOURNAL_FORMAT = "countersign-journal/1";

/** The first line of a journal file. */
export interface Header {
  format: typeof JOURNAL_FORMAT;
  /** Random, made once with the store: files of two stores are never taken for one. */
  store: string;
  /** Counts the journal's files from 1. */
  segment: number;
  /** The number of the last commit before this file, 0 at the beginning. */
  after: number;
  written_at: string;
  /** Present when superseded operations were taken out. */
  compacted?: true;
  /** Present in a file that was made where the file with the newest records was missing. */
  lost?: LostRecords;
}

/** An open file of the journal. */
export interface Segment {
  readonly header: Header;
  /** The checksum of the header line: tells this content from an earlier one under the same name. */
  readonly mark: string;
  /** The number under which places speak of this file; another one when it has been rewritten. */
  file: number;
  readonly fd: number;
  readonly inode: number;
  path: string;
  /** Offset of its first commit. */
  readonly begins: number;
  /** Length of what is durable. */
  bytes: number;
  /** Length of the file: behind what is durable lie zeros, so that a sync need not make a new length durable. */
  reserved: number;
  /** The number of its last commit, `header.after` while it has none. */
  last: number;
  /** Records that were put, how many of them are not superseded by a later one, and how many were deleted. */
  puts: number;
  live: number;
  deletions: number;
}

/** Returns whether nothing in a segment is superseded: then nothing in it comes back when a later deletion of it is forgotten. */
export const isClean = ({ puts, live }: Segment): boolean => live === puts;

const LONGEST_HEADER = 4096;

/** Opens a journal file and reads its header. Errors: `StoreDamaged`. */
export async function openSegment(files: Files, path: string, file: number, mode: "read" | "write"): Promise<Segment> {
  const fd = await files.open(path, mode);
  try {
    const buffer = Buffer.allocUnsafe(LONGEST_HEADER);
    const start = buffer.subarray(0, files.readNow(fd, buffer, LONGEST_HEADER, 0));
    const end = start.indexOf(NEWLINE);
    if (end === -1 || !isIntact(start.subarray(0, end)))
      throw new StoreDamaged(path, 0, "this is not the first line of a journal");
    const segment = segmentOf(path, file, { fd, inode: await files.inode(fd) }, start.subarray(0, end + 1));
    if (segment.header.format !== JOURNAL_FORMAT)
      throw new StoreDamaged(path, 0, `it is not of the format ${JOURNAL_FORMAT}`, "Use the version that wrote it.");
    segment.reserved = await files.size(fd);
    segment.bytes = contentEnd(files, fd, segment.reserved);
    return segment;
  } catch (error) {
    await files.close(fd);
    throw error;
  }
}

/** Returns the offset of the zeros that a file ends with. */
export function contentEnd(files: Files, fd: number, size: number): number {
  const buffer = Buffer.allocUnsafe(64 * 1024);
  for (let end = size; end > 0;) {
    const from = Math.max(0, end - buffer.length);
    files.readNow(fd, buffer, end - from, from);
    for (; end > from; end--) if (buffer[end - from - 1] !== 0) return end;
  }
  return 0;
}

/** Writes the file of a segment with only its header, aside and durable; who calls renames it to `path`. */
export async function createSegment(files: Files, path: string, file: number, header: Header): Promise<Segment> {
  const line = Buffer.from(makeLine(header));
  const fd = await files.open(temporaryPath(path), "create");
  try {
    await writeAll(files, fd, line, 0);
    await files.sync(fd);
    return segmentOf(path, file, { fd, inode: await files.inode(fd) }, line);
  } catch (error) {
    await files.close(fd);
    throw error;
  }
}

function segmentOf(path: string, file: number, opened: Pick<Segment, "fd" | "inode">, line: Buffer): Segment {
  const { crc, ...header } = JSON.parse(line.toString()) as Header & { crc: string };
  const { length } = line;
  return {
    header,
    mark: crc,
    file,
    ...opened,
    path,
    begins: length,
    bytes: length,
    reserved: length,
    last: header.after,
    puts: 0,
    live: 0,
    deletions: 0,
  };
}

/** Sees a line in `buffer` from `start` to `end` (without its line end), which lies at `offset` in the file; false stops. */
export type LineVisitor = (buffer: Buffer, start: number, end: number, offset: number) => boolean | void;

/** A piece of work between two turns of the event loop, in bytes: about a millisecond. */
export const SLICE = 64 * 1024;

/** How a file is scanned. */
export interface ScanOptions {
  /** Bytes read at a time. */
  piece?: number;
  /** Runs after each piece; by default other work gets its turn. */
  between?: () => Promise<unknown>;
}

/**
 * Visits the lines of a file from `offset` up to its `bytes`, and gives the offset after the last line that was visited
 * and not stopped at. What follows the last line end is not visited.
 */
export async function scanLines(
  files: Files,
  { fd, bytes }: { fd: number; bytes: number },
  offset: number,
  visit: LineVisitor,
  { piece = 1 << 20, between = nextTurn }: ScanOptions = {},
): Promise<number> {
  let buffer = Buffer.allocUnsafe(Math.min(piece, bytes - offset));
  let kept = 0;
  let base = offset;
  while (base + kept < bytes) {
    if (kept === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
    const wanted = Math.min(buffer.length - kept, bytes - base - kept);
    const got = await files.read(fd, buffer.subarray(kept), wanted, base + kept);
    if (got === 0) return base;
    const length = kept + got;
    let start = 0;
    for (let end = buffer.indexOf(NEWLINE, kept); end !== -1 && end < length; end = buffer.indexOf(NEWLINE, start)) {
      if (visit(buffer, start, end, base + start) === false) return base + start;
      start = end + 1;
    }
    buffer.copy(buffer, 0, start, length);
    kept = length - start;
    base += start;
    await between();
  }
  return base;
}

/** The head of a visited line of the file `path`. Errors: `StoreDamaged` when it is not as it was written. */
export function parseBatch(path: string, buffer: Buffer, start: number, end: number, offset: number): Line {
  if (!isIntact(buffer.subarray(start, end)))
    throw new StoreDamaged(path, offset, "the line does not match its checksum");
  const head = readHead(buffer, start);
  if (!head) throw new StoreDamaged(path, offset, "the line is not a batch of commits");
  return head;
}
