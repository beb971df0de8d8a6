/** The move state of a store: its record, and the errors of decisions during a move. */
import { systemClock } from "../../kit/platform.ts";
import { json } from "../json.ts";
import { StoreBusy, StoreMoved, StoreUnavailable } from "../store.ts";
import type { Key, Version } from "../version.ts";
import { describeMoveState, type Loading, type MoveState, MoveStateConflict, type BulkAccess } from "../bulk_access.ts";

/** Key of the move state's record; no record of the service can have it. */
export const MOVE_STATE_KEY: Key = { collection: "", id: "mark" };

/** Reads the move state from its record. */
export const readMoveState = (version: Version | undefined): MoveState | undefined =>
  version?.json?.value as MoveState | undefined;

/** Creates the record of a move state; `before`: the record that it replaces. */
export const createMoveStateVersion = (state: MoveState | undefined, before: Version | undefined): Version => ({
  ...MOVE_STATE_KEY,
  revision: (before?.revision ?? 0) + 1,
  json: state && json(state),
});

/** Returns the move state at the time `now`; an expired hold counts as none, since its holder may be gone. */
export const findActiveMoveState = (state: MoveState | undefined, now: number): MoveState | undefined =>
  state?.state === "held" && Date.parse(state.until) <= now ? undefined : state;

/** Returns whether two move states are of the same kind and the same move. */
export const isSameMoveState = (a: MoveState | undefined, b: MoveState | undefined): boolean =>
  a?.state === b?.state && a?.move === b?.move;

/** Requires that a store has the expected move state. Errors: `MoveStateConflict`. */
export function requireMoveState(found: MoveState | undefined, expected: MoveState | undefined): void {
  if (!isSameMoveState(found, expected)) throw new MoveStateConflict(found, expected);
}

/** Returns the error of a decision on a store with this move state; undefined if decisions may run. */
export function createMoveStateError(state: MoveState | undefined): StoreBusy | StoreUnavailable | undefined {
  switch (state?.state) {
    case "held":
      return new StoreBusy(`the store is being copied, until ${state.until} at the latest`);
    case "moving":
    case "moved": {
      const to = isAddress(state.to) ? state.to : "another store";
      const explanation =
        state.state === "moved"
          ? `it moved to ${to} at ${state.at}, where its log goes on; it is read-only for good`
          : `it is being moved to ${to} since ${state.at}; it is read-only until the move is given up: countersign unfence`;
      return new StoreMoved(`the store takes no writes: ${describeMoveState(state)}`, { shown: explanation });
    }
    case "loading": {
      const shown = "a move into it has not ended";
      return new StoreUnavailable(`${shown} (from ${state.from}, since ${state.at}); give the same command again`, {
        shown,
      });
    }
    default:
      return undefined;
  }
}

/** Returns whether a destination is a database: its address may be shown, unlike the path of a file. */
const isAddress = (to: string): boolean => /^[a-z]+:\/\//.test(to);

/**
 * Deletes all loaded records page by page, then the move state. It first replaces the move state by a new one, so that a
 * concurrent load or clear conflicts and writes nothing between the deletions. Errors: `MoveStateConflict`.
 */
export async function clearLoaded(
  { dump, commit }: Pick<BulkAccess, "dump" | "commit">,
  loading: Loading,
): Promise<void> {
  const move = crypto.randomUUID();
  /** Each commit renews the time of the state; `isSameMoveState` does not compare times. */
  const createOwnMoveState = (): Loading => ({ ...loading, move, at: new Date(systemClock.now()).toISOString() });
  const from = createOwnMoveState();
  await commit([], { from: loading, to: from });
  for await (const page of dump()) {
    const live = page.filter(({ json: value }) => value);
    const deletions = live.map((version) => ({ ...version, json: undefined }));
    await commit(deletions, { from, to: createOwnMoveState() });
  }
  await commit([], { from, to: undefined });
}
