/** Frames: a u32 (big-endian) that counts what follows it, a u8 type, a body. */
import { Violation } from "./violation.ts";

export const FRAME = { hello: 1, challenge: 2, proof: 3, request: 4, response: 5, ping: 6, pong: 7 } as const;

/** The bytes before the type. */
export const LENGTH_BYTES = 4;
/** The bytes before the body. */
export const HEADER_BYTES = LENGTH_BYTES + 1;

/** What the length field may say, in bytes: before the peer has proved itself, and after. */
export const UNPROVEN_LIMIT = 1024;
export const PROVEN_LIMIT = 256 * 1024;

/** One frame; `bytes` is all of it, length and type included. */
export interface Frame {
  type: number;
  body: Uint8Array;
  bytes: Uint8Array;
}

/** A frame around a body. */
export function frameOf(type: number, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + body.length);
  writeHeader(bytes, type);
  bytes.set(body, HEADER_BYTES);
  return bytes;
}

/** Writes length and type into a buffer that is one whole frame. */
export function writeHeader(bytes: Uint8Array, type: number): void {
  const length = bytes.length - LENGTH_BYTES;
  bytes[0] = length >>> 24;
  bytes[1] = length >>> 16;
  bytes[2] = length >>> 8;
  bytes[3] = length;
  bytes[4] = type;
}

/** Cuts a stream of bytes into frames. Holds one unfinished frame at most. */
export interface FrameReader {
  /** How many bytes of an unfinished frame have room here. */
  readonly held: number;
  /** Hands over the next bytes; what was handed over before must have been read. */
  push(chunk: Uint8Array): void;
  /**
   * The next whole frame, if there is one. A length outside 1 to `limit` is a `Violation` as soon as its four bytes are
   * there, before any room is made for it.
   */
  next(limit: number): Frame | undefined;
}

/** A reader at the start of a stream. */
export function frameReader(): FrameReader {
  const head = new Uint8Array(LENGTH_BYTES);
  let headFilled = 0;
  let unfinished: Uint8Array | undefined;
  let filled = 0;
  let chunk = new Uint8Array();

  const take = (count: number): Uint8Array => {
    const taken = chunk.subarray(0, count);
    chunk = chunk.subarray(count);
    return taken;
  };

  const readHead = (): boolean => {
    const part = take(Math.min(LENGTH_BYTES - headFilled, chunk.length));
    head.set(part, headFilled);
    headFilled += part.length;
    return headFilled === LENGTH_BYTES;
  };

  return {
    get held() {
      return unfinished?.length ?? headFilled;
    },
    push(bytes) {
      chunk = bytes as Uint8Array<ArrayBuffer>;
    },
    next(limit) {
      if (!unfinished) {
        const whole = headFilled === 0 ? chunk : undefined;
        if (!readHead()) return undefined;
        const length = lengthIn(head);
        if (length < 1 || length > limit)
          throw new Violation(`a frame of ${length} bytes was announced; 1 to ${limit} are allowed here`);
        headFilled = 0;
        if (whole && chunk.length >= length) {
          take(length);
          return frameIn(whole.subarray(0, LENGTH_BYTES + length));
        }
        unfinished = new Uint8Array(LENGTH_BYTES + length);
        unfinished.set(head);
        filled = LENGTH_BYTES;
      }
      const part = take(Math.min(unfinished.length - filled, chunk.length));
      unfinished.set(part, filled);
      filled += part.length;
      if (filled < unfinished.length) return undefined;
      const bytes = unfinished;
      unfinished = undefined;
      return frameIn(bytes);
    },
  };
}

const lengthIn = (head: Uint8Array): number => ((head[0]! << 24) | (head[1]! << 16) | (head[2]! << 8) | head[3]!) >>> 0;

const frameIn = (bytes: Uint8Array): Frame => ({
  type: bytes[LENGTH_BYTES]!,
  body: bytes.subarray(HEADER_BYTES),
  bytes,
});
