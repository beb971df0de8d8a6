/** Lines of JSON that carry their own checksum as the last member: `{…,"crc":"0a1b2c3d"}`. */
import { crc32 } from "node:zlib";

/** Bytes of `,"crc":"0a1b2c3d"}`. */
export const TRAILER_BYTES = 18;
export const NEWLINE = 10;

/** What ends a line whose earlier bytes are given. */
export const trailerOf = (body: Buffer): string => `,"crc":"${crc32(body).toString(16).padStart(8, "0")}"}`;

/** The line, with its line end, of an object that has at least one member. */
export function lineOf(object: object): string {
  const body = JSON.stringify(object).slice(0, -1);
  return `${body}${trailerOf(Buffer.from(body))}\n`;
}

/** Whether a line, without its line end, is as it was written. */
export function isIntact(line: Buffer): boolean {
  const end = line.length - TRAILER_BYTES;
  return end > 0 && line.toString("latin1", end) === trailerOf(line.subarray(0, end));
}
