/** Brings a store back from its files: reads them, checks them against each other, cuts a torn end, or creates a new store. */
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
import type { Pending } from "./journal.ts";
import { NotOurs, renewFile, requireUntouched, claimJournal } from "./ownership.ts";
import { newRemains, type Remains } from "./remains.ts";
import { type LastSegment, newReplay } from "./replay.ts";
import { createSegment, JOURNAL_FORMAT, openSegment, type Segment } from "./segment.ts";
import type { State } from "./state_file.ts";
import { SyncFailed, synced } from "./sync_failure.ts";
import { isUsed } from "./uses.ts";

/** Dependencies of recovery. */
export interface RecoverParts {
  files: Files;
  paths: Paths;
  sequences: readonly string[];
  /** The state file, if there is one. */
  readState(): Promise<State | null>;
  now(): number;
  newId(): string;
}

/** A store's files as they were found, read and agreeing with each other. */
export interface Found {
  catalog: Catalog;
  listing: Listing;
  /** The open files by their numbers. */
  segments: Map<number, Segment>;
  nextFile(): number;
  sealed: Segment[];
  /** Sealed segments that were not read, since the catalog file covers them. */
  unread: Set<Segment>;
  /** The newest records that may be missing. */
  lost: LostRecords | null;
  /** True if the catalog file covers all the sealed segments as they are. */
  covered: boolean;
  /** Superseded records in files that are begun from here on. */
  remains: Remains;
  readonly last: LastSegment | undefined;
  /** The store's id and the number of its last commit. */
  store: string | undefined;
  sequence: number;
}

/** A store's files, ready to be written. */
export interface Mended {
  store: string;
  active: Segment;
  /** A failed takeover, tried again before anything is written. */
  pending: Pending | undefined;
}

/** Reads the files of a store, and changes none. Errors: `StoreDamaged`; the file system's own. */
export async function examine({ files, paths, sequences, readState }: RecoverParts): Promise<Found> {
  await makeDurableFolder(files, paths.folder);
  const names = await files.names(paths.folder);
  const listing = makeListing(paths, names);
  const state = await readState();
  const segments = new Map<number, Segment>();
  const remains = newRemains();
  const released = (file: number, collection: string, id: string): void => {
    const segment = segments.get(file);
    if (segment) segment.live--;
    remains.note(file, collection, id);
  };
  let lastFile = listing.segments.length + 1;
  const nextFile = (): number => ++lastFile;
  try {
    const filled = newCatalog(sequences, released);
    const first = listing.segments[0];
    const kept =
      first === undefined
        ? undefined
        : await readCatalog(files, paths.catalog, await storeOf(files, paths.segment(first)), filled);
    const catalog = kept ? filled : newCatalog(sequences, released);
    const replay = newReplay({ files, catalog, segments, kept, nextFile });
    const sealed: Segment[] = [];
    for (const number of listing.segments) sealed.push(await replay.sealed(paths.segment(number), sealed.length + 1));
    const hasJournal = names.includes(basename(paths.journal));
    const last = hasJournal ? await replay.active(paths.journal, sealed.length + 1) : undefined;
    const { store, sequence, unread, covered } = replay;
    const isMissing = !last && sealed.length > 0 && !(await isSealing(files, paths, sealed.at(-1)!));
    // A crash may have come before the state file was written again.
    const isFirstStart =
      isMissing || (last?.segment.header.lost !== undefined && sequence === last.segment.header.after);
    if (state) checkState(state, { store, sequence, last }, paths, isFirstStart);
    const missing = (): LostRecords => ({
      reason: `${basename(paths.journal)}, the file with the newest records after commit ${sequence}, is missing`,
      left: Object.fromEntries(sequences.map((name) => [name, catalog.size(name)])),
    });
    const lost = isMissing ? missing() : (last?.segment.header.lost ?? null);
    return { lost, catalog, listing, segments, nextFile, sealed, unread, covered, remains, last, store, sequence };
  } catch (error) {
    await closeAll(files, segments);
    throw error;
  }
}

/** True when a crash came between the two names of a file that was being sealed: its next file lies aside. */
async function isSealing(files: Files, paths: Paths, newest: Segment): Promise<boolean> {
  const aside = temporaryPath(paths.journal);
  if (!files.seen(aside)) return false;
  const next = await openSegment(files, aside, 0, "read").catch(() => undefined);
  if (!next) return false;
  await files.close(next.fd);
  const { store, segment, after } = next.header;
  return store === newest.header.store && segment === newest.header.segment + 1 && after === newest.last;
}

/** The store whose journal a file is of. */
async function storeOf(files: Files, path: string): Promise<string> {
  const { fd, header } = await openSegment(files, path, 0, "read");
  await files.close(fd);
  return header.store;
}

/** Closes every file. */
export const closeAll = (files: Files, segments: ReadonlyMap<number, Segment>): Promise<unknown> =>
  Promise.allSettled([...segments.values()].filter((segment) => !isUsed(segment)).map(({ fd }) => files.close(fd)));

/**
 * Makes what was found ready: takes the journal over, begins its next file, removes what a crash left half written. Without
 * room for a takeover the store is read, and the takeover tried again later.
 */
export async function mend(parts: RecoverParts, found: Found, log: Log): Promise<Mended> {
  const { files, paths } = parts;
  const { last, listing } = found;
  const store = found.store ?? parts.newId();
  let active = last?.segment;
  let pending: Pending | undefined;
  if (last && active) {
    const finish = takeover(parts, found, last, log);
    try {
      active = await finish();
    } catch (cause) {
      if (cause instanceof NotOurs || cause instanceof SyncFailed) throw cause;
      pending = { cause, finish };
    }
  }
  active ??= await begin(parts, found, store);
  await files.syncFolder(paths.folder);
  for (const leftover of listing.leftovers) await files.remove(leftover);
  return { store, active, pending };
}

/** The steps of taking the active file over, each of which is taken once; they may be tried again after a fault. */
function takeover(
  { files, paths }: RecoverParts,
  { segments, listing }: Found,
  { segment, end }: LastSegment,
  log: Log,
): () => Promise<Segment> {
  const { bytes } = segment;
  let isOurs = false;
  let isSetAside = end === bytes;
  let renewed: Segment | undefined;
  return async () => {
    segment.bytes = end;
    if (!isOurs) await claimJournal(files, paths.journal, segment, bytes);
    else if (!renewed) requireUntouched(files, paths.journal, segment);
    isOurs = true;
    if (!isSetAside) {
      const torn = await setAside(files, paths, readBytes(files, segment.fd, bytes - end, end), listing.torn);
      log.warn("the journal's last write was torn; it was set aside and cut", { file: paths.journal, set_aside: torn });
      isSetAside = true;
    }
    if (!renewed) {
      renewed = await renewFile(files, paths.journal, segment);
      segments.set(segment.file, renewed);
      await files.close(segment.fd);
    }
    await synced(files.syncFolder(paths.folder));
    return renewed;
  };
}

function checkState(
  state: State,
  { store, sequence, last }: Pick<Found, "store" | "sequence" | "last">,
  { state: path, journal }: Paths,
  isMissing: boolean,
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
  if (state.sequence > sequence && !isMissing)
    throw new StoreDamaged(
      path,
      0,
      `it shows commit ${state.sequence}, but ${journal} ends with ${sequence}, at byte ${last?.end ?? 0}`,
      "The journal is older than it, was cut, or is damaged there: copy the folder, then restore the journal or a backup.",
    );
}

/** Makes the journal's next file: the first of all, or the one that a crash kept from following a sealed segment. */
async function begin({ files, paths, now }: RecoverParts, found: Found, store: string): Promise<Segment> {
  const { segments, sealed, remains, nextFile, sequence, lost } = found;
  const header = {
    format: JOURNAL_FORMAT,
    store,
    segment: sealed.length + 1,
    after: sequence,
    written_at: new Date(now()).toISOString(),
    // A crash before anything else is written must not hide it.
    ...(lost && { lost }),
  };
  const segment = await createSegment(files, paths.journal, nextFile(), header as Segment["header"]);
  segments.set(segment.file, segment);
  remains.begin(segment.file);
  await files.rename(temporaryPath(paths.journal), paths.journal);
  return segment;
}

/** Copies a torn end into a file of its own, durably; returns its path. */
async function setAside(files: Files, paths: Paths, torn: Buffer, earlier: readonly number[]): Promise<string> {
  const path = paths.torn((earlier.at(-1) ?? 0) + 1);
  await replaceFile(files, path, [torn]);
  return path;
}
