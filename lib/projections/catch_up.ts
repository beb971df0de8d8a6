/**
 * Stores what a follower makes of the log, in slices: each is one transaction, fenced by the follower's cursor and by
 * nothing else, so that it stands in no governed write's way and two processes cannot follow the same entry.
 */
import { readHead } from "../audit/chain.ts";
import { certainNow } from "../changes/certain_time.ts";
import { MOST_WRITES, type Store, type Tx } from "../store/store.ts";
import type { Cursor, FollowDeps, Follower } from "./follower.ts";
import { type EntryReader, entryReader } from "./entry_reader.ts";
import { fold } from "./fold.ts";
import { overlay, type Written } from "./overlay.ts";
import { turn } from "../kit/turn.ts";

const ENTRIES = 128;
/** Who has come so far waits for the others: until then what one has read of the log is kept for them. */
const ROUND = 4 * ENTRIES;
/** A slice counts as so many in a round at least: one that goes by steps, or by time, comes to no further entry. */
const LEAST = 8;
/** One more is the cursor. */
const WRITES = MOST_WRITES - 1;
/** So many slices are under way at a time: they share a sync, or a round trip. */
const AT_ONCE = 2;

/** A round of following, which goes to the log's end as it was when it began. */
export interface Round {
  /** The log's length. */
  head: number;
  /** The moment up to which time has certainly passed there; ISO 8601, `""` for none. */
  now: string;
  read: EntryReader;
  /** Asked before each slice. */
  proceed(): boolean;
}

/** Begins a round. */
export async function beginRound(deps: FollowDeps, proceed: () => boolean = () => true): Promise<Round> {
  // What closes for good must not rest on one look at the clock. Before the head is read: an entry that comes later is not before this moment.
  const certain = await certainNow(deps);
  const now = certain === -Infinity ? "" : new Date(certain).toISOString();
  const head = await lengthOf(deps);
  return { head, now, read: entryReader(deps, head), proceed };
}

/** What came of a round: there is no more to do, or there may be, or another process was faster, to which it is left. */
export type Followed = "done" | "more" | "overtaken";

/** Follows on towards the log's end, by some hundred entries. */
export function catchUp(deps: FollowDeps, follower: Follower, round: Round): Promise<Followed> {
  return deps.mutex(`follow ${follower.name}`, async () => {
    try {
      for (let gone = 0; gone < ROUND;) {
        const stretch = await storeSlices(deps, follower, deps.store, round);
        if (!stretch) return "done";
        gone += stretch.gone;
      }
      return "more";
    } catch (error) {
      if (error instanceof CursorMoved) return "overtaken";
      throw error;
    }
  });
}

/**
 * Follows on from what lies in `into`, by some slices; undefined when there was nothing left to do, or `proceed` said no;
 * `gone`: what that counts for in a round, in entries. One slice is folded over those before it while they are being stored: so
 * they share what a store does to keep them, and each is refused with the one before.
 */
export async function storeSlices(
  deps: FollowDeps,
  follower: Follower,
  into: Store,
  { read, proceed = () => true, ...until }: { head: number; now?: string; read?: EntryReader; proceed?: () => boolean },
): Promise<{ gone: number } | undefined> {
  const stored = await into.get("cursors", follower.name);
  const isBeyond = stored !== undefined && stored.value.entry > until.head;
  // A log that is shorter than what was followed is another one; one that has grown meanwhile was followed meanwhile.
  if (isBeyond && stored.value.entry <= (await lengthOf(deps))) return undefined;
  const anew = !stored || isBeyond || stored.value.version !== follower.version;
  const from = anew ? beginning(follower) : stored.value;
  if (from.clearing) {
    if (!proceed()) return undefined;
    // Where much is to be cleared, others are not to wait until all is.
    return { gone: (await clear(into, follower, from, stored?.value)) ? ROUND : 0 };
  }
  // A run of entries a turn of the event loop, whoever's it is: what else waits is not held up by all followers together.
  const between = (): Promise<void> => deps.mutex("follow one run", turn);
  const bounds = { ...until, entries: ENTRIES, writes: WRITES, between };
  const tx = overlay(into);
  const slices: Promise<void>[] = [];
  let refused = false;
  let over = from;
  try {
    while (slices.length < AT_ONCE && !refused) {
      await between();
      if (!proceed()) return undefined;
      const { cursor, full } = await fold(deps, follower, over, tx, bounds, read);
      if (cursor.entry === over.entry && cursor.step === over.step && tx.size === 0) return undefined;
      const next = { ...over, ...cursor };
      const slice = keep(into, follower, { over, next }, tx.take());
      slice.catch(() => (refused = true));
      slices.push(slice);
      over = next;
      if (!full) return undefined;
    }
    return { gone: Math.max(over.entry - from.entry, slices.length * LEAST) };
  } finally {
    await Promise.allSettled(slices);
    for (const slice of slices) await slice;
  }
}

const lengthOf = async ({ store }: FollowDeps): Promise<number> => (await readHead(store))?.length ?? 0;

/** Where a follower begins, its records to be cleared away first. */
export const beginning = ({ start, version }: Follower): Cursor => ({
  entry: 0,
  ...(version === undefined ? {} : { version }),
  step: "",
  state: start,
  clearing: { place: 0, after: "" },
});

/** Stores records with the cursor that follows one. */
const keep = (into: Store, follower: Follower, step: CursorStep, records: readonly Written[]): Promise<void> =>
  fenced(into, follower, step, (tx) => {
    for (const { collection, id, json } of records)
      if (json) tx.put(collection, id, json);
      else tx.delete(collection, id);
  });

/** From one cursor, which is undefined before the first, to the next. */
interface CursorStep {
  over: Cursor | undefined;
  next: Cursor;
}

/**
 * Writes with the cursor, unless another process, or a rebuild, has moved that meanwhile. Its revision would not tell: it says
 * how often the cursor was moved, and not by whom.
 */
const fenced = (
  into: Store,
  { name }: Follower,
  { over, next }: CursorStep,
  write: (tx: Tx) => void | Promise<void>,
): Promise<void> =>
  into.transact(async (tx) => {
    const now = await tx.get("cursors", name);
    if (JSON.stringify(now?.value) !== JSON.stringify(over)) throw new CursorMoved(name);
    tx.put("cursors", name, next);
    return write(tx);
  });

/** Somebody else moved a follower's cursor. */
export class CursorMoved extends Error {
  override readonly name = "CursorMoved";
  constructor(follower: string) {
    super(`the cursor of ${follower} was moved meanwhile`);
  }
}

/** Deletes some of the records that a follower had; resolves with whether there were many. */
async function clear(
  into: Store,
  follower: Follower,
  { clearing, ...from }: Cursor,
  over: Cursor | undefined,
): Promise<boolean> {
  const { place, after } = clearing!;
  const { collections } = follower;
  const collection = collections[place]!;
  const page = await into.list(collection, { after, limit: WRITES, keysOnly: true });
  const isMuch = page.length === WRITES;
  const further = isMuch ? { place, after: page.at(-1)!.id } : { place: place + 1, after: "" };
  const next: Cursor = further.place < collections.length ? { ...from, clearing: further } : from;
  await fenced(into, follower, { over, next }, (tx) => {
    for (const { id } of page) tx.delete(collection, id);
  });
  return isMuch;
}
