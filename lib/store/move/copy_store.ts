/** Copies all of a store while it is used; where writes must wait for the end of the copy, they wait as short as possible. */
import { type Clock, systemClock } from "../../kit/platform.ts";
import { LAYOUT } from "../layout.ts";
import { getInnerMap } from "../engine/view.ts";
import type { Version } from "../version.ts";
import type { MoveState, BulkAccess } from "../bulk_access.ts";

/** How a store is copied. */
export interface Copying {
  /** The id of the copy. */
  move: string;
  /** The clock by which a hold ends. */
  clock?: Clock;
}

const HOLD_MS = 60_000;
const RENEW_MS = 10_000;

/** The mark of a store that is copied. */
export const createHold = (move: string, now: number): MoveState => ({
  state: "held",
  move,
  until: new Date(now + HOLD_MS).toISOString(),
});

type Source = Pick<BulkAccess, "dump" | "commit" | "atOneMoment">;

/**
 * Yields every version of a store as of one moment, while it is used. A store whose dump is not of one moment is dumped twice:
 * what changed during the first pass is yielded again under a hold, deletions included. Errors: `MoveStateConflict` where another move
 * is under way, or the hold ended too soon. An error, or an early end, leaves the store in use.
 */
export async function* copyStore(
  source: Source,
  { move, clock = systemClock }: Copying,
): AsyncGenerator<readonly Version[]> {
  if (source.atOneMoment) return yield* source.dump();
  const copied: Copied = { revisions: new Map(), last: new Map() };
  yield* copyAll(source, copied);
  const hold = createHold(move, clock.now());
  let renewed = clock.now();
  const renew = async (): Promise<void> => {
    if (clock.now() - renewed < RENEW_MS) return;
    renewed = clock.now();
    await source.commit([], { from: hold, to: createHold(move, renewed) });
  };
  await source.commit([], { from: undefined, to: hold });
  let isComplete = false;
  try {
    yield* copyChanges(source, copied, renew);
    await source.commit([], { from: hold, to: undefined });
    isComplete = true;
  } finally {
    if (!isComplete) await source.commit([], { from: hold, to: undefined }).catch(() => undefined);
  }
}

/** Result of the copy. */
interface Copied {
  /** The revisions, by collection and id. */
  readonly revisions: Map<string, Map<string, number>>;
  /** Last id of each sequence, which is append-only: there are as many as there are entries in the log. */
  readonly last: Map<string, string>;
}

/** Returns whether a version is one of a sequence; a deletion of no id is none. */
const isEntry = ({ collection, id }: Version): boolean => id !== "" && LAYOUT.sequences.includes(collection);

async function* copyAll({ dump }: Source, { revisions, last }: Copied): AsyncGenerator<readonly Version[]> {
  for await (const page of dump()) {
    for (const version of page) {
      const { collection, id, revision } = version;
      if (isEntry(version)) last.set(collection, id);
      else getInnerMap(revisions, collection).set(id, revision);
    }
    yield page;
  }
}

/** Yields records that differ from their copy; equal ones are taken out of the revisions, so that deleted ones are left. */
async function* copyChanges(
  { dump }: Source,
  { revisions, last }: Copied,
  renew: () => Promise<void>,
): AsyncGenerator<readonly Version[]> {
  const isChanged = (version: Version): boolean => {
    const { collection, id, revision } = version;
    if (isEntry(version)) return id > (last.get(collection) ?? "");
    const ids = revisions.get(collection);
    const before = ids?.get(id);
    ids?.delete(id);
    return before !== revision;
  };
  for await (const page of dump()) {
    await renew();
    const changed = page.filter(isChanged);
    if (changed.length > 0) yield changed;
  }
  for (const [collection, ids] of revisions) {
    await renew();
    const gone = [...ids].map(([id, revision]) => ({ collection, id, revision, json: undefined }));
    if (gone.length > 0) yield gone;
  }
}
