/** Loads the destination of a move while it takes no writes, verifies it, and opens it with the entry that records the move. */
import { type ChainHead, entryKey, nextEntry, readHead, entryTimestamp, findClockProblem } from "../../audit/chain.ts";
import { createCopiedLogCheck } from "../../audit/copied_log.ts";
import { type Clock, fastestSha256, type Sha256, systemClock } from "../../kit/platform.ts";
import { HEAD_RECORD, LOG_COLLECTION } from "../../store/collections.ts";
import { json } from "../../store/json.ts";
import { MoveRejected } from "../../store/move/move_rejected.ts";
import type { Store } from "../../store/store.ts";
import type { Version } from "../../store/version.ts";
import { describeMoveState, type Loading, type MoveState, type BulkAccess } from "../../store/bulk_access.ts";

export interface MoveDeps {
  clock: Clock;
  sha256: Sha256;
}

export const createMoveDeps = (): MoveDeps => ({ clock: systemClock, sha256: fastestSha256() });

/** Formats the current time for move states and files: RFC 3339. */
export const formatNow = ({ clock }: MoveDeps): string => new Date(clock.now()).toISOString();

/** A store to load: its name for people and for the log, without a password, and the person who moves it. */
export interface Destination {
  to: Store;
  name: string;
  actor?: string | undefined;
}

/** The result of a move: the log as it was moved, undefined for a store without one. */
export interface MoveResult {
  log: ChainHead | undefined;
}

export interface MoveOrigin {
  how: "migrate" | "import" | "restore";
  from: string;
  /** When the file that was loaded was made. */
  made_at?: string;
}

/** Returns the bulk access to a store. Errors: `MoveRejected`. */
export function requireMovableStore({ to, name }: Pick<Destination, "to" | "name">): BulkAccess {
  if (!to.bulk) throw new MoveRejected(`${name} cannot be moved: its store does not support it`);
  return to.bulk;
}

/** Rejects a store that has records. Errors: `MoveRejected`. */
export async function requireEmpty(destination: Destination): Promise<void> {
  for await (const page of requireMovableStore(destination).dump()) {
    if (!page.some(({ json: text }) => text)) continue;
    const head = await readHead(destination.to);
    const contents = head ? `the log ${head.origin} with ${head.length} entries` : "records";
    throw new MoveRejected(`${destination.name} is not empty: it has ${contents}. Name an empty store`);
  }
}

/** Rejects a clock that is too far behind a log to date the move. Errors: `MoveRejected`. */
export function requireClock(log: ChainHead | undefined, { clock }: MoveDeps): void {
  const problem = log && findClockProblem(log, clock.now());
  if (problem) throw new MoveRejected(problem);
}

/**
 * Loads an empty store with pages of records, verifies the copy and opens it with the entry that records the move. After a failed
 * load the store is cleared, if it can still be reached. Errors: `MoveRejected`, `CopiedLogInvalid`; those of `pages` and of the
 * store.
 */
export async function loadStore(
  destination: Destination,
  origin: MoveOrigin,
  pages: () => AsyncIterable<readonly Version[]>,
  deps: MoveDeps,
): Promise<MoveResult> {
  const bulk = requireMovableStore(destination);
  const marker = await bulk.moveState();
  if (marker) throw new MoveRejected(`${destination.name} takes nothing: ${describeMoveState(marker)}`);
  await requireEmpty(destination);
  const loading: Loading = { state: "loading", move: crypto.randomUUID(), from: origin.from, at: formatNow(deps) };
  await bulk.commit([], { from: undefined, to: loading });
  try {
    // A service may have written between the first check and the new move state.
    await requireEmpty(destination);
  } catch (error) {
    await bulk.commit([], { from: loading, to: undefined });
    throw error;
  }
  try {
    const log = await readLog(pages(), deps, (versions) => bulk.commit(versions, { from: loading, to: loading }));
    requireClock(log, deps);
    const copied = await readLog(bulk.dump(), deps);
    if (copied?.head !== log?.head)
      throw new MoveRejected(`${destination.name} has another log than was copied into it`);
    await openLoaded(destination, origin, loading, deps);
    return { log };
  } catch (error) {
    await bulk.clear(loading).catch(() => undefined);
    throw error;
  }
}

/** Verifies the log in pages of records, passes each page on, and returns the log's end. Errors: `CopiedLogInvalid`. */
async function readLog(
  pages: AsyncIterable<readonly Version[]>,
  { sha256 }: MoveDeps,
  write?: (versions: readonly Version[]) => Promise<void>,
): Promise<ChainHead | undefined> {
  const verifier = createCopiedLogCheck(sha256);
  for await (const versions of pages) {
    verifier.check(versions);
    await write?.(versions);
  }
  return verifier.finish();
}

/** Appends the entry that records a move, and removes the move state in the same commit: from then on the store is in use. */
export async function openLoaded(
  { to, name, actor }: Destination,
  { how, from, made_at }: MoveOrigin,
  marker: MoveState,
  { clock, sha256 }: MoveDeps,
): Promise<void> {
  const bulk = requireMovableStore({ to, name });
  const chain = await to.get("meta", "chain");
  if (!chain) return bulk.commit([], { from: marker, to: undefined });
  const mover = { actor: actor ?? null, authenticated: actor === undefined ? null : "claimed" };
  const detail = { how, from, to: name, ...(made_at !== undefined && { made_at }), ...mover };
  const at = entryTimestamp(chain.value, clock.now());
  const { entry, head } = nextEntry(chain.value, { event_type: "store_moved", detail }, at, sha256);
  const writes = [
    { collection: LOG_COLLECTION, id: entryKey(entry.id), revision: 1, json: json(entry) },
    { ...HEAD_RECORD, revision: chain.revision + 1, json: json(head) },
  ];
  await bulk.commit(writes, { from: marker, to: undefined }).catch(async (error: unknown) => {
    // If only the response of the store was lost, the entry is stored.
    const stored = await to.get("audit", entryKey(entry.id)).catch(() => undefined);
    if (stored?.value.current_hash !== entry.current_hash) throw error;
  });
}

/** Returns true if a store was loaded from this source and opened already: its log continues the source's log with the move. */
export async function hasArrived(to: Store, source: ChainHead | undefined, from: string): Promise<boolean> {
  if (!source) return false;
  const next = (await to.get("audit", entryKey(source.length + 1)))?.value;
  const detail = next?.event_type === "store_moved" ? (JSON.parse(next.detail) as Partial<MoveOrigin>) : undefined;
  return next?.previous_hash === source.head && detail?.from === from;
}
