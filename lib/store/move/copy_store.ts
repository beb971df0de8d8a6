/** Copies a store while it is in use. */
import { type Clock, systemClock } from "../../kit/platform.ts";
import { LAYOUT } from "../layout.ts";
import { getInnerMap } from "../engine/view.ts";
import type { Version } from "../version.ts";
import type { MoveState, BulkAccess } from "../bulk_access.ts";

/** Options of a copy. */
export interface Copying {
  /** The id of the copy. */
  move: string;
  /** The clock that decides when a hold expires. */
  clock?: Clock;
}

/** A hold expires after this time, and is renewed at this interval. */
const HOLD_MS = 60_000;
const RENEW_MS = 10_000;

/** Creates the move state `held`, during which writes wait. */
export const createHold = (move: string, now: number): MoveState => ({
  state: "held",
  move,
  until: new Date(now + HOLD_MS).toISOString(),
});

type Source = Pick<BulkAccess, "dump" | "commit" | "atOneMoment">;

/**
 * Yields every version of a store as of one moment. A store whose dump is not of one moment is dumped twice: the second pass
 * yields the versions and deletions that are newer than the first pass, while writes wait because of a hold. Errors:
 * `MoveStateConflict` if another move is running, or the hold expired. After an error, or an early end, writes go on.
 */
export async function* copyStore(
  source: Source,
  { move, clock = systemClock }: Copying,
): AsyncGenerator<readonly Version[]> {
  if (source.atOneMoment) return yield* source.dump();
  const copied: Copied = { revisions: new Map(), last: new Map() };
  yield* copyAll(source, copied);
  // Move states are the same if their kind and move are, so `hold` also stands for its renewals with a later end.
  const hold = createHold(move, clock.now());
  let renewedAt = clock.now();
  const renewHold = async (): Promise<void> => {
    if (clock.now() - renewedAt < RENEW_MS) return;
    renewedAt = clock.now();
    await source.commit([], { from: hold, to: createHold(move, renewedAt) });
  };
  await source.commit([], { from: undefined, to: hold });
  let isComplete = false;
  try {
    yield* copyChanges(source, copied, renewHold);
    await source.commit([], { from: hold, to: undefined });
    isComplete = true;
  } finally {
    // If this fails too, the hold ends by itself when it expires.
    if (!isComplete) await source.commit([], { from: hold, to: undefined }).catch(() => undefined);
  }
}

/** State of the first pass. */
interface Copied {
  /** Copied revisions by collection and id, except those of sequences. */
  readonly revisions: Map<string, Map<string, number>>;
  /** The last copied id of each sequence. A sequence is append-only, and too long to remember each id. */
  readonly last: Map<string, string>;
}

/** Returns whether a version is in a sequence; a revision floor, which has no id, is not. */
const isInSequence = ({ collection, id }: Version): boolean => id !== "" && LAYOUT.sequences.includes(collection);

async function* copyAll({ dump }: Source, { revisions, last }: Copied): AsyncGenerator<readonly Version[]> {
  for await (const page of dump()) {
    for (const version of page) {
      const { collection, id, revision } = version;
      if (isInSequence(version)) last.set(collection, id);
      else getInnerMap(revisions, collection).set(id, revision);
    }
    yield page;
  }
}

/** Yields records that changed since the first pass. Records found are removed from `revisions`; the remaining ones were deleted. */
async function* copyChanges(
  { dump }: Source,
  { revisions, last }: Copied,
  renewHold: () => Promise<void>,
): AsyncGenerator<readonly Version[]> {
  const isChanged = (version: Version): boolean => {
    const { collection, id, revision } = version;
    if (isInSequence(version)) return id > (last.get(collection) ?? "");
    const ids = revisions.get(collection);
    const before = ids?.get(id);
    ids?.delete(id);
    return before !== revision;
  };
  for await (const page of dump()) {
    await renewHold();
    const changed = page.filter(isChanged);
    if (changed.length > 0) yield changed;
  }
  for (const [collection, ids] of revisions) {
    await renewHold();
    const deletions = [...ids].map(([id, revision]) => ({ collection, id, revision, json: undefined }));
    if (deletions.length > 0) yield deletions;
  }
}
