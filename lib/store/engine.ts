/** What a store of one's own is made with: an engine keeps versions of records, and these make the port of it. */
export { type Attempt, Contended, type Engine, OutcomeUnknown, type Write } from "./engine/attempt.ts";
export { groupCommit } from "./engine/group_commit.ts";
export { type Pacing, systemPacing } from "./engine/pacing.ts";
export { type Bounds, boundsOf, idOf, sortKey } from "./engine/record_key.ts";
export { type Keeper, serial } from "./engine/serial.ts";
export { type SortedMap, sortedMap } from "./engine/sorted_map.ts";
export { type Key, readsOf, type Row, type Version, type View } from "./engine/view.ts";
export { Json } from "./json.ts";
export {
  type ListOptions,
  MOST_BYTES,
  MOST_WRITES,
  type Reads,
  RevisionConflict,
  type Store,
  StoreBusy,
  type Stored,
  StoreUnavailable,
  type Tx,
} from "./store.ts";
