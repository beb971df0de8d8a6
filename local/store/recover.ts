/** Opens a store from its files: reads them, checks them against each other, removes a torn end, or creates a new store. */
import { basename } from "node:path";
import type { Log } from "../../lib/kit/platform.ts";
import type { LostRecords } from "../../lib/store/faults.ts";
import { type Catalog, newCatalog, readCatalog } from "./catalog.ts";
import {
  temporaryPath,
  type Files,
  type Listing,
  makeListing,
  makeDurableFolder,
  type Paths,
  readBytes,
  replaceFile,
} from "./files.ts";
import { StoreDamaged } from "./journal_format.ts";
import type { PendingTakeover } from "./journal.ts";
import { OwnershipLost, renewFile, requireUntouched, claimJournal } from "./ownership.ts";
import { newSupersededRecords, type SupersededRecords } from "./superseded_records.ts";
import { type LastSegment, newReplay } from "./replay.ts";
import { createSegment, JOURNAL_FORMAT, openSegment, type Segment } from "./segment.ts";
import type { State } from "./state_file.ts";
import { SyncFailed, wrapSyncError } from "./sync_failure.ts";
import { isUsed } from "./segment_uses.ts";

/** Dependencies of recovery. */
export interface RecoverParts {
  files: Files;
  paths: Paths;
  /** Names of the append-only collections, whose ids count from 1. */
  sequences: readonly string[];
  /** The state file, if there is one. */
  readState(): Promise<State | null>;
  now(): number;
  newId(): string;
}

/** A store's files after they were read and checked against each other. */
export interface ExaminedStore {
  catalog: Catalog;
  listing: Listing;
  /** Open files by number. */
  segments: Map<number, Segment>;
  nextFile(): number;
  sealed: Segment[];
  /** Sealed segments that were not read, since the catalog file covers them. */
  unread: Set<Segment>;
  /** Newest records that may be missing; null: none. */
  lost: LostRecords | null;
  /** True if the catalog file covers all the sealed segments as they are. */
  covered: boolean;
  /** Superseded records of files that this process begins. */
  superseded: SupersededRecords;
  readonly last: LastSegment | undefined;
  /** The store's id and the number of its last commit. */
  store: string | undefined;
  sequence: number;
}

/** A store whose files are ready to be written. */
export interface RecoveredStore {
  store: string;
  active: Segment;
  /** A failed takeover, which is tried again before the next write. */
  pending: PendingTakeover | undefined;
}

/** Reads the files of a store without changing them. Errors: `StoreDamaged`; those of the file system. */
export async function examine({ files, paths, sequences, readState }: RecoverParts): Promise<ExaminedStore> {
  await makeDurableFolder(files, paths.folder);
  const names = await files.names(paths.folder);
  const listing = makeListing(paths, names);
  const state = await readState();
  const segments = new Map<number, Segment>();
  const superseded = newSupersededRecords();
  const onSuperseded = (file: number, collection: string, id: string): void => {
    const segment = segments.get(file);
    if (segment) segment.live--;
    superseded.add(file, collection, id);
  };
  // The sealed files have the numbers of their segments, and the journal the next one.
  let lastFile = listing.segments.length + 1;
  const nextFile = (): number => ++lastFile;
  try {
    const loadedCatalog = newCatalog(sequences, onSuperseded);
    const first = listing.segments[0];
    const stored =
      first === undefined
        ? undefined
        : await readCatalog(files, paths.catalog, await readStoreId(files, paths.segment(first)), loadedCatalog);
    // A catalog file that cannot be used may have filled a part of its catalog.
    const catalog = stored ? loadedCatalog : newCatalog(sequences, onSuperseded);
    const replay = newReplay({ files, catalog, segments, stored, nextFile });
    const sealed: Segment[] = [];
    for (const number of listing.segments) sealed.push(await replay.sealed(paths.segment(number), sealed.length + 1));
    const hasJournal = names.includes(basename(paths.journal));
    const last = hasJournal ? await replay.active(paths.journal, sealed.length + 1) : undefined;
    const { store, sequence, unread, covered } = replay;
    const isJournalMissing = !last && sealed.length > 0 && !(await isSealing(files, paths, sealed.at(-1)!));
    // After a known loss the state file may show a later commit than the journal: a crash came before it was written again.
    const isLossKnown =
      isJournalMissing || (last?.segment.header.lost !== undefined && sequence === last.segment.header.after);
    if (state) checkState(state, { store, sequence, last }, paths, isLossKnown);
    const describeLoss = (): LostRecords => ({
      reason: `${basename(paths.journal)}, the file with the newest records after commit ${sequence}, is missing`,
      left: Object.fromEntries(sequences.map((name) => [name, catalog.size(name)])),
    });
    const lost = isJournalMissing ? describeLoss() : (last?.segment.header.lost ?? null);
    return { lost, catalog, listing, segments, nextFile, sealed, unread, covered, superseded, last, store, sequence };
  } catch (error) {
    await closeAll(files, segments);
    throw error;
  }
}

/** Checks that a crash interrupted a seal between its two renames: the next file still has its temporary name. */
async function isSealing(files: Files, paths: Paths, newest: Segment): Promise<boolean> {
  const temporary = temporaryPath(paths.journal);
  if (!files.stat(temporary)) return false;
  const next = await openSegment(files, temporary, 0, "read").catch(() => undefined);
  if (!next) return false;
  await files.close(next.fd);
  const { store, segment, after } = next.header;
  return store === newest.header.store && segment === newest.header.segment + 1 && after === newest.last;
}

/** Reads the id of the store from a journal file. Only its header is read, so it needs no file number: 0. */
async function readStoreId(files: Files, path: string): Promise<string> {
  const { fd, header } = await openSegment(files, path, 0, "read");
  await files.close(fd);
  return header.store;
}

/** Closes all files that no read is using. */
export const closeAll = (files: Files, segments: ReadonlyMap<number, Segment>): Promise<unknown> =>
  Promise.allSettled([...segments.values()].filter((segment) => !isUsed(segment)).map(({ fd }) => files.close(fd)));

/**
 * Makes the files ready for writes: takes the journal over or begins its next file, and removes temporary files of a crash. If the
 * takeover fails, for example on a full disk, the store can be read, and the takeover is tried again later.
 */
export async function recoverFiles(parts: RecoverParts, examined: ExaminedStore, log: Log): Promise<RecoveredStore> {
  const { files, paths } = parts;
  const { last, listing } = examined;
  const store = examined.store ?? parts.newId();
  let active = last?.segment;
  let pending: PendingTakeover | undefined;
  if (last && active) {
    const finish = prepareTakeover(parts, examined, last, log);
    try {
      active = await finish();
    } catch (cause) {
      if (cause instanceof OwnershipLost || cause instanceof SyncFailed) throw cause;
      pending = { cause, finish };
    }
  }
  active ??= await beginJournal(parts, examined, store);
  await files.syncFolder(paths.folder);
  for (const leftover of listing.leftovers) await files.remove(leftover);
  return { store, active, pending };
}

/** Returns a function that takes the active file over. It may be called again after a fault, and then continues. */
function prepareTakeover(
  { files, paths }: RecoverParts,
  { segments, listing }: ExaminedStore,
  { segment, end }: LastSegment,
  log: Log,
): () => Promise<Segment> {
  /** Length with the torn end, if there is one. */
  const { bytes } = segment;
  let isClaimed = false;
  let isTornEndSaved = end === bytes;
  let renewed: Segment | undefined;
  return async () => {
    segment.bytes = end;
    if (!isClaimed) await claimJournal(files, paths.journal, segment, bytes);
    // On a retry, the file must still be as the first attempt left it.
    else if (!renewed) requireUntouched(files, paths.journal, segment);
    isClaimed = true;
    if (!isTornEndSaved) {
      const torn = await saveTornEnd(files, paths, readBytes(files, segment.fd, bytes - end, end), listing.torn);
      log.warn("the journal's last write was torn; it was set aside and cut", { file: paths.journal, set_aside: torn });
      isTornEndSaved = true;
    }
    if (!renewed) {
      renewed = await renewFile(files, paths.journal, segment);
      segments.set(segment.file, renewed);
      await files.close(segment.fd);
    }
    await wrapSyncError(files.syncFolder(paths.folder));
    return renewed;
  };
}

/** Requires that the state file is of the same store as the journal, and not of a later commit unless a loss is known. */
function checkState(
  state: State,
  { store, sequence, last }: Pick<ExaminedStore, "store" | "sequence" | "last">,
  { state: path, journal }: Paths,
  isLossKnown: boolean,
): void {
  if (store === undefined)
    throw new StoreDamaged(
      path,
      0,
      `its journal, ${journal}, is missing`,
      `Restore it, or move ${path} away to begin with an empty store.`,
    );
  if (state.store !== store)
    throw new StoreDamaged(
      path,
      0,
      `it belongs to another store than ${journal}`,
      "Put back the file that belongs next to it.",
    );
  if (state.sequence > sequence && !isLossKnown)
    throw new StoreDamaged(
      path,
      0,
      `it shows commit ${state.sequence}, but ${journal} ends with ${sequence}, at byte ${last?.end ?? 0}`,
      "The journal is older than this file, was cut, or is damaged there: copy the folder, then restore the journal or a backup.",
    );
}

/** Creates the journal's first file, or the next one if a crash came after a segment was sealed. */
async function beginJournal(
  { files, paths, now }: RecoverParts,
  examined: ExaminedStore,
  store: string,
): Promise<Segment> {
  const { segments, sealed, superseded, nextFile, sequence, lost } = examined;
  const header = {
    format: JOURNAL_FORMAT,
    store,
    segment: sealed.length + 1,
    after: sequence,
    written_at: new Date(now()).toISOString(),
    // Recorded, so that a crash before the next write does not hide the loss.
    ...(lost && { lost }),
  };
  const segment = await createSegment(files, paths.journal, nextFile(), header as Segment["header"]);
  segments.set(segment.file, segment);
  superseded.begin(segment.file);
  await files.rename(temporaryPath(paths.journal), paths.journal);
  return segment;
}

/** Writes a torn end durably to a file with the number after those of earlier torn ends; returns its path. */
async function saveTornEnd(files: Files, paths: Paths, torn: Buffer, usedNumbers: readonly number[]): Promise<string> {
  const path = paths.torn((usedNumbers.at(-1) ?? 0) + 1);
  await replaceFile(files, path, [torn]);
  return path;
}
