/** Moves a store into another: fences the source, copies it, verifies the copy, and opens it. */
import type { ChainHead } from "../../audit/chain.ts";
import { isHeadRecord } from "../../store/collections.ts";
import type { BulkAccess } from "../../store/bulk_access.ts";
import { type MoveSource, endMove, fenceStore, readFence } from "./fence.ts";
import {
  type Destination,
  hasArrived,
  loadStore,
  type MoveDeps,
  type MoveResult,
  requireEmpty,
  createMoveDeps,
} from "./load.ts";

/**
 * Moves all records of a store into an empty store. The source is fenced first and takes no writes from then on. If a step fails,
 * run the same move again from its start, or give it up with `unfenceStore`. Errors: `MoveRejected`, `CopiedLogInvalid`,
 * `MoveStateConflict`; those of the stores.
 */
export async function migrate(
  source: MoveSource,
  destination: Destination,
  deps: MoveDeps = createMoveDeps(),
): Promise<MoveResult> {
  // A fence of this move is left if an earlier run was interrupted, perhaps after the destination was complete.
  const existingFence = await readFence(source, destination.name);
  const log = existingFence && (await readHeadRecord(source.from));
  if (existingFence && (await hasArrived(destination.to, log, source.name))) {
    await endMove(source, existingFence);
    return { log };
  }
  // This is checked before the fence stops the service that uses the source.
  await requireEmpty(destination);
  const fence = await fenceStore(source, destination.name, deps);
  const moved = await loadStore(destination, { how: "migrate", from: source.name }, () => source.from.dump(), deps);
  await endMove(source, fence);
  return moved;
}

/** Reads the record of the log's head from a dump; undefined if the store has no log. */
async function readHeadRecord(from: BulkAccess): Promise<ChainHead | undefined> {
  for await (const page of from.dump())
    for (const version of page) if (isHeadRecord(version)) return version.json?.value as ChainHead | undefined;
  return undefined;
}
