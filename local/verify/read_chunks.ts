/** Reads a file in chunks. */
import { closeSync, openSync, readSync } from "node:fs";

const CHUNK_BYTES = 64 * 1024;

/** Yields the bytes of a file in one reused buffer: a chunk is valid until the next is requested. Errors: Node's own. */
export function* readChunks(file: string): Generator<Buffer> {
  const fd = openSync(file, "r");
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let length = 0; (length = readSync(fd, buffer, 0, CHUNK_BYTES, null)) > 0;) yield buffer.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}
