/** What followers would have stored by now, read without storing it. */
import { readHead } from "../audit/chain.ts";
import type { Reads, Store } from "../store/store.ts";
import { type EntryReader, entryReader } from "./entries.ts";
import type { Cursor, FollowDeps, Follower } from "./follower.ts";
import { fold } from "./fold.ts";
import { nothing, overlay, type Written } from "./overlay.ts";

/** A read folds no more entries than this. */
export const UNSEEN = 1000;
const AT_ONCE = 128;
const TRIES = 3;

/** A follower's records and state as of an entry; `behind`: how many entries the log has after that. */
export interface Reading<S> extends Reads {
  state: S;
  as_of: number;
  behind: number;
}

/** What was folded beyond a stored cursor. The next reading goes on from it, also when some of it was stored meanwhile. */
interface Folded {
  base: Reads;
  /** The entry of the stored cursor when it was begun. */
  since: number;
  /** The newest sighting then: what is closed by one does not follow from the entries. */
  sighting: string;
  cursor: Cursor;
  written: readonly Written[];
}

/** The last reading of a follower: the same until the log grows or its cursor is stored. */
interface Last {
  head: string;
  revision: number;
  reading: Promise<Reading<unknown> | undefined>;
  folded?: Promise<Folded | undefined>;
}

const known = new WeakMap<Store, { read: EntryReader; last: Map<string, Last> }>();

/** The records of a follower with the entries that it has not stored yet, up to a thousand. Writes nothing. */
export async function reading<S>(deps: FollowDeps, follower: Follower<S>, tries = TRIES): Promise<Reading<S>> {
  const { store } = deps;
  const [log, stored] = await Promise.all([readHead(store), store.get("cursors", follower.name)]);
  const { length, head } = log ?? { length: 0, head: "" };
  const revision = stored?.revision ?? 0;
  const fresh = !stored || stored.value.clearing || stored.value.entry > length;
  const cursor = (fresh ? { entry: 0, step: "", state: follower.start } : stored.value) as Cursor<S>;
  const base = fresh ? nothing : store;
  // Whoever stores faster than this reads is not far behind.
  if (tries === 0) return readingOf(base, cursor, length);
  let ofStore = known.get(store);
  if (!ofStore) known.set(store, (ofStore = { read: entryReader(store), last: new Map() }));
  const { read, last } = ofStore;
  let now = last.get(follower.name);
  if (now?.head !== head || now.revision !== revision) {
    const caughtUp = cursor.entry === length && cursor.step === "";
    const before = now;
    now = { head, revision, reading: Promise.resolve(readingOf(base, cursor, length)) };
    if (!caughtUp) {
      const unseen = foldUnseen({ deps, follower, read, base, cursor, revision, length, before });
      now.reading = unseen.then((made) => made?.reading);
      now.folded = unseen.then(
        (made) => made?.folded,
        () => undefined,
      );
    }
    last.set(follower.name, now);
    now.reading.catch(() => last.delete(follower.name));
  }
  return ((await now.reading) as Reading<S> | undefined) ?? reading(deps, follower, tries - 1);
}

interface Unseen<S> {
  deps: FollowDeps;
  follower: Follower<S>;
  read: EntryReader;
  base: Reads;
  cursor: Cursor<S>;
  revision: number;
  length: number;
  before: Last | undefined;
}

/** Undefined when what was stored meanwhile overtook it: what was read may be of before and of after. */
async function foldUnseen<S>(unseen: Unseen<S>): Promise<{ reading: Reading<S>; folded: Folded } | undefined> {
  const { deps, follower, read, base, cursor, revision, length, before } = unseen;
  const { store } = deps;
  const sighting = await newestSighting(store, follower);
  const earlier = await before?.folded;
  const goesOn =
    earlier?.base === base &&
    earlier.sighting === sighting &&
    earlier.since <= cursor.entry &&
    cursor.entry < earlier.cursor.entry &&
    earlier.cursor.entry <= Math.min(length, earlier.since + 2 * UNSEEN);
  const since = goesOn ? earlier.since : cursor.entry;
  const tx = overlay(base, goesOn ? earlier.written : []);
  /** What lies below an overlay may be of any entry between the one at which it was begun and the one that it has come to. */
  const isBelow = async (entry: number): Promise<boolean> => {
    const stored = await store.get("cursors", follower.name);
    if ((stored?.revision ?? 0) === revision) return true;
    const { entry: now, clearing } = stored!.value;
    return !clearing && since <= now && now < entry && (await newestSighting(store, follower)) === sighting;
  };
  let at = goesOn ? (earlier.cursor as Cursor<S>) : cursor;
  for (const end = Math.min(length, cursor.entry + UNSEEN); at.entry < end;) {
    const bounds = { head: length, entries: Math.min(AT_ONCE, end - at.entry) };
    const next = (await fold(deps, follower, at, tx, bounds, read)).cursor;
    if (!(await isBelow(at.entry))) return undefined;
    at = next;
  }
  return { reading: readingOf(tx, at, length), folded: { base, since, sighting, cursor: at, written: tx.written() } };
}

/** The newest moment that time was seen to have passed at, of a follower that goes by it. */
async function newestSighting(store: Store, { elapse }: Pick<Follower<never>, "elapse">): Promise<string> {
  const [newest] = elapse ? await store.list("sightings", { limit: 1, reverse: true }) : [];
  return newest ? `${newest.id} ${newest.value.at}` : "";
}

const readingOf = <S>({ get, getMany, list }: Reads, { entry, state }: Cursor<S>, length: number): Reading<S> => ({
  get,
  getMany,
  list,
  state,
  as_of: entry,
  behind: length - entry,
});
