/** Reads a file piece by piece. */
import { closeSync, openSync, readSync } from "node:fs";

const PIECE = 64 * 1024;

/** The bytes of a file; each piece is good until the next is asked for, since one buffer serves all. Errors: Node's own. */
export function* readPieces(file: string): Generator<Buffer> {
  const fd = openSync(file, "r");
  try {
    const buffer = Buffer.allocUnsafe(PIECE);
    for (let length = 0; (length = readSync(fd, buffer, 0, PIECE, null)) > 0;) yield buffer.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}
