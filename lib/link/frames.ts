/** Frames of the link: the length of type and body (u32, big-endian), a type (u8) and a body. */

/** A peer violated the protocol. The message is for this node's log and is not sent to the peer. */
export class ProtocolViolation extends Error {
  override readonly name = "Violation";
}

/** Types of frames. */
export const FRAME = { hello: 1, challenge: 2, proof: 3, request: 4, response: 5, ping: 6, pong: 7 } as const;

/** Number of bytes before the type. */
export const LENGTH_BYTES = 4;
/** Number of bytes before the body. */
export const HEADER_BYTES = LENGTH_BYTES + 1;

/** Limits of the length field: before the peer has proved that it knows the secret, and after. */
export const MAX_UNPROVEN_BYTES = 1024;
export const MAX_PROVEN_BYTES = 256 * 1024;

/** One frame; `bytes` is the complete frame with length and type. */
export interface Frame {
  type: number;
  body: Uint8Array;
  bytes: Uint8Array;
}

/** Makes a frame with a body. */
export function makeFrame(type: number, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + body.length);
  writeHeader(bytes, type);
  bytes.set(body, HEADER_BYTES);
  return bytes;
}

/** Writes length and type into the buffer of a complete frame; `bytes` must be all of its `ArrayBuffer`. */
export function writeHeader(bytes: Uint8Array, type: number): void {
  new DataView(bytes.buffer).setUint32(0, bytes.length - LENGTH_BYTES);
  bytes[LENGTH_BYTES] = type;
}

/** Splits a stream of bytes into frames, and buffers at most one unfinished frame. */
export type FrameReader = ReturnType<typeof createFrameReader>;

/** Creates a reader at the start of a stream. */
export function createFrameReader() {
  /** Buffer for the current read: first a length, then the complete frame. */
  let buffer = new Uint8Array(LENGTH_BYTES);
  let filled = 0;
  let chunk: Uint8Array = new Uint8Array();

  /** Moves bytes of the chunk into the buffer; returns true when the buffer is full. */
  const fillBuffer = (): boolean => {
    const part = chunk.subarray(0, buffer.length - filled);
    buffer.set(part, filled);
    filled += part.length;
    chunk = chunk.subarray(part.length);
    return filled === buffer.length;
  };

  return {
    /** Number of bytes that are allocated for an unfinished frame. */
    get buffered() {
      return buffer.length > LENGTH_BYTES ? buffer.length : filled;
    },
    /** Adds the next bytes; all earlier frames must have been read. */
    push: (bytes: Uint8Array): void => void (chunk = bytes),
    /**
     * Returns the next complete frame, if there is one. Throws `ProtocolViolation` for a length outside 1 to `limit`, as soon as
     * its four bytes have arrived and before a buffer is allocated.
     */
    next(limit: number): Frame | undefined {
      if (!fillBuffer()) return undefined;
      if (buffer.length === LENGTH_BYTES) {
        const length = new DataView(buffer.buffer).getUint32(0);
        if (length < 1 || length > limit)
          throw new ProtocolViolation(`a frame of ${length} bytes was announced; 1 to ${limit} are allowed here`);
        const head = buffer;
        buffer = new Uint8Array(LENGTH_BYTES + length);
        buffer.set(head);
        if (!fillBuffer()) return undefined;
      }
      const bytes = buffer;
      buffer = new Uint8Array(LENGTH_BYTES);
      filled = 0;
      return { type: bytes[LENGTH_BYTES]!, body: bytes.subarray(HEADER_BYTES), bytes };
    },
  };
}
