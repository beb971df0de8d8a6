/**
 * Stores what a follower makes of the log, in slices: each is one transaction, fenced by the revision of the follower's
 * cursor and by nothing else, so that it stands in no governed write's way and two processes cannot follow the same entry.
 */
import { readHead } from "../audit/chain.ts";
import type { Json } from "../store/json.ts";
import { type Collection, MOST_WRITES, RevisionConflict, type Stored, type Tx } from "../store/store.ts";
import type { FollowDeps } from "./deps.ts";
import { type EntryReader, entryReader } from "./entries.ts";
import { fold } from "./fold.ts";
import type { Cursor, Follower, Retired } from "./follower.ts";
import { overlay } from "./overlay.ts";

const ENTRIES = 500;
/** One is the cursor. */
const WRITES = MOST_WRITES - 1;

/** Follows up to the log's end; `proceed` is asked before each slice. Another process that is faster is left to it. */
export async function catchUp(
  deps: FollowDeps,
  follower: Follower,
  proceed: () => boolean = () => true,
  read: EntryReader = entryReader(deps.store),
): Promise<void> {
  await deps.mutex(`follow ${follower.name}`, async () => {
    try {
      while (proceed() && (await storeSlice(deps, follower, read)));
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  });
}

/** Takes a follower back to the beginning: its records are cleared away by the slices that come. */
export async function startAnew({ store }: FollowDeps, follower: Follower): Promise<void> {
  await store.transact((tx) => tx.put("cursors", follower.name, beginning(follower)));
}

const beginning = ({ start }: Follower): Cursor => ({
  entry: 0,
  step: "",
  state: start,
  clearing: { place: 0, after: "" },
});

/** Stores one slice; false when there was nothing left to do. */
async function storeSlice(deps: FollowDeps, follower: Follower, read: EntryReader): Promise<boolean> {
  const { store, clock } = deps;
  // Before the head is read: an entry that comes later is not before this moment.
  const now = new Date(clock.now()).toISOString();
  const head = (await readHead(store))?.length ?? 0;
  const stored = await store.get("cursors", follower.name);
  // A log that is shorter than what was followed is another one.
  if (!stored || stored.value.entry > head) return clear(deps, follower, { ...stored, value: beginning(follower) });
  if (stored.value.clearing) return clear(deps, follower, stored);
  const tx = overlay(store);
  const bounds = { head, entries: ENTRIES, writes: WRITES, now };
  const { cursor, full } = await fold(deps, follower, stored.value, tx, bounds, read);
  if (cursor.entry === stored.value.entry && cursor.step === stored.value.step && tx.size === 0) return false;
  await store.transact((transaction) => {
    keepCursor(transaction, follower, cursor, stored);
    for (const { collection, id, json } of tx.written())
      if (json) transaction.put(collection, id, json as Json<never>);
      else transaction.delete(collection, id);
  });
  return full;
}

const keepCursor = (tx: Tx, { name }: Follower, cursor: Cursor, stored: Partial<Stored>): void =>
  tx.put("cursors", name, cursor, stored.revision ?? 0);

/** Deletes some of what a follower had, and of what stood in its place. */
async function clear(
  { store }: FollowDeps,
  follower: Follower,
  stored: Partial<Stored> & { value: Cursor },
): Promise<boolean> {
  const own = follower.collections.map((collection): Retired => ({ collection }));
  const places = [...own, ...(follower.retired ?? [])];
  const { place, after } = stored.value.clearing!;
  const { collection, id, where } = places[place]!;
  // Older versions' collections are declared nowhere any more.
  const name = collection as Collection;
  const page = id === undefined ? await store.list(name, { after, limit: WRITES }) : [{ id, value: undefined }];
  const last = page.length < WRITES;
  const next = last ? { place: place + 1, after: "" } : { place, after: page.at(-1)!.id };
  const { clearing: _, ...cleared } = stored.value;
  await store.transact((tx) => {
    for (const { id, value } of page) if (where?.(value) ?? true) tx.delete(name, id);
    keepCursor(tx, follower, next.place < places.length ? { ...cleared, clearing: next } : cleared, stored);
  });
  return true;
}
