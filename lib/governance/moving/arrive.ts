/** The end of a move at the store that was loaded: it is empty before, and the move itself stands in its log after. */
import { type ChainHead, entryKey, nextEntry, readHead, stamp, whyClockBehind } from "../../audit/chain.ts";
import { type Clock, fastestSha256, type Sha256, systemClock } from "../../kit/platform.ts";
import { json } from "../../store/json.ts";
import { MoveRefused } from "../../store/move/refused_move.ts";
import type { Store } from "../../store/store.ts";
import type { Version } from "../../store/version.ts";
import type { Loading, Mark, Whole } from "../../store/whole.ts";
import { FenceUnknown } from "./fence.ts";

/** What every move needs. */
export interface MoveDeps {
  clock: Clock;
  sha256: Sha256;
}

/** The clock and the hash of this machine. */
export const ofThisMachine = (): MoveDeps => ({ clock: systemClock, sha256: fastestSha256() });

/** A store that is loaded: its name for people and for the log, without a password, and who loads it. */
export interface Destination {
  to: Store;
  name: string;
  /** Who moves it, as they say. */
  actor?: string | undefined;
}

/** What came of a move: the log as it was moved, undefined where there is none. */
export interface Moved {
  log: ChainHead | undefined;
}

/** How a store came to be where it is. */
export interface Journey {
  how: "migrate" | "import" | "restore";
  from: string;
  /** When the copy was made that was loaded. */
  made_at?: string;
}

/** The whole of a store. Errors: `MoveRefused`. */
export function wholeOf({ to, name }: Pick<Destination, "to" | "name">): Whole {
  if (!to.whole) throw new MoveRefused(`${name} cannot be moved: its store does not offer itself as a whole`);
  return to.whole;
}

/**
 * Marks an empty store as being loaded, loads it, and has `end` say when it is whole. Where that fails it is empty as it was
 * before, unless it is not known whether the source is. Errors: `MoveRefused`; whatever `load` fails with.
 */
export async function loading<T>(
  destination: Destination,
  loaded: Loading,
  load: (keep: (versions: readonly Version[]) => Promise<void>) => Promise<T>,
  deps: MoveDeps,
): Promise<T> {
  const whole = wholeOf(destination);
  const mark = await whole.mark();
  if (mark) throw new MoveRefused(`${destination.name} takes nothing: ${stateOf(mark)}`);
  await requireEmpty(destination);
  try {
    await whole.commit([], { from: undefined, to: loaded });
    // What was written between the first look and the mark.
    await requireEmpty(destination);
  } catch (error) {
    // Also where it was marked, and only the answer got lost.
    await whole.commit([], { from: loaded, to: undefined }).catch(() => undefined);
    throw error;
  }
  try {
    // Each commit tells that whoever loads it is there.
    return await load((versions) => whole.commit(versions, { from: loaded, to: { ...loaded, at: moment(deps) } }));
  } catch (error) {
    // Not where it could not be reached, or is another's by now: then it stays marked, and takes nothing.
    if (!(error instanceof FenceUnknown)) await whole.clear(loaded).catch(() => undefined);
    throw error;
  }
}

/** What a mark says to whoever wants the store. */
export function stateOf(mark: Mark): string {
  if (mark.state === "moved") return `it moved to ${mark.to} at ${mark.at}, and is kept as it was then`;
  if (mark.state === "held") return `it is being copied, until ${mark.until} at the latest`;
  return `a move into it, from ${mark.from}, has not ended`;
}

/** Whether a store has no records. */
export async function isEmpty(whole: Whole): Promise<boolean> {
  for await (const page of whole.dump()) if (page.some((version) => version.json)) return false;
  return true;
}

async function requireEmpty(destination: Destination): Promise<void> {
  if (await isEmpty(wholeOf(destination))) return;
  const head = await readHead(destination.to);
  const what = head ? `the log ${head.origin} with ${head.length} entries` : "records";
  throw new MoveRefused(`${destination.name} is not empty: it holds ${what}. Name a store that is`);
}

/** Throws `MoveRefused` where the clock is too far behind a log to date the move. */
export function requireClock(log: ChainHead | undefined, { clock }: MoveDeps): void {
  const behind = log && whyClockBehind(log, clock.now());
  if (behind) throw new MoveRefused(behind);
}

/** Writes the move into the log that arrived, and with it takes the mark away: from then on the store is in use. */
export async function arrive(
  { to, name, actor }: Destination,
  { how, from, made_at }: Journey,
  marked: Mark,
  { clock, sha256 }: MoveDeps,
): Promise<void> {
  const whole = wholeOf({ to, name });
  const kept = await to.get("meta", "chain");
  if (!kept) return whole.commit([], { from: marked, to: undefined });
  const said = { actor: actor ?? null, authenticated: actor === undefined ? null : "claimed" };
  const detail = { how, from, to: name, ...(made_at !== undefined && { made_at }), ...said };
  const at = stamp(kept.value, clock.now());
  const { entry, head } = nextEntry(kept.value, { event_type: "store_moved", detail }, at, sha256);
  const writes = [
    { collection: "audit", id: entryKey(entry.id), revision: 1, json: json(entry) },
    { collection: "meta", id: "chain", revision: kept.revision + 1, json: json(head) },
  ];
  await whole.commit(writes, { from: marked, to: undefined }).catch(async (error: unknown) => {
    // Where only the answer got lost, the entry is there.
    const found = await to.get("audit", entryKey(entry.id)).catch(() => undefined);
    if (found?.value.current_hash !== entry.current_hash) throw error;
  });
}

/** A moment as marks and files have it. */
export const moment = ({ clock }: MoveDeps): string => new Date(clock.now()).toISOString();
