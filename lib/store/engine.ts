/** Building blocks for a custom store: an engine stores versions of records, and they turn it into a `Store`. */
export { type Attempt, Contended, type Engine, type Write } from "./engine/attempt.ts";
export { type DumpSource, dumpVersions } from "./engine/dump.ts";
export { readVersionsWithFloors } from "./engine/floors.ts";
export { groupCommit } from "./engine/group_commit.ts";
export { MOVE_STATE_KEY } from "./engine/move_state.ts";
export { enforceRevisionFloors } from "./engine/enforce_floors.ts";
export { type Pacing, systemPacing } from "./engine/pacing.ts";
export { type Bounds, keyBounds, parseId, sortKey } from "./engine/record_key.ts";
export { type SerialStorage, serial } from "./engine/serial.ts";
export { enforceMoveState, sharedBulkAccess } from "./engine/shared_bulk_access.ts";
export {
  type SoleWriterParts,
  soleWriterBulkAccess,
  type SoleWriterBulkAccess,
} from "./engine/sole_writer_bulk_access.ts";
export { type SortedMap, sortedMap } from "./engine/sorted_map.ts";
export { type Key, makeReads, type Row, type Version, type View } from "./engine/view.ts";
export { Json } from "./json.ts";
export {
  type ListOptions,
  MAX_BYTES_PER_DECISION,
  MAX_WRITES_PER_DECISION,
  OutcomeUnknown,
  type Prefetch,
  type Reads,
  RevisionConflict,
  type Store,
  StoreBusy,
  type Stored,
  StoreUnavailable,
  type Tx,
} from "./store.ts";
export type { MoveState, MoveStateChange, BulkAccess } from "./bulk_access.ts";
