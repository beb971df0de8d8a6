/** Caches the newest bytes of the journal: most records are read again soon after they were written. */

/** A cache of bytes, in which operations are found by location. */
export interface WrittenBytes {
  /** Copies bytes that have become durable at a location. */
  add(location: number, bytes: Buffer): void;
  /** Returns the operation at a location; undefined where it is no longer in memory. */
  find(location: number): { buffer: Buffer; start: number; end: number } | undefined;
}

/** Number of chunks. They are outside V8's heap, and cost no garbage collection. */
const CHUNKS = 16;
/** Ends each operation, which is JSON text, so it contains no tab itself. */
const TAB = 9;

interface Chunk {
  buffer: Buffer;
  location: number;
  length: number;
}

/**
 * Creates an empty cache. Chunks are allocated when needed, and the oldest one is reused. A batch lies within one chunk, so a long
 * batch gets a longer chunk.
 */
export function newWrittenBytes(maxBytes: number): WrittenBytes {
  const chunkBytes = Math.floor(maxBytes / CHUNKS);
  /** The newest first. */
  const chunks: Chunk[] = [];

  const makeRoom = (location: number, length: number): Chunk => {
    const [newest] = chunks;
    const isNext = newest && newest.location + newest.length === location;
    if (isNext && newest.length + length <= newest.buffer.length) return newest;
    const oldest = chunks.length === CHUNKS ? chunks.pop() : undefined;
    const isReusable = oldest && length <= oldest.buffer.length;
    const buffer = isReusable ? oldest.buffer : Buffer.allocUnsafeSlow(Math.max(chunkBytes, length));
    chunks.unshift({ buffer, location, length: 0 });
    return chunks[0]!;
  };

  return {
    add(location, bytes) {
      if (maxBytes === 0) return;
      const chunk = makeRoom(location, bytes.length);
      bytes.copy(chunk.buffer, chunk.length);
      chunk.length += bytes.length;
    },
    find(location) {
      const chunk = chunks.find(({ location: start, length }) => location >= start && location < start + length);
      if (!chunk) return undefined;
      const { buffer, length } = chunk;
      const start = location - chunk.location;
      const end = buffer.indexOf(TAB, start);
      return end === -1 || end >= length ? undefined : { buffer, start, end };
    },
  };
}
