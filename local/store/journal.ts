/** Appends commits to the journal. Commits that are accepted during a sync share the next line, write and sync. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Version } from "../../lib/store/engine/view.ts";
import { temporaryPath, type Files, type Paths, writeAllNow } from "./files.ts";
import { type Batch, newBatch, type LocatedVersion } from "./journal_batch.ts";
import { createLineWriter } from "./journal_format.ts";
import { OwnershipLost, requireFree, requireSame, requireUntouched } from "./ownership.ts";
import { createSegment, JOURNAL_FORMAT, type Segment } from "./segment.ts";
import { wrapSyncError } from "./sync_failure.ts";
import { makeWriteFailure, type WriteFailure } from "./write_failure.ts";

/** The end of the journal that commits are appended to. */
export interface Journal {
  /** The segment being written. */
  readonly active: Segment;
  /** Reason for which writes fail at present. */
  readonly failure: WriteFailure | undefined;
  /**
   * Tries again after a failure, unless it is permanent, or less than a second old without `force`; returns the failure if writes
   * still fail. No decision may be under way.
   */
  recover(force: boolean): Promise<WriteFailure | undefined>;
  /** Accepts a commit; resolves when it is durable, rejects when it never will be. */
  append(writes: readonly Version[]): Promise<void>;
  /** Resolves when all accepted commits are durable. */
  durable(): Promise<void>;
  /** Seals the active segment, unless it is empty. */
  seal(): Promise<void>;
  /** Resolves when nothing is under way. */
  waitUntilIdle(): Promise<void>;
  /** Removes the reserved zeros after the last line; false if writes fail or another process owns the file. */
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
  /** Called when bytes at `offset` in `segment` are durable. */
  onWrite(bytes: Buffer, segment: Segment, offset: number): void;
  /** Called when a version at `offset` in `segment` is durable. */
  onDurable(version: Version, segment: Segment, offset: number): void;
  /** Called after all versions of a batch. */
  onBatch(): void;
  onSealed(sealed: Segment, next: Segment): void;
  /** Called when writes begin to fail; not again until they succeed. */
  onFailed(error: WriteFailure): void;
  /** Called when a fault has passed: decisions start again from durable records. */
  onRecovered(): void;
  /** Called when the first batch after a fault is durable. */
  onWritten(): void;
  /** A takeover of the journal that did not succeed at start. */
  pending?: PendingTakeover | undefined;
}

/** A failed takeover of the journal, and a function that tries it again. */
export interface PendingTakeover {
  cause: unknown;
  finish(): Promise<Segment>;
}

/** Minimum time before a retry after a fault. */
const RETRY_MS = 1000;

/** A batch with this number of commits is written without waiting for more. */
const FULL_BATCH_COMMITS = 48;
/** Zeros that are written ahead of the content. */
const RESERVED_ZEROS = Buffer.alloc(256 * 1024);

/** Creates a journal that continues at the end of its active segment. */
export function newJournal(parts: JournalParts): Journal {
  const { files, paths, sequences, segmentBytes } = parts;
  let active = parts.active;
  let nextBatch = newBatch(sequences);
  let writing: Batch | undefined;
  let pending = parts.pending;
  let failure: WriteFailure | undefined;
  let failedAt = 0;
  /** True from the report of a failure until a later batch is durable. */
  let isReported = false;
  let running: Promise<void> | undefined;
  const line = createLineWriter();

  const write = async (batch: Batch): Promise<readonly LocatedVersion[]> => {
    line.clear();
    const located = batch.writeTo(line, active.last);
    const { bytes } = line;
    requireFree(files, paths.journal, active);
    // A segment without commits is never sealed, even for a line longer than a segment.
    if (active.bytes + bytes.length > segmentBytes && active.last > active.header.after) await rotate();
    const end = active.bytes + bytes.length;
    writeAllNow(files, active.fd, bytes, active.bytes);
    if (end > active.reserved) reserve(end);
    await wrapSyncError(files.sync(active.fd));
    // If another process took the journal over meanwhile, it may have missed this write, which then is not durable.
    requireUntouched(files, paths.journal, active);
    return located;
  };

  // A sync takes half as long if the length of the file did not change, so zeros are written ahead if there is room.
  const reserve = (end: number): void => {
    active.reserved = end;
    try {
      const zeros = RESERVED_ZEROS.subarray(0, Math.max(0, segmentBytes - end));
      if (zeros.length > 0) active.reserved += files.writeNow(active.fd, zeros, end);
    } catch {
      // The next batch tries again, and fails only if there is no room for itself.
    }
  };

  // Each step is durable before the next, so that a start can distinguish an interrupted seal from a removed journal.
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
      await wrapSyncError(files.syncFolder(paths.folder));
      await files.truncate(sealed.fd, sealed.bytes);
      sealed.reserved = sealed.bytes;
      await files.rename(paths.journal, paths.segment(segment));
      await wrapSyncError(files.syncFolder(paths.folder));
      await files.rename(temporaryPath(paths.journal), paths.journal);
      await wrapSyncError(files.syncFolder(paths.folder));
    } catch (error) {
      await files.close(next.fd);
      throw error;
    }
    sealed.path = paths.segment(segment);
    active = next;
    parts.onSealed(sealed, next);
  };

  const acknowledge = (batch: Batch, located: readonly LocatedVersion[]): void => {
    const start = active.bytes;
    active.bytes += line.bytes.length;
    active.last += batch.commits;
    parts.onWrite(line.bytes, active, start);
    for (const [version, offset] of located) parts.onDurable(version, active, start + offset);
    parts.onBatch();
    if (isReported) parts.onWritten();
    isReported = false;
    for (const { durable } of batch.waiters) durable();
  };

  const recordFailure = (cause: unknown): WriteFailure => {
    failure = makeWriteFailure(paths.journal, cause);
    failedAt = parts.now();
    if (!isReported) parts.onFailed(failure);
    isReported = true;
    return failure;
  };

  /**
   * Restores the files to the acknowledged commits, so that the next start finds none of those that failed. If this fails too and
   * the process ends, the next start finds a torn line, or complete commits that were answered with an error.
   */
  const undo = async (): Promise<void> => {
    if (pending) {
      active = await pending.finish();
      pending = undefined;
      return;
    }
    // A failed `rotate` may have renamed the active file already.
    const sealed = paths.segment(active.header.segment);
    if (!files.stat(paths.journal) && files.stat(sealed)?.inode === active.inode) {
      await files.rename(sealed, paths.journal);
      await wrapSyncError(files.syncFolder(paths.folder));
    }
    requireSame(files, paths.journal, active);
    await files.truncate(active.fd, active.bytes);
    active.reserved = active.bytes;
  };

  const fail = async (cause: unknown): Promise<void> => {
    const waiters = [...(writing?.waiters ?? []), ...nextBatch.waiters];
    writing = undefined;
    nextBatch = newBatch(sequences);
    const recorded = recordFailure(cause);
    for (const { failed } of waiters) failed(recorded);
    // Another process owns the file: it must not be truncated.
    if (cause instanceof OwnershipLost) return;
    // If this fails, `recover` tries again.
    await undo().catch(() => undefined);
  };

  const recover: Journal["recover"] = async (force) => {
    while (running) await running;
    // The absolute value, so that a clock that was set back does not prevent a retry.
    if (!failure?.isTransient || (!force && Math.abs(parts.now() - failedAt) < RETRY_MS)) return failure;
    try {
      await undo();
      failure = undefined;
      parts.onRecovered();
    } catch (error) {
      recordFailure(error);
    }
    return failure;
  };

  /** Waits while each turn of the event loop adds commits, so that they share a sync. */
  const waitForCommits = async (): Promise<void> => {
    let commits: number;
    do {
      commits = nextBatch.commits;
      await nextTurn();
    } while (nextBatch.commits > commits && nextBatch.commits < FULL_BATCH_COMMITS);
  };

  const run = async (): Promise<void> => {
    while (nextBatch.commits > 0) {
      await waitForCommits();
      writing = nextBatch;
      nextBatch = newBatch(sequences);
      let located: readonly LocatedVersion[];
      try {
        located = await write(writing);
      } catch (error) {
        return fail(error);
      }
      const batch = writing;
      writing = undefined;
      acknowledge(batch, located);
    }
  };

  if (pending) recordFailure(pending.cause);

  const startRun = (): void => void (running ??= run().finally(onRunEnd));
  /** Starts another run if commits were added meanwhile. */
  const onRunEnd = (): void => {
    running = undefined;
    if (nextBatch.commits > 0) startRun();
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
      nextBatch.add(writes);
      // A run replaces `nextBatch` only in a later turn of the event loop.
      startRun();
      return nextBatch.done();
    },
    durable() {
      const last = nextBatch.commits > 0 ? nextBatch : writing;
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
      await (running = sealing().finally(onRunEnd));
      if (failure) throw failure;
    },
    waitUntilIdle: async () => {
      while (running) await running;
    },
    async end() {
      if (failure) return false;
      try {
        requireFree(files, paths.journal, active);
      } catch (error) {
        recordFailure(error);
        return false;
      }
      // Zeros that stay are ignored by the next start.
      await files.truncate(active.fd, active.bytes).catch(() => undefined);
      return true;
    },
  };
}
