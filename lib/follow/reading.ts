/** What followers would have stored by now, read without storing it. */
import { readHead } from "../audit/chain.ts";
import type { Reads, Store } from "../store/store.ts";
import type { Cursor, FollowDeps, Follower } from "./follower.ts";
import { fold } from "./fold.ts";
import { nothing, overlay } from "./overlay.ts";

/** A read folds no more entries than this. */
export const UNSEEN = 1000;
const TRIES = 3;

/** A follower's records and state as of an entry; `behind`: how many entries the log has after that. */
export interface Reading<S> extends Reads {
  state: S;
  as_of: number;
  behind: number;
}

interface Known {
  head: string;
  revision: number;
  reading: Promise<Reading<unknown> | undefined>;
}

const known = new WeakMap<Store, Map<string, Known>>();

/** The records of a follower with the entries that it has not stored yet, up to a thousand. Writes nothing. */
export async function reading<S>(deps: FollowDeps, follower: Follower<S>, tries = TRIES): Promise<Reading<S>> {
  const { store } = deps;
  const [head, stored] = await Promise.all([readHead(store), store.get("cursors", follower.name)]);
  const length = head?.length ?? 0;
  const fresh = !stored || stored.value.clearing || stored.value.entry > length;
  const cursor = (fresh ? { entry: 0, step: "", state: follower.start } : stored.value) as Cursor<S>;
  const base = fresh ? nothing : store;
  // Whoever stores faster than this reads is not far behind.
  if ((cursor.entry === length && cursor.step === "") || tries === 0) return readingOf(base, cursor, length);
  const revision = stored?.revision ?? 0;
  let ofStore = known.get(store);
  if (!ofStore) known.set(store, (ofStore = new Map()));
  let kept = ofStore.get(follower.name);
  if (kept?.head !== head!.head || kept.revision !== revision) {
    kept = { head: head!.head, revision, reading: foldUnseen(deps, follower, cursor, base, length, revision) };
    ofStore.set(follower.name, kept);
    kept.reading.catch(() => ofStore.delete(follower.name));
  }
  return ((await kept.reading) as Reading<S> | undefined) ?? reading(deps, follower, tries - 1);
}

/** Undefined when slices were stored meanwhile: what was read may be of before and of after. */
async function foldUnseen<S>(
  deps: FollowDeps,
  follower: Follower<S>,
  from: Cursor<S>,
  base: Reads,
  head: number,
  revision: number,
): Promise<Reading<S> | undefined> {
  const tx = overlay(base);
  let cursor = from;
  for (let full = true; full && cursor.entry - from.entry < UNSEEN;) {
    const entries = UNSEEN - (cursor.entry - from.entry);
    ({ cursor, full } = await fold(deps, follower, cursor, tx, { head, entries }));
  }
  if (((await deps.store.get("cursors", follower.name))?.revision ?? 0) !== revision) return undefined;
  return readingOf(tx, cursor, head);
}

const readingOf = <S>({ get, getMany, list }: Reads, { entry, state }: Cursor<S>, length: number): Reading<S> => ({
  get,
  getMany,
  list,
  state,
  as_of: entry,
  behind: length - entry,
});
