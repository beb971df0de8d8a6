/** Opens the store of the local program: a journal, which is the source of truth, and `state.json`, derived from it. */
import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Adapter, Low } from "lowdb";
import type { Log } from "../../lib/kit/platform.ts";
import { runWithTimeLimit } from "../../lib/kit/time_limit.ts";
import { type Layout, LAYOUT } from "../../lib/store/layout.ts";
import { MOVE_STATE_KEY } from "../../lib/store/engine/move_state.ts";
import { serial } from "../../lib/store/engine/serial.ts";
import { soleWriterBulkAccess } from "../../lib/store/engine/sole_writer_bulk_access.ts";
import { makeReads, type Version } from "../../lib/store/engine/view.ts";
import { type Store, StoreUnavailable } from "../../lib/store/store.ts";
import { packLocation } from "./catalog.ts";
import { type Files, nodeFiles, type Paths, statePaths } from "./files.ts";
import { newJournal } from "./journal.ts";
import { newMaintenance } from "./maintenance.ts";
import { newReader } from "./reader.ts";
import { newRecentRecords } from "./recent_records.ts";
import { newAccepted, newDurable } from "./records.ts";
import { OwnershipLost } from "./ownership.ts";
import { closeAll, examine, type ExaminedStore, recoverFiles, type RecoveredStore } from "./recover.ts";
import { openStateFile, type Schedule, type State, stateAdapter } from "./state_file.ts";
import { waitUntilUnused } from "./segment_uses.ts";
import { newWrittenBytes } from "./written_bytes.ts";
import { dumpFiles, removeStore } from "./bulk_access.ts";

/** Options of a file store. */
export interface FileStoreOptions {
  /** The state file, `data/state.json`; the store's other files are next to it, and the folder is created. */
  path: string;
  log: Log;
  layout?: Layout;
  /** A journal file that would become larger is sealed, and a new one begun; 32 MiB by default. */
  segmentBytes?: number;
  /** Bytes of the newest writes that stay in memory; 16 MiB by default. */
  memoryBytes?: number;
  /** Milliseconds since the epoch, UTC. */
  now?: () => number;
  /** Makes the random id of a new store. */
  newId?: () => string;
  /** Runs the write of the state file later; by default a timer that keeps no process alive. */
  schedule?: Schedule;
  /** Called when a sync failed: the store then accepts no writes until a restart. */
  onReadOnly?: (() => void) | undefined;
  files?: Files;
}

/** Status of a file store. */
export interface FileStoreStatus {
  /** The number of the last durable commit. */
  sequence: number;
  /** Bytes of all journal files, and their number. */
  bytes: number;
  segments: number;
  /** Reason for which writes fail at present; absent while they succeed. */
  failure?: string;
}

/** A store on files, with its status for operators. */
export interface FileStore extends Store {
  status(): FileStoreStatus;
  /** Removes superseded records from all sealed journal files; the store itself does so where half of a file is superseded. */
  compact(): Promise<void>;
}

const SEGMENT_BYTES = 32 * 1024 * 1024;
/** More than the log grows between two checkpoints, so that making a checkpoint reads from memory. */
const MEMORY_BYTES = 16 * 1024 * 1024;
/** Share of the memory bytes, in characters, for records that were read from files and are cached in V8's heap. */
const RECENT_SHARE = 1 / 32;
/** Attempts to open a store to which another process still writes. */
const TRIES = 3;
/** Minimum time between two seals of the active file while an erasure waits for a damaged file. */
const SEAL_AGAIN_MS = 12 * 3600 * 1000;

/** Time for which a close waits for reads under way. */
const LAST_READS_MS = 2000;

const unrefTimer: Schedule = (run, milliseconds) => {
  const timer = setTimeout(run, milliseconds).unref();
  return () => clearTimeout(timer);
};

/**
 * Opens the store at a path, or creates it. The caller must hold the lock. Errors: `StoreDamaged` when files are damaged or
 * contradict each other, with nothing changed; `OwnershipLost` when another process still writes to them.
 */
export async function openFileStore(options: FileStoreOptions): Promise<FileStore> {
  const { layout = LAYOUT, files = nodeFiles, now = Date.now, newId = randomUUID } = options;
  const paths = statePaths(options.path);
  const adapter = stateAdapter(files, paths);
  const low = new Low<State | null>(adapter as Adapter<State | null>, null);
  const readState = async (): Promise<State | null> => {
    await low.read();
    return low.data;
  };
  const parts = { files, paths, sequences: layout.sequences, readState, now, newId };
  const resolved = { ...options, layout, files, now };
  for (let tries = 1; ; tries++) {
    const examined = await examine(parts);
    try {
      const recovered = await recoverFiles(parts, examined, options.log);
      return await compose(resolved, paths, low as Low<State>, () => adapter.bytes, examined, recovered);
    } catch (error) {
      await closeAll(files, examined.segments);
      // A process that wrote during the read cannot write any more, since the store was taken over: try again.
      if (!(error instanceof OwnershipLost) || tries === TRIES) throw error;
    }
  }
}

type ComposeOptions = FileStoreOptions & Required<Pick<FileStoreOptions, "layout" | "files" | "now">>;

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
  }: ComposeOptions,
  paths: Paths,
  low: Low<State>,
  bytes: () => number,
  examined: ExaminedStore,
  { store, active, pending }: RecoveredStore,
): Promise<FileStore> {
  const { sequences } = layout;
  const { catalog, segments, sealed, superseded, nextFile } = examined;

  const maintenance = newMaintenance({ ...examined, files, paths, log, sequences, now });
  const writtenBytes = newWrittenBytes(memoryBytes);
  const reader = newReader(files, (file) => segments.get(file)!, sequences, maintenance.recordDamage, writtenBytes);
  const state = openStateFile({ low, layout, schedule, log, bytes }, store, active.last);
  for (const collection of Object.values(layout.blocks).flat())
    for (const version of await reader.readAll(collection, catalog.page(collection, { limit: Infinity })))
      state.add(version);
  const durable = newDurable(catalog, reader, state, newRecentRecords(memoryBytes * RECENT_SHARE));
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
    onWrite: (bytes, { file }, offset) => writtenBytes.add(packLocation(file, offset), bytes),
    onDurable(version, segment, offset) {
      // A version without value and id is no deletion: it only states that revisions were used.
      if (version.json) {
        segment.puts++;
        segment.live++;
      } else if (version.id !== "") segment.deletions++;
      durable.add(version, packLocation(segment.file, offset));
      accepted.markDurable(version);
    },
    onBatch: () => state.changed(journal.active.last),
    onSealed(segment, next) {
      segments.set(next.file, next);
      superseded.begin(next.file);
      maintenance.addSealed(segment);
    },
    onFailed({ message, isTransient, cause }) {
      log.error("the store takes no writes", { reason: message });
      // A removed journal can be saved only while this process has it open, so it must not exit.
      if (!isTransient && !(cause instanceof OwnershipLost)) onReadOnly?.();
    },
    onRecovered: () => accepted.reset(),
    onWritten: () => log.info("the store takes writes again"),
  });
  const commit = (writes: readonly Version[]): Promise<void> => {
    if (journal.failure) throw journal.failure;
    if (writes.length === 0) return journal.durable();
    accepted.add(writes);
    return journal.append(writes);
  };
  const bulkAccess = soleWriterBulkAccess({
    storedMoveState: await durable.version(MOVE_STATE_KEY.collection, MOVE_STATE_KEY.id),
    persist: commit,
    clock: { now },
    // A dump has the records as of one commit.
    atOneMoment: true,
    dump: () => dumpFiles({ files, paths, sequences }),
    clear: () => (closing ??= close()).then(() => removeStore(files, paths)),
  });
  /** True while `inspect` runs: it tries to write again without the pause after a failure. */
  let isInspected = false;
  const recoverOrFindWriteError = async (): Promise<Error | undefined> =>
    (await journal.recover(isInspected)) ?? bulkAccess.findWriteError();
  const transactions = serial(accepted, {
    persist: commit,
    findWriteError: () => (journal.failure ? recoverOrFindWriteError() : bulkAccess.findWriteError()),
    yieldTurn: nextTurn,
  });
  let freeBytes = await files.freeBytes(paths.folder).catch(() => null);
  let sealedAt = -Infinity;
  await state.write();
  maintenance.wake();

  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await transactions.close();
    await journal.waitUntilIdle();
    await maintenance.stop();
    await state.stop();
    if (await journal.end()) await state.write();
    const readsEnded = Promise.all([...segments.values()].map(waitUntilUnused));
    await runWithTimeLimit(() => readsEnded, LAST_READS_MS).catch(() => undefined);
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
    bulk: bulkAccess.createBulkAccess(transactions.transact),
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
      // The active file is sealed only if compaction succeeds at all.
      await maintenance.compact();
      // The absolute value, so that a clock that was set far back does not prevent the seal.
      const isDue = Math.abs(now() - sealedAt) >= SEAL_AGAIN_MS;
      if (isDue) await journal.seal();
      const damagedFiles = await maintenance.compact();
      if (damagedFiles.length === 0) return void (sealedAt = -Infinity);
      if (isDue) sealedAt = now();
      throw new Error(
        `superseded records stay in ${damagedFiles.join(", ")}, which is damaged; restore it from a copy`,
      );
    },
    async inspect() {
      mustBeOpen();
      // An empty transaction is enough to try again.
      isInspected = true;
      if (journal.failure) await transactions.transact(() => undefined).catch(() => undefined);
      isInspected = false;
      freeBytes = await files.freeBytes(paths.folder).catch(() => null);
      await maintenance.inspect();
    },
    faults: () => ({
      writes: journal.failure?.message ?? null,
      damaged: maintenance.listDamage(),
      lost: examined.lost,
      compaction: maintenance.failure() ?? null,
      free_bytes: freeBytes,
    }),
  };
}
