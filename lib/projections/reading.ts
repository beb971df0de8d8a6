/** What followers would have stored by now, read without storing it. */
import { readCurrentHead } from "../audit/chain.ts";
import type { Reads, Store } from "../store/store.ts";
import { type EntryReader, entryReader } from "./entry_reader.ts";
import { type Cursor, cursorOf, type FollowDeps, type Follower } from "./follower.ts";
import { fold } from "./fold.ts";
import { nothing, overlay, type Written } from "./overlay.ts";
import { turn } from "../kit/turn.ts";

/** A read folds no more entries than this. */
export const UNSEEN = 1000;
const AT_ONCE = 64;
const TRIES = 3;

/** A follower's records and state as of an entry; `behind`: how many entries the log has after that. */
export interface Reading<S> extends Reads {
  state: S;
  as_of: number;
  behind: number;
}

/** A reading with what was folded for it; the next goes on from that, also when some of it was stored meanwhile. */
interface Made<S> {
  reading: Reading<S>;
  below: Reads;
  /** The entry of the stored cursor when it was begun. */
  since: number;
  /** The newest sighting then: what is closed by one does not follow from the entries. */
  sighting: string;
  cursor: Cursor<S>;
  written: readonly Written[];
}

/** The last reading of a follower: the same until the log grows or its cursor is stored. */
interface Last {
  head: string | undefined;
  revision: number | undefined;
  made: Promise<Made<unknown> | undefined>;
}

/** `read`: what was read of the log at that head, so that nobody is told what was erased since. */
const known = new WeakMap<Store, { head: string | undefined; read: EntryReader; last: Map<string, Last> }>();

/**
 * The records of a follower with the entries that it has not stored yet, up to a thousand; as they are stored where those
 * cannot be followed. Writes nothing.
 */
export async function reading<S>(deps: FollowDeps, follower: Follower<S>, tries = TRIES): Promise<Reading<S>> {
  const { store } = deps;
  const { name } = follower;
  const again = (): Promise<Reading<S>> => {
    deps.requestCache?.forget();
    return reading(deps, follower, tries - 1);
  };
  const [log, stored] = await Promise.all([readCurrentHead(deps), cursorOf(deps, name)]);
  const { length = 0, head } = log ?? {};
  // The head may be of before the entry that was followed meanwhile. One that stays shorter is of another log.
  if (stored && stored.value.entry > length && tries === TRIES) return again();
  const revision = stored?.revision;
  const fresh =
    !stored || stored.value.clearing || stored.value.entry > length || stored.value.version !== follower.version;
  const from = (fresh ? { entry: 0, step: "", state: follower.start } : stored.value) as Cursor<S>;
  const below = fresh ? nothing : store;
  const asStored = readingOf(below, from, length);
  // Whoever stores faster than this reads is not far behind.
  if (tries === 0) return asStored;
  const kept = known.get(store);
  const last = kept?.last ?? new Map<string, Last>();
  const read = kept && kept.head === head ? kept.read : entryReader(deps, length);
  known.set(store, { head, read, last });

  const since = from.entry;
  /** Undefined when what was stored meanwhile overtook it: what was read may be of before and of after. */
  const make = async (before: Last | undefined): Promise<Made<S> | undefined> => {
    if (since === length && from.step === "")
      return { reading: asStored, below, since, sighting: "", cursor: from, written: [] };
    const sighting = await newestSighting(store, follower);
    const earlier = (await before?.made.catch(() => undefined)) as Made<S> | undefined;
    const goesOn =
      earlier?.below === below &&
      earlier.sighting === sighting &&
      earlier.since <= since &&
      since < earlier.cursor.entry &&
      earlier.cursor.entry <= Math.min(length, earlier.since + 2 * UNSEEN);
    const begun = goesOn ? earlier.since : since;
    const tx = overlay(below, goesOn ? earlier.written : []);
    /** What lies below may be of any entry from the one at which it was begun to before the one that it has come to. */
    const isBelow = async (entry: number): Promise<boolean> => {
      const now = await store.get("cursors", name);
      if (now?.revision === revision) return true;
      const { entry: at, clearing } = now!.value;
      return !clearing && begun <= at && at < entry && (await newestSighting(store, follower)) === sighting;
    };
    let cursor = goesOn ? earlier.cursor : from;
    for (const end = Math.min(length, since + UNSEEN); cursor.entry < end;) {
      const bounds = { head: length, entries: Math.min(AT_ONCE, end - cursor.entry) };
      const next = await fold(deps, follower, cursor, tx, bounds, read);
      if (!(await isBelow(cursor.entry))) return undefined;
      ({ cursor } = next);
      // Folded in one go, a thousand entries would hold up everybody else.
      if (cursor.entry < end) await turn();
    }
    return { reading: readingOf(tx, cursor, length), below, since: begun, sighting, cursor, written: tx.written() };
  };

  let now = last.get(name);
  if (!now || now.head !== head || now.revision !== revision) {
    last.set(name, (now = { head, revision, made: make(now) }));
    now.made.catch(() => last.delete(name));
  }
  const made = await now.made.catch((error: unknown) => {
    deps.log.warn("the newest entries could not be followed: figures are as they were stored", {
      follower: name,
      error: String(error),
    });
    return { reading: asStored };
  });
  return (made?.reading as Reading<S> | undefined) ?? reading(deps, follower, tries - 1);
}

/** The newest moment that time was seen to have passed at, of a follower that goes by it. */
async function newestSighting(store: Store, { elapse }: Pick<Follower<never>, "elapse">): Promise<string> {
  const [newest] = elapse ? await store.list("sightings", { limit: 1, reverse: true }) : [];
  return newest ? `${newest.id} ${newest.value.at}` : "";
}

const readingOf = <S>(
  { get, getMany, list, texts }: Reads,
  { entry, state }: Cursor<S>,
  length: number,
): Reading<S> => ({
  get,
  getMany,
  list,
  texts,
  state,
  as_of: entry,
  behind: length - entry,
});
