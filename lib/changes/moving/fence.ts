/**
 * Fences the source of a move before anything is copied, so that its log continues in only one store. Each commit here writes no
 * record: it replaces the move state `from` by `to`, and fails if the store has another state meanwhile.
 */
import { MoveRejected } from "../../store/move/move_rejected.ts";
import { describeMoveState, type MoveState, type BulkAccess } from "../../store/bulk_access.ts";
import { formatNow, type MoveDeps } from "./load.ts";

/** A store that is copied or moved: its name as the log and the errors of a fenced store show it, without a password. */
export interface MoveSource {
  from: BulkAccess;
  name: string;
}

/** The move state of a fenced store. */
export type FenceMarker = Extract<MoveState, { state: "moving" | "moved" }>;

/** Returns the fence of a store for a destination; undefined if the store is not fenced. Errors: `MoveRejected`. */
export async function readFence({ from, name }: MoveSource, to: string): Promise<FenceMarker | undefined> {
  const marker = await from.moveState();
  if (!marker) return undefined;
  if ((marker.state === "moving" || marker.state === "moved") && marker.to === to) return marker;
  throw new MoveRejected(`${name} cannot be moved: ${describeMoveState(marker)}`);
}

/** Fences a store for a destination, after which it takes no writes; a repeated move keeps its fence. Errors: `MoveRejected`. */
export async function fenceStore(source: MoveSource, to: string, deps: MoveDeps): Promise<FenceMarker> {
  const existing = await readFence(source, to);
  if (existing) return existing;
  const marker: FenceMarker = { state: "moving", move: crypto.randomUUID(), to, at: formatNow(deps) };
  await source.from.commit([], { from: undefined, to: marker });
  return marker;
}

/** Records that the move of a fenced store has ended: its log continues elsewhere. */
export async function endMove({ from }: MoveSource, marker: FenceMarker): Promise<void> {
  if (marker.state === "moving") await from.commit([], { from: marker, to: { ...marker, state: "moved" } });
}

/**
 * Gives up a move that has not ended: the store takes writes again. With `force`, also a move that has ended, if the copy was lost
 * before its first use. Errors: `MoveRejected`.
 */
export async function unfenceStore({ from, name }: MoveSource, { force = false } = {}): Promise<FenceMarker> {
  const marker = await from.moveState();
  if (marker?.state !== "moving" && marker?.state !== "moved") throw new MoveRejected(`${name} is not fenced`);
  if (marker.state === "moved" && !force)
    throw new MoveRejected(
      `${describeMoveState(marker)}: two stores would go on with one log. If ${marker.to} is lost and was never used, add --force`,
    );
  await from.commit([], { from: marker, to: undefined });
  return marker;
}
