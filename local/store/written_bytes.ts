/** The bytes that were written last, in memory: most records are read again soon after they were written. */

/** Finds operations among the bytes written last. */
export interface WrittenBytes {
  /** Takes a copy of what has become durable at a place. */
  add(place: number, bytes: Buffer): void;
  /** Returns the operation that begins at a place; undefined where it is no longer in memory. */
  find(place: number): { buffer: Buffer; start: number; end: number } | undefined;
}

/** Outside of V8's heap, so that they cost no garbage collection. */
const CHUNKS = 16;
/** Ends each operation. */
const TAB = 9;

interface Chunk {
  buffer: Buffer;
  place: number;
  length: number;
}

/**
 * Creates it empty; a chunk is allocated when it is needed, and the oldest is used again. A batch lies in one chunk, so one
 * that is longer than a chunk has a longer chunk.
 */
export function newWrittenBytes(maxBytes: number): WrittenBytes {
  const chunkBytes = Math.floor(maxBytes / CHUNKS);
  /** The newest first. */
  const chunks: Chunk[] = [];

  const makeRoom = (place: number, length: number): Chunk => {
    const [newest] = chunks;
    const follows = newest && newest.place + newest.length === place;
    if (follows && newest.length + length <= newest.buffer.length) return newest;
    const oldest = chunks.length === CHUNKS ? chunks.pop() : undefined;
    const isReusable = oldest && length <= oldest.buffer.length;
    const buffer = isReusable ? oldest.buffer : Buffer.allocUnsafeSlow(Math.max(chunkBytes, length));
    chunks.unshift({ buffer, place, length: 0 });
    return chunks[0]!;
  };

  return {
    add(place, bytes) {
      if (maxBytes === 0) return;
      const chunk = makeRoom(place, bytes.length);
      bytes.copy(chunk.buffer, chunk.length);
      chunk.length += bytes.length;
    },
    find(place) {
      const chunk = chunks.find((one) => place >= one.place && place < one.place + one.length);
      if (!chunk) return undefined;
      const { buffer, length } = chunk;
      const start = place - chunk.place;
      const end = buffer.indexOf(TAB, start);
      return end === -1 || end >= length ? undefined : { buffer, start, end };
    },
  };
}
