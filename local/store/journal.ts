/** Appends commits to the journal. What is accepted while a sync runs shares the next write and the next sync. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Version } from "../../lib/store/engine/view.ts";
import { StoreUnavailable } from "../../lib/store/store.ts";
import { asideOf, type Files, type Paths, writeAll } from "./files.ts";
import { operationText, trailerOf } from "./journal_format.ts";
import { createSegment, type Segment } from "./segment.ts";

/** The end of the journal that commits are appended to. */
export interface Journal {
  /** The segment being written. */
  readonly active: Segment;
  /** Why nothing is written any more. */
  readonly failure: StoreUnavailable | undefined;
  /** Accepts a commit; resolves when it is durable, rejects when it never will be. */
  append(writes: readonly Version[]): Promise<void>;
  /** Resolves when all that was accepted so far is durable. */
  durable(): Promise<void>;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

/** Told once what became of the write. */
interface Waiter {
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
  add(sequence: number, writes: readonly Version[]): void;
  /** Resolves when the write is durable. */
  done(): Promise<void>;
  clear(): void;
}

/** What a journal is built from. */
export interface JournalParts {
  files: Files;
  paths: Paths;
  active: Segment;
  /** A segment that would grow beyond this is sealed first. */
  segmentBytes: number;
  now(): number;
  /** The next number for a file. */
  nextFile(): number;
  /** A batch is durable; it lies at `offset` in `segment`. */
  onDurable(batch: Batch, segment: Segment, offset: number): void;
  onSealed(sealed: Segment, next: Segment): void;
  /** Nothing that was accepted and not yet durable will be. */
  onFailed(error: StoreUnavailable): void;
}

/** A journal that goes on at the end of its active segment. */
export function newJournal(parts: JournalParts): Journal {
  const { files, paths, segmentBytes } = parts;
  let active = parts.active;
  let accepted = active.last;
  let gathering = newBatch();
  let spare = newBatch();
  let writing: Batch | undefined;
  let failure: StoreUnavailable | undefined;
  let running: Promise<void> | undefined;

  const write = async (batch: Batch): Promise<void> => {
    if (active.bytes + batch.bytes.length > segmentBytes && active.last > active.header.after) await rotate();
    const { bytes } = batch;
    await writeAll(files, active.fd, bytes, active.bytes);
    await files.sync(active.fd);
  };

  // Each rename is made durable before the next: were only the second kept, the sealed segment would be lost.
  const rotate = async (): Promise<void> => {
    const sealed = active;
    const { store, segment, format } = sealed.header;
    const header = {
      format,
      store,
      segment: segment + 1,
      after: sealed.last,
      written_at: new Date(parts.now()).toISOString(),
    };
    const next = await createSegment(files, paths.journal, parts.nextFile(), header);
    try {
      await files.rename(paths.journal, paths.segment(segment));
      sealed.path = paths.segment(segment);
      await files.syncFolder(paths.folder);
      await files.rename(asideOf(paths.journal), paths.journal);
      await files.syncFolder(paths.folder);
    } catch (error) {
      await files.close(next.fd);
      throw error;
    }
    active = next;
    parts.onSealed(sealed, next);
  };

  const keep = (batch: Batch): void => {
    const offset = active.bytes;
    active.bytes += batch.bytes.length;
    active.last += batch.commits;
    parts.onDurable(batch, active, offset);
    for (const { durable } of batch.waiters) durable();
  };

  const fail = async (cause: unknown): Promise<void> => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    failure = new StoreUnavailable(
      `${paths.journal} cannot be written (${reason}): nothing more is written until a restart`,
      { cause },
    );
    const waiters = [...(writing?.waiters ?? []), ...gathering.waiters];
    writing = undefined;
    gathering.clear();
    parts.onFailed(failure);
    for (const { failed } of waiters) failed(failure);
    // Nobody was told that these commits hold, so none of them should be found at the next start. Should this fail too,
    // the next start finds a torn line, or commits that were answered with an error: never a half.
    await files.truncate(active.fd, active.bytes).catch(() => undefined);
  };

  const run = async (): Promise<void> => {
    while (gathering.commits > 0) {
      // What else this turn of the event loop brings shares the sync.
      await nextTurn();
      writing = gathering;
      gathering = spare;
      try {
        await write(writing);
      } catch (error) {
        return fail(error);
      }
      spare = writing;
      writing = undefined;
      keep(spare);
      spare.clear();
    }
  };

  return {
    get active() {
      return active;
    },
    get failure() {
      return failure;
    },
    append(writes) {
      gathering.add(++accepted, writes);
      running ??= run().finally(() => (running = undefined));
      return gathering.done();
    },
    durable() {
      const last = gathering.commits > 0 ? gathering : writing;
      return last ? last.done() : Promise.resolve();
    },
    idle: async () => {
      while (running) await running;
    },
  };
}

const FIRST_BYTES = 64 * 1024;

/** An empty batch; its memory is used again after `clear`. */
function newBatch(): Batch {
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
      for (const version of writes) {
        versions.push(version);
        offsets.push(length + before.length);
        append(`${before}${operationText(version)}\t`);
        before = ",\t";
      }
      append("]");
      append(`${trailerOf(buffer.subarray(start, length))}\n`);
      commits++;
    },
    done: () => new Promise((durable, failed) => waiters.push({ durable, failed })),
    clear() {
      length = 0;
      commits = 0;
      versions.length = offsets.length = waiters.length = 0;
      if (buffer.length > FIRST_BYTES * 16) buffer = Buffer.allocUnsafe(FIRST_BYTES);
    },
  };
}
