/** Folds a follower over the log, in memory. */
import { entryKey } from "../audit/chain.ts";
import type { Store } from "../store/store.ts";
import { type Cursor, type FollowDeps, type Follower, type Following, MOST_A_STEP } from "./follower.ts";
import { type EntryReader, entryReader } from "./entry_reader.ts";
import type { Overlay } from "./overlay.ts";

/** How far to go. */
export interface Bounds {
  /** The log's length. */
  head: number;
  /** Entries at most. */
  entries: number;
  /** Written records at most. */
  writes?: number;
  /** The moment up to which time has passed at the head; ISO 8601. Absent: what was seen of it earlier. */
  now?: string;
  /** Awaited between two runs of entries. */
  between?(): Promise<void>;
}

/** Follows on from a cursor into `tx`, and resolves with the cursor then; `full` when the bounds held it up. */
export async function fold<S>(
  deps: FollowDeps,
  follower: Follower<S>,
  from: Cursor<S>,
  tx: Overlay,
  { head, entries: most, writes = Infinity, now = "", between }: Bounds,
  read: EntryReader = entryReader(deps, head),
): Promise<{ cursor: Cursor<S>; full: boolean }> {
  let { entry: done, step, state } = from;
  const end = Math.min(head, done + most);
  const room = (more: number): boolean => tx.size + more <= writes;
  for (;;) {
    const { entries, source } = await read(done, end - done);
    const seen = follower.elapse ? await sightings(deps.store, done, entries.length + 1) : undefined;
    const on: Following<S> = { ...source, tx, state, position: done, room };
    const stop = (full: boolean) => ({ cursor: { entry: done, step, state: on.state }, full });
    for (const entry of entries) {
      const until = later(seen?.get(done), entry.timestamp);
      const elapsed = step !== "" || (follower.elapse?.(on, until) ?? true);
      if (!(elapsed instanceof Promise ? await elapsed : elapsed)) return stop(true);
      if (!room(MOST_A_STEP)) return stop(true);
      on.position = entry.id;
      const followed = follower.follow(on, entry, step);
      const next = followed instanceof Promise ? await followed : followed;
      step = next ?? "";
      if (next !== undefined) return stop(true);
      done = entry.id;
    }
    state = on.state;
    if (done < end) {
      await between?.();
      continue;
    }
    const until = later(seen?.get(done), now);
    if (done < head || !follower.elapse || until === "") return stop(done < head);
    const { size } = tx;
    const all = await follower.elapse(on, until);
    // The log does not tell how late it was here: a fold from the beginning goes by this.
    if (tx.size > size) tx.put("sightings", entryKey(done), { at: until });
    return stop(!all);
  }
}

const later = (a: string | undefined, b: string): string => (a !== undefined && a > b ? a : b);

/** The latest moments that were seen at lengths of the log, from `length` on. */
async function sightings(store: Store, length: number, limit: number): Promise<Map<number, string>> {
  const after = length === 0 ? "" : entryKey(length - 1);
  const page = await store.list("sightings", { after, limit });
  return new Map(page.map(({ id, value }) => [Number(id), value.at]));
}
