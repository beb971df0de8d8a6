/** Commits gathered as the lines of one write. */
import type { Version, Versions } from "../../lib/store/engine/write_set.ts";
import { trailerOf } from "./line.ts";

/** Told once what became of the write. */
export interface Waiter {
  durable(): void;
  failed(error: Error): void;
}

/** Lines that are written and synced together, and who waits for that. */
export interface Batch {
  readonly bytes: Buffer;
  readonly commits: number;
  readonly versions: readonly Version[];
  /** Where each version's operation begins, in bytes from the start of the batch. */
  readonly offsets: readonly number[];
  readonly waiters: Waiter[];
  /** Adds one commit as a line. */
  add(sequence: number, writes: Versions): void;
  clear(): void;
}

const FIRST_BYTES = 64 * 1024;

/** The text of an operation: `[collection, id, revision, value]`, a deletion without its value. */
export function operationText({ collection, id, revision, text }: Version): string {
  const key = `[${JSON.stringify(collection)},${JSON.stringify(id)},${revision}`;
  return text === undefined ? `${key}]` : `${key},${text}]`;
}

/** An empty batch; its memory is used again after `clear`. */
export function newBatch(): Batch {
  let buffer = Buffer.allocUnsafe(FIRST_BYTES);
  let length = 0;
  let commits = 0;
  const versions: Version[] = [];
  const offsets: number[] = [];
  const waiters: Waiter[] = [];

  const append = (text: string): void => {
    const needed = length + text.length * 3;
    if (needed > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, needed));
      buffer.copy(larger, 0, 0, length);
      buffer = larger;
    }
    length += buffer.write(text, length);
  };

  return {
    get bytes() {
      return buffer.subarray(0, length);
    },
    get commits() {
      return commits;
    },
    versions,
    offsets,
    waiters,
    add(sequence, writes) {
      const start = length;
      append(`{"n":${sequence},"ops":[`);
      let before = "\t";
      for (const collection of writes.values()) {
        for (const version of collection.values()) {
          versions.push(version);
          offsets.push(length + before.length);
          append(`${before}${operationText(version)}\t`);
          before = ",\t";
        }
      }
      append("]");
      append(`${trailerOf(buffer.subarray(start, length))}\n`);
      commits++;
    },
    clear() {
      length = 0;
      commits = 0;
      versions.length = offsets.length = waiters.length = 0;
      if (buffer.length > FIRST_BYTES * 16) buffer = Buffer.allocUnsafe(FIRST_BYTES);
    },
  };
}
