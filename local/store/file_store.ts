/** The store of the local program: a journal that is the truth, and `state.json`, which shows where it stands. */
import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Adapter, Low } from "lowdb";
import type { Log } from "../../lib/kit/platform.ts";
import { runWithTimeLimit } from "../../lib/kit/time_limit.ts";
import { type Layout, LAYOUT } from "../../lib/store/layout.ts";
import { MARK_KEY } from "../../lib/store/engine/mark.ts";
import { serial } from "../../lib/store/engine/serial.ts";
import { soleWhole } from "../../lib/store/engine/sole_whole.ts";
import { makeReads, type Version } from "../../lib/store/engine/view.ts";
import { type Store, StoreUnavailable } from "../../lib/store/store.ts";
import { packPlace } from "./catalog.ts";
import { type Files, nodeFiles, type Paths, statePaths } from "./files.ts";
import { newJournal } from "./journal.ts";
import { newMaintenance } from "./maintenance.ts";
import { newReader } from "./reader.ts";
import { newRecent } from "./recent.ts";
import { newAccepted, newDurable } from "./records.ts";
import { NotOurs } from "./ownership.ts";
import { closeAll, examine, type Found, mend, type Mended } from "./recover.ts";
import { keepState, type Schedule, type State, stateAdapter } from "./state_file.ts";
import { whenUnused } from "./uses.ts";
import { newWrittenBytes } from "./written_bytes.ts";
import { dumpFiles, removeStore } from "./whole.ts";

/** How a file store is opened. */
export interface FileStoreOptions {
  /** The state file, `data/state.json`; the store's other files are next to it, and the folder is created. */
  path: string;
  log: Log;
  layout?: Layout;
  /** A journal file that would grow beyond this is sealed and a new one begun; 32 MiB by default. */
  segmentBytes?: number;
  /** How much of what was written last stays in memory; 16 MiB by default. */
  memoryBytes?: number;
  /** Milliseconds since the epoch, UTC. */
  now?: () => number;
  /** Makes the random id of a new store. */
  newId?: () => string;
  /** Runs the write of the state file later; by default a timer that keeps no process alive. */
  schedule?: Schedule;
  /** Called when a sync failed: only a restart makes the store take writes again. */
  onReadOnly?: (() => void) | undefined;
  files?: Files;
}

/** Status of a file store. */
export interface FileStoreStatus {
  /** The number of the last durable commit. */
  sequence: number;
  /** Bytes of all journal files, and how many files. */
  bytes: number;
  segments: number;
  /** Why nothing is written at present; absent while all is well. */
  failure?: string;
}

/** A store on files, with what its keeper needs to know. */
export interface FileStore extends Store {
  status(): FileStoreStatus;
  /** Takes out of the sealed journal files what is superseded. It happens by itself where half of a file is. */
  compact(): Promise<void>;
}

const SEGMENT_BYTES = 32 * 1024 * 1024;
/** More than the log grows by between two checkpoints: what they are made of is in memory then. */
const MEMORY_BYTES = 16 * 1024 * 1024;
/** The part of it, in characters, that records read from the files may take in V8's heap. */
const RECENT_SHARE = 1 / 32;
const TRIES = 3;
/** While an erasure waits for a damaged file, the file being written is not sealed for it more often. */
const SEAL_AGAIN_MS = 12 * 3600 * 1000;

/** A close waits for reads that are under way, and not for those that never end. */
const LAST_READS_MS = 2000;

const unrefTimer: Schedule = (run, milliseconds) => {
  const timer = setTimeout(run, milliseconds).unref();
  return () => clearTimeout(timer);
};

/**
 * Opens the store at a path, or makes it. One process at a time: the caller holds the lock. Errors: `StoreDamaged` when
 * the files do not agree with themselves or each other; nothing is changed then. `NotOurs` when somebody goes on writing to
 * them.
 */
export async function openFileStore(options: FileStoreOptions): Promise<FileStore> {
  const { layout = LAYOUT, files = nodeFiles, now = Date.now, newId = randomUUID } = options;
  const paths = statePaths(options.path);
  const adapter = stateAdapter(files, paths.state);
  const low = new Low<State | null>(adapter as Adapter<State | null>, null);
  const readState = async (): Promise<State | null> => {
    await low.read();
    return low.data;
  };
  const parts = { files, paths, sequences: layout.sequences, readState, now, newId };
  const given = { ...options, layout, files, now };
  for (let tries = 1; ; tries++) {
    const found = await examine(parts);
    try {
      const mended = await mend(parts, found, options.log);
      return await compose(given, paths, low as Low<State>, () => adapter.bytes, found, mended);
    } catch (error) {
      await closeAll(files, found.segments);
      // A process that wrote to it during the read writes no more: the store was taken over.
      if (!(error instanceof NotOurs) || tries === TRIES) throw error;
    }
  }
}

type Composed = FileStoreOptions & Required<Pick<FileStoreOptions, "layout" | "files" | "now">>;

async function compose(
  {
    layout,
    files,
    now,
    log,
    schedule = unrefTimer,
    segmentBytes = SEGMENT_BYTES,
    memoryBytes = MEMORY_BYTES,
    onReadOnly,
  }: Composed,
  paths: Paths,
  low: Low<State>,
  bytes: () => number,
  found: Found,
  { store, active, pending }: Mended,
): Promise<FileStore> {
  const { sequences } = layout;
  const { catalog, segments, sealed, remains, nextFile } = found;

  const maintenance = newMaintenance({ ...found, files, paths, log, sequences, now });
  const written = newWrittenBytes(memoryBytes);
  const reader = newReader(files, (file) => segments.get(file)!, sequences, maintenance.damaged, written);
  const state = keepState({ low, layout, schedule, log, bytes }, store, active.last);
  for (const collection of Object.values(layout.blocks).flat())
    for (const version of await reader.readAll(collection, catalog.page(collection, { limit: Infinity })))
      state.enter(version);
  const durable = newDurable(catalog, reader, state, newRecent(memoryBytes * RECENT_SHARE));
  const accepted = newAccepted(durable, catalog, sequences);
  const journal = newJournal({
    files,
    paths,
    active,
    sequences,
    segmentBytes,
    now,
    nextFile,
    pending,
    onWrite: (bytes, { file }, offset) => written.add(packPlace(file, offset), bytes),
    onDurable(version, segment, offset) {
      if (version.json) {
        segment.puts++;
        segment.live++;
      } else if (version.id !== "") segment.deletions++;
      durable.enter(version, packPlace(segment.file, offset));
      accepted.settle(version);
    },
    onBatch: () => state.changed(journal.active.last),
    onSealed(segment, next) {
      segments.set(next.file, next);
      remains.begin(next.file);
      maintenance.sealed(segment);
    },
    onFailed({ message, passing, cause }) {
      log.error("the store takes no writes", { reason: message });
      // A journal that was removed can be saved as long as this process has it open.
      if (!passing && !(cause instanceof NotOurs)) onReadOnly?.();
    },
    onRecovered: () => accepted.reset(),
    onWritten: () => log.info("the store takes writes again"),
  });
  const keep = (writes: readonly Version[]): Promise<void> => {
    if (journal.failure) throw journal.failure;
    if (writes.length === 0) return journal.durable();
    accepted.add(writes);
    return journal.append(writes);
  };
  const sole = soleWhole({
    found: await durable.version(MARK_KEY.collection, MARK_KEY.id),
    keep,
    clock: { now },
    atOneMoment: true,
    dump: () => dumpFiles({ files, paths, sequences }),
    clear: () => (closing ??= close()).then(() => removeStore(files, paths)),
  });
  let isInspected = false;
  const whyRefused = async (): Promise<Error | undefined> => (await journal.recover(isInspected)) ?? sole.refusal();
  const transactions = serial(accepted, {
    keep,
    failure: () => (journal.failure ? whyRefused() : sole.refusal()),
    nextTurn,
  });
  let freeBytes = await files.freeBytes(paths.folder).catch(() => null);
  let sealedAt = -Infinity;
  await state.write();
  maintenance.wake();

  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await transactions.close();
    await journal.idle();
    await maintenance.stop();
    await state.stop();
    if (await journal.end()) await state.write();
    const ended = Promise.all([...segments.values()].map(whenUnused));
    await runWithTimeLimit(() => ended, LAST_READS_MS).catch(() => undefined);
    await closeAll(files, segments);
  };
  const mustBeOpen = (): void => {
    if (closing) throw new StoreUnavailable("the store is closed");
  };

  return {
    ...makeReads({
      versions(keys) {
        mustBeOpen();
        return durable.versions(keys);
      },
      list(collection, options) {
        mustBeOpen();
        return durable.list(collection, options);
      },
    }),
    transact: transactions.transact,
    whole: sole.over(transactions.transact),
    others: transactions.others,
    close: () => (closing ??= close()),
    status() {
      let size = 0;
      for (const segment of [...sealed, journal.active]) size += segment.bytes;
      const { failure } = journal;
      return {
        sequence: journal.active.last,
        bytes: size,
        segments: sealed.length + 1,
        ...(failure && { failure: failure.message }),
      };
    },
    async compact() {
      await maintenance.compact();
    },
    async expunge() {
      // A file is sealed for it only when compaction can run.
      await maintenance.compact();
      const isDue = Math.abs(now() - sealedAt) >= SEAL_AGAIN_MS;
      if (isDue) await journal.seal();
      const left = await maintenance.compact();
      if (left.length === 0) return void (sealedAt = -Infinity);
      if (isDue) sealedAt = now();
      throw new Error(`superseded records stay in ${left.join(", ")}, which is damaged; restore it from a copy`);
    },
    async inspect() {
      mustBeOpen();
      isInspected = true;
      if (journal.failure) await transactions.transact(() => undefined).catch(() => undefined);
      isInspected = false;
      freeBytes = await files.freeBytes(paths.folder).catch(() => null);
      await maintenance.inspect();
    },
    faults: () => ({
      writes: journal.failure?.message ?? null,
      damaged: maintenance.damage(),
      lost: found.lost,
      compaction: maintenance.failure() ?? null,
      free_bytes: freeBytes,
    }),
  };
}
