/** Appends commits to the journal. What is accepted while a sync runs shares the next line, the next write and the next sync. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { inner, type Version } from "../../lib/store/engine/view.ts";
import { StoreUnavailable } from "../../lib/store/store.ts";
import { asideOf, type Files, type Paths, writeAllNow } from "./files.ts";
import { lineWriter, operationText } from "./journal_format.ts";
import { NotOurs, requireFree, requireUntouched } from "./ownership.ts";
import { createSegment, JOURNAL_FORMAT, type Segment } from "./segment.ts";

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
  /** Seals the segment that is being written, if anything stands in it. */
  seal(): Promise<void>;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
  /** Cuts off what is reserved behind the last line, unless the file is another's by now; false then, or when it failed. */
  end(): Promise<boolean>;
}

/** What a journal is built from. */
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
  /** A version is durable; it lies at `offset` in `segment`. */
  onDurable(version: Version, segment: Segment, offset: number): void;
  /** All that a batch holds has been told of. */
  onBatch(): void;
  onSealed(sealed: Segment, next: Segment): void;
  /** Nothing that was accepted and not yet durable will be. */
  onFailed(error: StoreUnavailable): void;
}

/** So many commits wait for no others. */
const TOGETHER = 48;
/** So many zeros are written ahead at a time. */
const AHEAD = Buffer.alloc(256 * 1024);

/** A journal that goes on at the end of its active segment. */
export function newJournal(parts: JournalParts): Journal {
  const { files, paths, sequences, segmentBytes } = parts;
  let active = parts.active;
  let gathering = newBatch(sequences);
  let writing: Batch | undefined;
  let failure: StoreUnavailable | undefined;
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
    await files.sync(active.fd);
    // What another process saw of it, when it took the journal over, is not to be told as durable.
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

  // Each rename is made durable before the next: were only the second kept, the sealed segment would be lost.
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
      await files.truncate(sealed.fd, sealed.bytes);
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

  const keep = (batch: Batch, placed: readonly Placed[]): void => {
    const start = active.bytes;
    active.bytes += line.bytes.length;
    active.last += batch.commits;
    for (const [version, offset] of placed) parts.onDurable(version, active, start + offset);
    parts.onBatch();
    for (const { durable } of batch.waiters) durable();
  };

  const fail = async (cause: unknown): Promise<void> => {
    failure = failureOf(paths.journal, cause);
    const waiters = [...(writing?.waiters ?? []), ...gathering.waiters];
    writing = undefined;
    gathering = newBatch(sequences);
    parts.onFailed(failure);
    for (const { failed } of waiters) failed(failure);
    // What is another's now is not cut.
    if (cause instanceof NotOurs) return;
    // Nobody was told that these commits hold, so none of them should be found at the next start. Should this fail too,
    // the next start finds a torn line, or commits that were answered with an error: never a half.
    await files.truncate(active.fd, active.bytes).catch(() => undefined);
  };

  /** What the turns of the event loop bring one after another shares the sync, which costs as much as a decision or two. */
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

  const go = (): void => void (running ??= run().finally(ended));
  /** What was gathered meanwhile is written next. */
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
        failure = failureOf(paths.journal, error);
        parts.onFailed(failure);
        return false;
      }
      await files.truncate(active.fd, active.bytes).catch(() => undefined);
      return true;
    },
  };
}

function failureOf(path: string, cause: unknown): StoreUnavailable {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const shown = cause instanceof NotOurs ? cause.shown : undefined;
  const message = `${path} cannot be written (${reason}): nothing more is written until a restart`;
  return new StoreUnavailable(message, { cause, shown });
}

/** A version, and where it lies in its batch. */
type Placed = readonly [version: Version, offset: number];

/** Told once what became of the write. */
interface Waiter {
  durable(): void;
  failed(error: Error): void;
}

/** Commits that are written and synced together, and who waits for that. */
interface Batch {
  readonly commits: number;
  readonly waiters: readonly Waiter[];
  add(writes: readonly Version[]): void;
  /** Makes a line of it, behind the commit `previous`. */
  writeTo(line: ReturnType<typeof lineWriter>, previous: number): Placed[];
  /** Resolves when the write is durable. */
  done(): Promise<void>;
}

/** An empty batch. Of what is written several times only the last version goes into it: all are durable, or none. */
function newBatch(sequences: readonly string[]): Batch {
  const changed = new Map<string, Map<string, Version>>();
  const floors = new Map<string, number>();
  const waiters: Waiter[] = [];
  let commits = 0;

  return {
    get commits() {
      return commits;
    },
    waiters,
    add(writes) {
      commits++;
      for (const version of writes) {
        const byId = inner(changed, version.collection);
        const before = byId.get(version.id);
        if (before && !before.json)
          floors.set(version.collection, Math.max(floors.get(version.collection) ?? 0, before.revision));
        byId.set(version.id, version);
      }
    },
    writeTo(line, previous) {
      const placed: Placed[] = [];
      line.begin({ sequence: previous + commits, previous });
      for (const name of sequences) {
        const records = [...(changed.get(name)?.values() ?? [])];
        if (records.length === 0) continue;
        line.sequence(name, Number(records[0]!.id));
        for (const version of records) placed.push([version, line.add(version.json!.text)]);
        changed.delete(name);
      }
      if (changed.size > 0) line.operations();
      for (const [collection, revision] of floors) {
        const floor = { collection, id: "", revision, json: undefined };
        placed.push([floor, line.add(operationText(floor))]);
      }
      for (const byId of changed.values())
        for (const version of byId.values()) placed.push([version, line.add(operationText(version))]);
      line.end();
      return placed;
    },
    done: () => new Promise((durable, failed) => void waiters.push({ durable, failed })),
  };
}
