/** Reads the rows of a projection after projecting up to the head of the log. */
import { readCurrentHead } from "../audit/chain.ts";
import { runWithTimeLimit } from "../kit/time_limit.ts";
import type { Reads } from "../store/store.ts";
import { type Cursor, isCaughtUp, type Projection, type ProjectionDeps, readCursor } from "./projection.ts";
import { catchUp } from "./catch_up.ts";

/** How long a read waits for its projection; milliseconds. */
export const MAX_WAIT_MS = 2000;

/** A projection's rows and state as of an entry; `behind`: the number of later entries in the log. */
export interface Snapshot<S> extends Reads {
  state: S;
  as_of: number;
  behind: number;
}

/**
 * Reads a projection that contains every entry written before; at most once per request. If that cannot be reached in time
 * (the store takes no writes, the projection fails, or too many entries are missing), the snapshot has the stored rows, and
 * `behind` is above 0.
 */
export const readProjection = <S>(deps: ProjectionDeps, projection: Projection<S>): Promise<Snapshot<S>> =>
  deps.requestCache
    ? deps.requestCache.once(`projections/${projection.name}`, () => readUpToHead(deps, projection))
    : readUpToHead(deps, projection);

async function readUpToHead<S>(deps: ProjectionDeps, projection: Projection<S>): Promise<Snapshot<S>> {
  const { store, integrity, requestCache } = deps;
  const [head, storedCursor] = await Promise.all([readCurrentHead(deps), readCursor(deps, projection)]);
  const length = head?.length ?? 0;
  let cursor = storedCursor;
  // A forged entry must not be projected.
  if (!isCaughtUp(projection as Projection, cursor, length) && length > 0 && !integrity.breach) {
    await runWithTimeLimit(
      (signal) => catchUp(deps, projection as Projection, () => !signal.aborted),
      MAX_WAIT_MS,
    ).catch(() => undefined);
    // Otherwise the request would read the cursor from before.
    requestCache?.forget();
    cursor = await readCursor(deps, projection);
  }
  const { get, getMany, list, texts } = store;
  const { entry = 0, state = projection.start } = (cursor ?? {}) as Partial<Cursor<S>>;
  return { get, getMany, list, texts, state, as_of: entry, behind: Math.max(0, length - entry) };
}
