/** Brings a store back from its files: checks them against each other, cuts a torn end, or begins anew. */
import { basename } from "node:path";
import { StoreDamaged } from "./journal_format.ts";
import {
  asideOf,
  type Files,
  type Listing,
  listingOf,
  makeDurableFolder,
  type Paths,
  readAt,
  replaceFile,
  writeAll,
} from "./files.ts";
import { type LastSegment, newReplay, type Replay } from "./replay.ts";
import { createSegment, JOURNAL_FORMAT, type Segment } from "./segment.ts";
import type { Snapshot } from "./snapshot.ts";

const PIECE = 1 << 20;

/** What recovery needs. */
export interface RecoverParts {
  files: Files;
  paths: Paths;
  sequences: readonly string[];
  readSnapshot(): Promise<Snapshot | null>;
  now(): number;
  newId(): string;
}

/** A store's files as they were found, read and agreeing with each other. */
export interface Found {
  replay: Replay;
  listing: Listing;
  sealed: Segment[];
  last: LastSegment | undefined;
  snapshot: Snapshot | null;
}

/** A store's files, ready to be written. */
export interface Mended {
  store: string;
  active: Segment;
  /** Where the torn end of the journal was set aside, if there was one. */
  torn: string | undefined;
}

/** Reads the files of a store, and changes none. Errors: `StoreDamaged`; the file system's own. */
export async function examine({ files, paths, sequences, readSnapshot }: RecoverParts): Promise<Found> {
  await makeDurableFolder(files, paths.folder);
  const names = await files.names(paths.folder);
  const listing = listingOf(paths, names);
  const snapshot = await readSnapshot();
  const replay = newReplay(files, sequences, snapshot?.sequence ?? 0);
  try {
    const sealed: Segment[] = [];
    for (const number of listing.segments)
      sealed.push(await replay.sealed(paths.segment(number), sealed.length + 1, paths.index(number)));
    const hasJournal = names.includes(basename(paths.journal));
    const last = hasJournal ? await replay.active(paths.journal, sealed.length + 1) : undefined;
    if (snapshot) checkSnapshot(snapshot, replay, paths);
    return { replay, listing, sealed, last, snapshot };
  } catch (error) {
    await replay.close();
    throw error;
  }
}

/** Makes what was found ready: cuts a torn end, begins the journal's next file, removes what a crash left half written. */
export async function mend(parts: RecoverParts, { replay, listing, sealed, last }: Found): Promise<Mended> {
  const { files, paths } = parts;
  const store = replay.store ?? parts.newId();
  const active = last?.segment ?? (await begin(parts, replay, store, sealed.length + 1));
  const torn = last && last.end < active.bytes ? await cut(parts, active, last.end, listing.torn) : undefined;
  // A process that was killed may have left lines and names that no sync has reached yet.
  if (last) await writeAgain(files, last);
  await files.sync(active.fd);
  await files.syncFolder(paths.folder);
  for (const leftover of listing.leftovers) await files.remove(leftover);
  return { store, active, torn };
}

function checkSnapshot(snapshot: Snapshot, { store, last }: Replay, { state, journal }: Paths): void {
  if (store === undefined)
    throw new StoreDamaged(
      state,
      0,
      `its journal, ${journal}, is missing`,
      `Restore it, or move ${state} away to begin anew.`,
    );
  if (snapshot.store !== store)
    throw new StoreDamaged(
      state,
      0,
      `it belongs to another store than ${journal}`,
      "Put back the file that belongs beside it.",
    );
  if (snapshot.sequence > last)
    throw new StoreDamaged(
      state,
      0,
      `it shows commit ${snapshot.sequence}, but ${journal} ends with ${last}`,
      "The journal is older than it, or was cut: restore the journal.",
    );
}

/** Makes the journal's next file: the first of all, or the one that a crash kept from following a sealed segment. */
async function begin(
  { files, paths, now }: RecoverParts,
  replay: Replay,
  store: string,
  number: number,
): Promise<Segment> {
  const writtenAt = new Date(now()).toISOString();
  const header = { format: JOURNAL_FORMAT, store, segment: number, after: replay.last, written_at: writtenAt } as const;
  const segment = await createSegment(files, paths.journal, replay.nextFile(), header);
  replay.segments.set(segment.file, segment);
  await files.rename(asideOf(paths.journal), paths.journal);
  return segment;
}

/**
 * Writes again what the snapshot does not vouch for. After a failed sync the system may hold lines in memory that it takes
 * for written: they can be read, another sync passes over them, and a power cut takes them away.
 */
async function writeAgain(files: Files, { segment: { fd }, since, end }: LastSegment): Promise<void> {
  for (let at = since; at < end;) {
    const piece = readAt(files, fd, Math.min(PIECE, end - at), at);
    await writeAll(files, fd, piece, at);
    at += piece.length;
  }
}

/** Sets a torn end aside, durably, and only then cuts it off. */
async function cut(
  { files, paths }: RecoverParts,
  segment: Segment,
  end: number,
  earlier: readonly number[],
): Promise<string> {
  const rest = readAt(files, segment.fd, segment.bytes - end, end);
  const path = paths.torn((earlier.at(-1) ?? 0) + 1);
  await replaceFile(files, path, rest);
  await files.truncate(segment.fd, end);
  segment.bytes = end;
  return path;
}
