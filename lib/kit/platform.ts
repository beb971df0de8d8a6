/** Resources of the machine: time, ids, hashes and a log; and the best default that each platform has. */
import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** Milliseconds since the epoch, UTC. */
export interface Clock {
  now(): number;
  /**
   * Milliseconds that go on with time, whatever becomes of the clock; comparable within this process alone. Absent where a
   * process does not live for long, or stands still in between.
   */
  monotonic?(): number;
}

/** Makes a UUIDv7 for the given moment; what it makes rises in order. */
export interface Ids {
  uuid(now: number): string;
}

/** Synchronous SHA-256, lower-case hex of 64 characters. Text is hashed as UTF-8. */
export type Sha256 = (data: string | Uint8Array) => string;

/** Structured log; never holds tokens, secrets, prompts or chat text. */
export interface Log {
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

/** The machine's clock, for processes that come and go. */
export const wallClock: Clock = { now: () => Date.now() };

/** SHA-256 without a platform. */
export const portableSha256: Sha256 = (data) =>
  bytesToHex(nobleSha256(typeof data === "string" ? utf8ToBytes(data) : data));

/** The fastest SHA-256 at hand: Node's one-shot hash, some seven times faster, without an import that others could not follow. */
export function fastestSha256(): Sha256 {
  const hash = globalThis.process?.getBuiltinModule?.("node:crypto")?.hash;
  return hash ? (data) => hash("sha256", data, "hex") : portableSha256;
}

/** A log that tells what is wrong on the console, and keeps the rest to itself. */
export const consoleWarnings: Log = {
  info: () => {},
  warn: (message, fields) => writeToConsole("warn", message, fields),
  error: (message, fields) => writeToConsole("error", message, fields),
};

function writeToConsole(level: "warn" | "error", message: string, fields: Record<string, unknown> = {}): void {
  // eslint-disable-next-line no-console -- the application's own console, where it looks
  console[level](`countersign: ${message}`, fields);
}
