/** Reads a file line by line in large pieces, giving way to other work between them. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type CommitHead, readHead } from "./commit_line.ts";
import { StoreDamaged } from "./damage.ts";
import type { Files } from "./files.ts";
import { isIntact, NEWLINE } from "./line.ts";

/** Sees a line in `buffer` from `start` to `end` (without its line end), which lies at `offset` in the file; false stops. */
export type LineVisitor = (buffer: Buffer, start: number, end: number, offset: number) => boolean | void;

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
    const got = files.read(fd, buffer.subarray(kept), wanted, base + kept);
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

/** The head of the commit on a visited line of the file `path`. Errors: `StoreDamaged` when it is not as it was written. */
export function commitAt(path: string, buffer: Buffer, start: number, end: number, offset: number): CommitHead {
  if (!isIntact(buffer.subarray(start, end)))
    throw new StoreDamaged(path, offset, "the line does not match its checksum");
  const head = readHead(buffer, start);
  if (!head) throw new StoreDamaged(path, offset, "the line is not a commit");
  return head;
}
