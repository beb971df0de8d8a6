/** One file of the journal: its header line, and what is known of it. */
import { StoreDamaged } from "./damage.ts";
import { asideOf, type Files, writeAll } from "./files.ts";
import { isIntact, lineOf, NEWLINE } from "./line.ts";

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
}

/** An open file of the journal. */
export interface Segment {
  readonly header: Header;
  /** The checksum of the header line: tells this content from an earlier one under the same name. */
  readonly mark: string;
  /** The number under which places speak of this file; another one when it has been rewritten. */
  readonly file: number;
  readonly fd: number;
  path: string;
  /** Where its first commit begins. */
  readonly begins: number;
  /** Length of what is durable. */
  bytes: number;
  /** The number of its last commit, `header.after` while it has none. */
  last: number;
  operations: number;
  /** How many of the operations are not superseded by a later one. */
  live: number;
}

const LONGEST_HEADER = 4096;

/** Opens a journal file and reads its header. Errors: `StoreDamaged`. */
export async function openSegment(files: Files, path: string, file: number, mode: "read" | "write"): Promise<Segment> {
  const fd = await files.open(path, mode);
  try {
    const buffer = Buffer.allocUnsafe(LONGEST_HEADER);
    const start = buffer.subarray(0, files.read(fd, buffer, LONGEST_HEADER, 0));
    const end = start.indexOf(NEWLINE);
    if (end === -1 || !isIntact(start.subarray(0, end)))
      throw new StoreDamaged(path, 0, "this is not the first line of a journal");
    const segment = segmentOf(path, file, fd, start.subarray(0, end + 1));
    if (segment.header.format !== JOURNAL_FORMAT)
      throw new StoreDamaged(path, 0, `it is not of the format ${JOURNAL_FORMAT}`, "Use the version that wrote it.");
    segment.bytes = await files.size(fd);
    return segment;
  } catch (error) {
    await files.close(fd);
    throw error;
  }
}

/** Writes the file of a segment with only its header, aside and durable; who calls renames it to `path`. */
export async function createSegment(files: Files, path: string, file: number, header: Header): Promise<Segment> {
  const line = Buffer.from(lineOf(header));
  const fd = await files.open(asideOf(path), "create");
  try {
    await writeAll(files, fd, line, 0);
    await files.sync(fd);
  } catch (error) {
    await files.close(fd);
    throw error;
  }
  return segmentOf(path, file, fd, line);
}

function segmentOf(path: string, file: number, fd: number, line: Buffer): Segment {
  const { crc, ...header } = JSON.parse(line.toString()) as Header & { crc: string };
  const { length } = line;
  return {
    header,
    mark: crc,
    file,
    fd,
    path,
    begins: length,
    bytes: length,
    last: header.after,
    operations: 0,
    live: 0,
  };
}
