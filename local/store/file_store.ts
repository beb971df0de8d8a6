/** The store of the local program: a journal that is the truth, and `state.json`, its readable snapshot. */
import { randomUUID } from "node:crypto";
import type { Log } from "../../lib/kit/platform.ts";
import { type Layout, LAYOUT } from "../../lib/store/collections.ts";
import { serial } from "../../lib/store/engine/serial.ts";
import { readsOf, type Version } from "../../lib/store/engine/view.ts";
import { type Store, StoreUnavailable } from "../../lib/store/store.ts";
import { placeOf } from "./catalog.ts";
import { type Files, nodeFiles, type Paths, pathsOf } from "./files.ts";
import { newJournal } from "./journal.ts";
import { newMaintenance } from "./maintenance.ts";
import { newReader } from "./reader.ts";
import { type Durable, newAccepted, newDurable } from "./records.ts";
import { examine, type Found, mend, type Mended } from "./recover.ts";
import type { Replayed } from "./replay.ts";
import {
  blocksOf,
  checkProduct,
  keepSnapshot,
  type Schedule,
  snapshotAdapter,
  type SnapshotAdapter,
  STATE_FORMAT,
} from "./snapshot.ts";

/** How a file store is opened. */
export interface FileStoreOptions {
  /** The state file, `data/state.json`; the store's other files lie beside it, and the folder is made. */
  path: string;
  log: Log;
  layout?: Layout;
  /** A journal file that would grow beyond this is sealed and a new one begun; 32 MiB by default. */
  segmentBytes?: number;
  /** Milliseconds since the epoch, UTC. */
  now?: () => number;
  /** Makes the random id of a new store. */
  newId?: () => string;
  /** Runs the write of the snapshot later; by default a timer that keeps no process alive. */
  schedule?: Schedule;
  files?: Files;
}

/** What a file store is doing. */
export interface FileStoreStatus {
  /** The number of the last durable commit. */
  sequence: number;
  /** Bytes of all journal files, and how many files. */
  bytes: number;
  segments: number;
  /** Why nothing is written any more; absent while all is well. */
  failure?: string;
}

/** A store on files, with what its keeper needs to know. */
export interface FileStore extends Store {
  /** What the journal held beyond the snapshot at the start. */
  readonly replayed: Replayed;
  /** Where a torn end of the journal was set aside at the start. */
  readonly torn: string | undefined;
  status(): FileStoreStatus;
  /** Takes out of the sealed journal files what is superseded. It happens by itself where half of a file is. */
  compact(): Promise<void>;
}

const SEGMENT_BYTES = 32 * 1024 * 1024;

const unrefTimer: Schedule = (run, milliseconds) => {
  const timer = setTimeout(run, milliseconds).unref();
  return () => clearTimeout(timer);
};

/**
 * Opens the store at a path, or makes it. One process at a time: the caller holds the lock. Errors: `StoreDamaged` when
 * the files do not agree with themselves or each other; nothing is changed then.
 */
export async function openFileStore(options: FileStoreOptions): Promise<FileStore> {
  const { layout = LAYOUT, files = nodeFiles, now = Date.now, newId = randomUUID } = options;
  const paths = pathsOf(options.path);
  const adapter = snapshotAdapter(files, paths.state);
  const parts = { files, paths, sequences: layout.sequences, readSnapshot: () => adapter.read(), now, newId };
  const found = await examine(parts);
  const { replay, snapshot } = found;
  try {
    const reader = newReader(files, (file) => replay.segments.get(file)!);
    const durable = newDurable(replay.catalog, reader, Object.values(layout.blocks).flat());
    if (snapshot) checkProduct(layout, durable.hot, snapshot, paths.state);
    const mended = await mend(parts, found);
    return await compose({ ...options, layout, files, now }, paths, adapter, found, mended, durable);
  } catch (error) {
    await replay.close();
    throw error;
  }
}

type Composed = FileStoreOptions & Required<Pick<FileStoreOptions, "layout" | "files" | "now">>;

async function compose(
  { layout, files, now, log, schedule = unrefTimer, segmentBytes = SEGMENT_BYTES }: Composed,
  paths: Paths,
  adapter: SnapshotAdapter,
  { replay, sealed }: Found,
  { store, active, torn }: Mended,
  durable: Durable,
): Promise<FileStore> {
  const { sequences } = layout;
  const { catalog, segments, unindexed, nextFile } = replay;
  if (torn)
    log.warn("the journal's last write was torn; it was set aside and cut", { file: paths.journal, set_aside: torn });

  const accepted = newAccepted(
    durable,
    sequences.map((name) => [name, catalog.size(name)]),
  );
  const maintenance = newMaintenance({
    files,
    paths,
    log,
    catalog,
    sequences,
    segments,
    sealed,
    unindexed,
    now,
    nextFile,
  });
  const journal = newJournal({
    files,
    paths,
    active,
    segmentBytes,
    now,
    nextFile,
    onDurable({ versions, offsets }, segment, start) {
      segment.operations += versions.length;
      segment.live += versions.length;
      versions.forEach((version, index) => durable.enter(version, placeOf(segment.file, start + offsets[index]!)));
      accepted.settle(versions);
      keeper.changed();
    },
    onSealed(segment, next) {
      segments.set(next.file, next);
      sealed.push(segment);
      unindexed.add(segment);
      maintenance.wake();
    },
    onFailed(error) {
      log.error("the store is read-only until a restart", { error });
    },
  });
  const keeper = keepSnapshot(
    adapter,
    () => ({ format: STATE_FORMAT, store, sequence: journal.active.last, ...blocksOf(layout, durable.hot) }),
    schedule,
    log,
  );
  const keep = (writes: readonly Version[]): Promise<void> => {
    if (journal.failure) throw journal.failure;
    if (writes.length === 0) return journal.durable();
    accepted.add(writes);
    return journal.append(writes);
  };
  const transactions = serial(accepted, { keep, failure: () => journal.failure });
  await keeper.write();
  maintenance.wake();

  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await transactions.close();
    await journal.idle();
    await maintenance.stop();
    await keeper.stop();
    if (!journal.failure) await keeper.write();
    await replay.close();
  };
  const mustBeOpen = (): void => {
    if (closing) throw new StoreUnavailable("the store is closed");
  };

  return {
    ...readsOf({
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
    close: () => (closing ??= close()),
    replayed: replay.replayed(),
    torn,
    status() {
      let bytes = 0;
      for (const segment of [...sealed, journal.active]) bytes += segment.bytes;
      const { failure } = journal;
      return {
        sequence: journal.active.last,
        bytes,
        segments: sealed.length + 1,
        ...(failure && { failure: failure.message }),
      };
    },
    compact: maintenance.compact,
  };
}
