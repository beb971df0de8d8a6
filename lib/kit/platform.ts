/** Resources of the machine (time, ids, hashes, a log) with defaults for each platform. */
import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** Milliseconds since the epoch, UTC. */
export interface Clock {
  now(): number;
  /**
   * Milliseconds that never step back, also when the clock is set; comparable within this process only. Absent if
   * processes are short-lived or halted between requests.
   */
  monotonic?(): number;
}

/** Creates UUIDv7s for a moment, in rising order. */
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

/** The machine's clock, for short-lived processes. */
export const wallClock: Clock = { now: () => Date.now() };

/** SHA-256 in JavaScript, for every platform. */
export const portableSha256: Sha256 = (data) =>
  bytesToHex(nobleSha256(typeof data === "string" ? utf8ToBytes(data) : data));

/** Returns the fastest SHA-256: Node's, which is seven times faster. An import of it would fail on other platforms. */
export function fastestSha256(): Sha256 {
  const hash = globalThis.process?.getBuiltinModule?.("node:crypto")?.hash;
  return hash ? (data) => hash("sha256", data, "hex") : portableSha256;
}

/** A log that writes warnings and errors to the console and drops the rest. */
export const consoleWarnings: Log = {
  info: () => {},
  warn: (message, fields) => writeToConsole("warn", message, fields),
  error: (message, fields) => writeToConsole("error", message, fields),
};

function writeToConsole(level: "warn" | "error", message: string, fields: Record<string, unknown> = {}): void {
  // eslint-disable-next-line no-console -- the application reads its own console
  console[level](`countersign: ${message}`, fields);
}
