/** Appends commits to the journal. What is accepted while a sync runs shares the next write and the next sync. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Versions } from "../../lib/store/engine/write_set.ts";
import { StoreUnavailable } from "../../lib/store/store.ts";
import { type Batch, newBatch, type Waiter } from "./batch.ts";
import { asideOf, type Files, writeAll } from "./files.ts";
import type { Paths } from "./paths.ts";
import { createSegment, type Segment } from "./segment.ts";

/** The end of the journal that commits are appended to. */
export interface Journal {
  /** The segment being written. */
  readonly active: Segment;
  /** Why nothing is written any more. */
  readonly failure: StoreUnavailable | undefined;
  /** Accepts a commit; the waiter is told when it is durable, or that it never will be. */
  append(writes: Versions, waiter: Waiter): void;
  /** Tells the waiter once all that was accepted so far is durable: at once when it is. */
  whenDurable(waiter: Waiter): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
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
    for (const waiter of batch.waiters) waiter.durable();
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
    for (const waiter of waiters) waiter.failed(failure);
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
    append(writes, waiter) {
      gathering.add(++accepted, writes);
      gathering.waiters.push(waiter);
      running ??= run().finally(() => (running = undefined));
    },
    whenDurable(waiter) {
      const last = gathering.commits > 0 ? gathering : writing;
      if (last) last.waiters.push(waiter);
      else waiter.durable();
    },
    idle: async () => {
      while (running) await running;
    },
  };
}
