/** What is taken from the machine: time, ids, hashes and a log; and the best default that runs anywhere. */
import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** Milliseconds since the epoch, UTC. */
export interface Clock {
  now(): number;
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

/** SHA-256 without a platform; where `node:crypto` is, its one-shot hash is some ten times faster. */
export const portableSha256: Sha256 = (data) =>
  bytesToHex(nobleSha256(typeof data === "string" ? utf8ToBytes(data) : data));

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now() };
