/** What a store of one's own is made with: an engine keeps versions of records, and these make the port of it. */
export { type Attempt, Contended, type Engine, type Write } from "./engine/attempt.ts";
export { type Dumped, dumpVersions } from "./engine/dump.ts";
export { versionsOverFloors } from "./engine/floors.ts";
export { groupCommit } from "./engine/group_commit.ts";
export { MARK_KEY } from "./engine/mark.ts";
export { overFloors } from "./engine/over_floors.ts";
export { type Pacing, systemPacing } from "./engine/pacing.ts";
export { type Bounds, keyBounds, parseId, sortKey } from "./engine/record_key.ts";
export { type Keeper, serial } from "./engine/serial.ts";
export { heedingMark, sharedWhole } from "./engine/shared_whole.ts";
export { type SoleParts, soleWhole, type SoleWhole } from "./engine/sole_whole.ts";
export { type SortedMap, sortedMap } from "./engine/sorted_map.ts";
export { type Key, makeReads, type Row, type Version, type View } from "./engine/view.ts";
export { Json } from "./json.ts";
export {
  type ListOptions,
  MOST_BYTES,
  MOST_WRITES,
  OutcomeUnknown,
  type Reads,
  RevisionConflict,
  type Store,
  StoreBusy,
  type Stored,
  StoreUnavailable,
  type Tx,
} from "./store.ts";
export type { Mark, Marking, Whole } from "./whole.ts";
