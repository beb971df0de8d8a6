/**
 * Stores what a follower makes of the log, in slices: each is one transaction, fenced by the revision of the follower's
 * cursor and by nothing else, so that it stands in no governed write's way and two processes cannot follow the same entry.
 */
import { readHead } from "../audit/chain.ts";
import { certainNow } from "../governance/certain_time.ts";
import { type Collection, MOST_WRITES, RevisionConflict, type Store, type Stored, type Tx } from "../store/store.ts";
import type { Cursor, FollowDeps, Follower, Retired } from "./follower.ts";
import { type EntryReader, entryReader } from "./entry_reader.ts";
import { fold } from "./fold.ts";
import { overlay, type Written } from "./overlay.ts";
import { turn } from "../kit/turn.ts";

const ENTRIES = 500;
/** One is the cursor, one the count of a ring that records are cleared from. */
const WRITES = MOST_WRITES - 2;
/** So many slices are under way at a time: they share a sync, or a round trip. */
const AT_ONCE = 3;
/** So many at a time are put elsewhere: each goes, comes, and may displace another. */
const MOVED = WRITES / 4;

/**
 * Follows up to the log's end; `proceed` is asked before each slice. Another process that is faster is left to it: false where
 * one was.
 */
export async function catchUp(
  deps: FollowDeps,
  follower: Follower,
  proceed: () => boolean = () => true,
  read: EntryReader = entryReader(deps),
): Promise<boolean> {
  const { store } = deps;
  const stretch = async (): Promise<boolean> => {
    // What closes for good must not rest on one look at the clock. Before the head is read: an entry that comes later is not before this moment.
    const certain = await certainNow(deps);
    const now = certain === -Infinity ? "" : new Date(certain).toISOString();
    const head = (await readHead(store))?.length ?? 0;
    return storeSlices(deps, follower, store, { head, now, read, proceed });
  };
  return deps.mutex(`follow ${follower.name}`, async () => {
    try {
      while (await stretch());
      return true;
    } catch (error) {
      if (error instanceof RevisionConflict) return false;
      throw error;
    }
  });
}

/**
 * Follows on from what lies in `into`, by some slices; false when there was nothing left to do, or `proceed` said no. One slice
 * is folded over those before it while they are being stored: so they share what a store does to keep them, and each is
 * refused with the one before.
 */
export async function storeSlices(
  deps: FollowDeps,
  follower: Follower,
  into: Store,
  { read, proceed = () => true, ...until }: { head: number; now?: string; read?: EntryReader; proceed?: () => boolean },
): Promise<boolean> {
  const stored = await into.get("cursors", follower.name);
  // A log that is shorter than what was followed is another one.
  const anew = !stored || stored.value.entry > until.head || stored.value.version !== follower.version;
  let from = anew ? beginning(follower) : stored.value;
  if (from.clearing) return proceed() && clear(into, follower, from, stored);
  const tx = overlay(into);
  const slices: Promise<void>[] = [];
  let refused = false;
  try {
    for (let { revision } = stored!; slices.length < AT_ONCE && !refused; revision++) {
      if (!proceed()) return false;
      const { cursor, full } = await fold(
        deps,
        follower,
        from,
        tx,
        { ...until, entries: ENTRIES, writes: WRITES },
        read,
      );
      if (cursor.entry === from.entry && cursor.step === from.step && tx.size === 0) return false;
      from = { ...from, ...cursor };
      const slice = keep(into, follower, from, revision, tx.take());
      slice.catch(() => (refused = true));
      slices.push(slice);
      if (!full) return false;
      // One slice a turn of the event loop, whoever's it is: what else waits is not held up by all followers together.
      await deps.mutex("follow one slice", turn);
    }
    return true;
  } finally {
    for (const slice of slices) await slice;
  }
}

/** Where a follower begins, its records to be cleared away first. */
export const beginning = ({ start, version }: Follower): Cursor => ({
  entry: 0,
  ...(version === undefined ? {} : { version }),
  step: "",
  state: start,
  clearing: { place: 0, after: "" },
});

/** Stores records with the cursor, unless another process has moved that meanwhile. `before`: its revision, 0 where there is none. */
const keep = (
  into: Store,
  follower: Follower,
  cursor: Cursor,
  before: number,
  records: readonly Written[],
): Promise<void> =>
  fenced(into, follower, cursor, before, (tx) => {
    for (const { collection, id, json } of records)
      if (json) tx.put(collection, id, json);
      else tx.delete(collection, id);
  });

const fenced = (
  into: Store,
  { name }: Follower,
  cursor: Cursor,
  before: number,
  write: (tx: Tx) => void | Promise<void>,
): Promise<void> =>
  into.transact((tx) => {
    tx.put("cursors", name, cursor, before);
    return write(tx);
  });

/** Deletes some of what a follower had, and of what older versions had in its place. */
async function clear(
  into: Store,
  follower: Follower,
  { clearing, ...from }: Cursor,
  stored: Stored | undefined,
): Promise<boolean> {
  const own = follower.collections.map((collection): Retired => ({ collection }));
  const places = [...own, ...(follower.retired ?? [])];
  const { place, after } = clearing!;
  const { collection: name, id, where = () => true, ring, move } = places[place]!;
  // Older versions' collections are declared nowhere any more.
  const collection = name as Collection;
  const limit = move ? MOVED : WRITES;
  const page = id === undefined ? await into.list(collection, { after, limit }) : [{ id, value: undefined }];
  const next = page.length < limit ? { place: place + 1, after: "" } : { place, after: page.at(-1)!.id };
  const cursor: Cursor = next.place < places.length ? { ...from, clearing: next } : from;
  const gone = page.filter(({ value }) => where(value));
  await fenced(into, follower, cursor, stored?.revision ?? 0, async (tx) => {
    for (const { id, value } of gone) {
      await move?.(tx, value);
      tx.delete(collection, id);
    }
    const kept = ring && (await tx.get("meta", ring))?.value;
    if (kept?.count !== undefined) tx.put("meta", ring!, { ...kept, count: kept.count - gone.length });
  });
  return true;
}
