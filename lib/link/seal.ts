/** Sealed frames: a u64 sequence number from 0, the payload, and an HMAC over everything before it. */
import { type Frame, HEADER_BYTES, LENGTH_BYTES, writeHeader, ProtocolViolation } from "./frames.ts";
import { isSameBytes, type Mac } from "./keys.ts";

const SEQUENCE_BYTES = 8;
const TAG_BYTES = 32;
const PAYLOAD_OFFSET = HEADER_BYTES + SEQUENCE_BYTES;
/** A sequence number is written as two 32-bit halves. */
const TWO_TO_THE_32 = 0x1_0000_0000;

/** Bytes that a frame's length field counts in addition to the payload: the type (1), the sequence number and the HMAC. */
export const SEAL_BYTES = 1 + SEQUENCE_BYTES + TAG_BYTES;

/** Creates the function that seals the frames of one direction. */
export function createSealer(key: Uint8Array, createMac: Mac): (type: number, payload: Uint8Array) => Uint8Array {
  const mac = createMac(key);
  let sequence = 0;
  return (type, payload) => {
    const bytes = new Uint8Array(PAYLOAD_OFFSET + payload.length + TAG_BYTES);
    writeHeader(bytes, type);
    const view = new DataView(bytes.buffer);
    view.setUint32(HEADER_BYTES, Math.floor(sequence / TWO_TO_THE_32));
    view.setUint32(HEADER_BYTES + 4, sequence % TWO_TO_THE_32);
    bytes.set(payload, PAYLOAD_OFFSET);
    bytes.set(mac(bytes.subarray(0, -TAG_BYTES)), bytes.length - TAG_BYTES);
    sequence++;
    return bytes;
  };
}

/**
 * Creates the function that verifies the frames of one direction and returns their payloads. Errors: `ProtocolViolation` for a
 * frame that was changed, repeated, lost or reordered.
 */
export function createOpener(key: Uint8Array, createMac: Mac): (frame: Frame) => Uint8Array {
  const mac = createMac(key);
  let sequence = 0;
  return ({ bytes }) => {
    if (bytes.length < LENGTH_BYTES + SEAL_BYTES) throw new ProtocolViolation("a sealed frame is too short");
    if (!isSameBytes(mac(bytes.subarray(0, -TAG_BYTES)), bytes.subarray(-TAG_BYTES)))
      throw new ProtocolViolation("a frame's HMAC does not hold");
    const view = new DataView(bytes.buffer, bytes.byteOffset + HEADER_BYTES, SEQUENCE_BYTES);
    if (view.getUint32(0) * TWO_TO_THE_32 + view.getUint32(4) !== sequence)
      throw new ProtocolViolation(`a frame is out of sequence: number ${sequence} was due`);
    sequence++;
    return bytes.subarray(PAYLOAD_OFFSET, -TAG_BYTES);
  };
}
