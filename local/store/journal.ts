/** Appends commits to the journal. What is accepted while a sync runs shares the next line, the next write and the next sync. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Version } from "../../lib/store/engine/view.ts";
import { temporaryPath, type Files, type Paths, writeAllNow } from "./files.ts";
import { type Batch, newBatch, type Placed } from "./journal_batch.ts";
import { lineWriter } from "./journal_format.ts";
import { NotOurs, requireFree, requireSame, requireUntouched } from "./ownership.ts";
import { createSegment, JOURNAL_FORMAT, type Segment } from "./segment.ts";
import { synced } from "./sync_failure.ts";
import { makeWriteFailure, type WriteFailure } from "./write_failure.ts";

/** The end of the journal that commits are appended to. */
export interface Journal {
  /** The segment being written. */
  readonly active: Segment;
  /** Why nothing is written at present. */
  readonly failure: WriteFailure | undefined;
  /**
   * Tries again what failed, unless that was less than a second ago (`force`: also then) or will not pass; returns why
   * nothing is written still. No decision may be under way.
   */
  recover(force: boolean): Promise<WriteFailure | undefined>;
  /** Accepts a commit; resolves when it is durable, rejects when it never will be. */
  append(writes: readonly Version[]): Promise<void>;
  /** Resolves when all that was accepted so far is durable. */
  durable(): Promise<void>;
  /** Seals the segment that is being written, if anything stands in it. */
  seal(): Promise<void>;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
  /** Cuts off what is reserved behind the last line, unless the file is another's by now; false then, or when it failed. */
  end(): Promise<boolean>;
}

/** Parts of a journal. */
export interface JournalParts {
  files: Files;
  paths: Paths;
  active: Segment;
  /** Collections that are only appended to. */
  sequences: readonly string[];
  /** A segment that would grow beyond this is sealed first. */
  segmentBytes: number;
  now(): number;
  /** The next number for a file. */
  nextFile(): number;
  /** Bytes are durable; they lie at `offset` in `segment`. */
  onWrite(bytes: Buffer, segment: Segment, offset: number): void;
  /** A version is durable; it lies at `offset` in `segment`. */
  onDurable(version: Version, segment: Segment, offset: number): void;
  /** All operations of a batch have been reported. */
  onBatch(): void;
  onSealed(sealed: Segment, next: Segment): void;
  /** Nothing that was accepted and not yet durable will be; called once until writes are taken again. */
  onFailed(error: WriteFailure): void;
  /** The fault has passed: decisions start from what is durable. */
  onRecovered(): void;
  /** The first batch after a fault is durable. */
  onWritten(): void;
  /** A takeover that the start could not finish. */
  pending?: Pending | undefined;
}

/** A takeover that failed, and how to try it again. */
export interface Pending {
  cause: unknown;
  finish(): Promise<Segment>;
}

/** A fault is tried again this much later at the earliest. */
const RETRY_MS = 1000;

/** Number of commits that wait for no others. */
const TOGETHER = 48;
/** Zeros that are written ahead at a time. */
const AHEAD = Buffer.alloc(256 * 1024);

/** A journal that goes on at the end of its active segment. */
export function newJournal(parts: JournalParts): Journal {
  const { files, paths, sequences, segmentBytes } = parts;
  let active = parts.active;
  let gathering = newBatch(sequences);
  let writing: Batch | undefined;
  let pending = parts.pending;
  let failure: WriteFailure | undefined;
  let failedAt = 0;
  let reported = false;
  let running: Promise<void> | undefined;
  const line = lineWriter();

  const write = async (batch: Batch): Promise<readonly Placed[]> => {
    line.clear();
    const placed = batch.writeTo(line, active.last);
    const { bytes } = line;
    requireFree(files, paths.journal, active);
    if (active.bytes + bytes.length > segmentBytes && active.last > active.header.after) await rotate();
    const end = active.bytes + bytes.length;
    writeAllNow(files, active.fd, bytes, active.bytes);
    if (end > active.reserved) reserve(end);
    await synced(files.sync(active.fd));
    // Data that another process saw when it took the journal over must not be reported as durable.
    requireUntouched(files, paths.journal, active);
    return placed;
  };

  // A sync that has no new length to make durable takes half as long. Where there is no room it is done without.
  const reserve = (end: number): void => {
    active.reserved = end;
    try {
      const zeros = AHEAD.subarray(0, Math.max(0, segmentBytes - end));
      if (zeros.length > 0) active.reserved += files.writeNow(active.fd, zeros, end);
    } catch {
      // The next batch that needs room tries again, and is refused if there is none for itself.
    }
  };

  // Each step is durable before the next: without the new file's name, a start could not tell a journal that was being sealed
  // from one that was removed.
  const rotate = async (): Promise<void> => {
    const sealed = active;
    const { store, segment } = sealed.header;
    const header = {
      format: JOURNAL_FORMAT,
      store,
      segment: segment + 1,
      after: sealed.last,
      written_at: new Date(parts.now()).toISOString(),
    } as const;
    const next = await createSegment(files, paths.journal, parts.nextFile(), header);
    try {
      await synced(files.syncFolder(paths.folder));
      await files.truncate(sealed.fd, sealed.bytes);
      sealed.reserved = sealed.bytes;
      await files.rename(paths.journal, paths.segment(segment));
      await synced(files.syncFolder(paths.folder));
      await files.rename(temporaryPath(paths.journal), paths.journal);
      await synced(files.syncFolder(paths.folder));
    } catch (error) {
      await files.close(next.fd);
      throw error;
    }
    sealed.path = paths.segment(segment);
    active = next;
    parts.onSealed(sealed, next);
  };

  const keep = (batch: Batch, placed: readonly Placed[]): void => {
    const start = active.bytes;
    active.bytes += line.bytes.length;
    active.last += batch.commits;
    parts.onWrite(line.bytes, active, start);
    for (const [version, offset] of placed) parts.onDurable(version, active, start + offset);
    parts.onBatch();
    if (reported) parts.onWritten();
    reported = false;
    for (const { durable } of batch.waiters) durable();
  };

  const refuse = (cause: unknown): WriteFailure => {
    failure = makeWriteFailure(paths.journal, cause);
    failedAt = parts.now();
    if (!reported) parts.onFailed(failure);
    reported = true;
    return failure;
  };

  /**
   * Brings the files back to what was acknowledged, so that none of what failed is found at the next start. Where this fails
   * too and the process ends, the next start finds a torn line, or commits that were answered with an error: never a half.
   */
  const undo = async (): Promise<void> => {
    if (pending) {
      active = await pending.finish();
      pending = undefined;
      return;
    }
    const sealed = paths.segment(active.header.segment);
    if (!files.seen(paths.journal) && files.seen(sealed)?.inode === active.inode) {
      await files.rename(sealed, paths.journal);
      await synced(files.syncFolder(paths.folder));
    }
    requireSame(files, paths.journal, active);
    await files.truncate(active.fd, active.bytes);
    active.reserved = active.bytes;
  };

  const fail = async (cause: unknown): Promise<void> => {
    const waiters = [...(writing?.waiters ?? []), ...gathering.waiters];
    writing = undefined;
    gathering = newBatch(sequences);
    const refused = refuse(cause);
    for (const { failed } of waiters) failed(refused);
    // A file that belongs to another process is not cut.
    if (cause instanceof NotOurs) return;
    await undo().catch(() => undefined);
  };

  const recover: Journal["recover"] = async (force) => {
    while (running) await running;
    if (!failure?.passing || (!force && Math.abs(parts.now() - failedAt) < RETRY_MS)) return failure;
    try {
      await undo();
      failure = undefined;
      parts.onRecovered();
    } catch (error) {
      refuse(error);
    }
    return failure;
  };

  /** Lets commits of successive turns of the event loop share a sync, which costs as much as a decision or two. */
  const comeTogether = async (): Promise<void> => {
    let known: number;
    do {
      known = gathering.commits;
      await nextTurn();
    } while (gathering.commits > known && gathering.commits < TOGETHER);
  };

  const run = async (): Promise<void> => {
    while (gathering.commits > 0) {
      await comeTogether();
      writing = gathering;
      gathering = newBatch(sequences);
      let placed: readonly Placed[];
      try {
        placed = await write(writing);
      } catch (error) {
        return fail(error);
      }
      const batch = writing;
      writing = undefined;
      keep(batch, placed);
    }
  };

  if (pending) refuse(pending.cause);

  const go = (): void => void (running ??= run().finally(ended));
  /** Writes the commits that were gathered meanwhile. */
  const ended = (): void => {
    running = undefined;
    if (gathering.commits > 0) go();
  };

  return {
    get active() {
      return active;
    },
    get failure() {
      return failure;
    },
    recover,
    append(writes) {
      gathering.add(writes);
      go();
      return gathering.done();
    },
    durable() {
      const last = gathering.commits > 0 ? gathering : writing;
      return last ? last.done() : Promise.resolve();
    },
    async seal() {
      while (running) await running;
      const sealing = async (): Promise<void> => {
        try {
          if (failure || active.last === active.header.after) return;
          requireFree(files, paths.journal, active);
          await rotate();
        } catch (error) {
          await fail(error);
        }
      };
      await (running = sealing().finally(ended));
      if (failure) throw failure;
    },
    idle: async () => {
      while (running) await running;
    },
    async end() {
      if (failure) return false;
      try {
        requireFree(files, paths.journal, active);
      } catch (error) {
        refuse(error);
        return false;
      }
      await files.truncate(active.fd, active.bytes).catch(() => undefined);
      return true;
    },
  };
}
