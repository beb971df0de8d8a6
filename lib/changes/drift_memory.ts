/** Memory of a process about managed places: its cycle restores only an edit that it saw come. */
import type { Integrity } from "../audit/integrity.ts";
import type { ChangesDeps } from "./deps.ts";
import type { DriftCheck } from "./drift.ts";
import { toChangeId } from "./rules/operands.ts";

declare module "../audit/integrity.ts" {
  interface Integrity {
    /** Dropped when the end of the log is lost: from then on each place is looked at for the first time. */
    drift?: DriftMemory;
  }
}

interface DriftMemory {
  /** The last check of this process. */
  check?: DriftCheck;
  /** Operands whose value this process saw in its place. */
  inForce: Set<string>;
  /** Changes among them whose place was seen to hold something else since. */
  edited: Set<string>;
}

type DriftMemoryDeps = Pick<ChangesDeps, "integrity" | "longLived"> & { integrity: Integrity };

/** Returns the memory of a process that lasts; undefined where processes come and go. */
export const findDriftMemory = ({ integrity, longLived }: DriftMemoryDeps): DriftMemory | undefined =>
  longLived ? (integrity.drift ??= { inForce: new Set(), edited: new Set() }) : undefined;

/** Notes that this process saw a change's value in its place. */
export function noteInForce(deps: DriftMemoryDeps, changeId: string): void {
  const memory = findDriftMemory(deps);
  memory?.inForce.add(changeId);
  memory?.edited.delete(changeId);
}

/** Notes that a place holds something else than its change set. */
export function noteEdited(deps: DriftMemoryDeps, changeId: string): void {
  const memory = findDriftMemory(deps);
  if (memory?.inForce.has(changeId)) memory.edited.add(changeId);
}

/** Forgets changes that own no place any more. */
export function forgetFormerOwners(deps: DriftMemoryDeps, owners: ReadonlySet<string>): void {
  const memory = findDriftMemory(deps);
  for (const id of memory?.inForce ?? []) if (!owners.has(toChangeId(id))) forgetOperands(deps, id);
}

/** Forgets a change that no longer owns its place; of a plan all of its places. */
export function forgetOperands(deps: DriftMemoryDeps, changeId: string): void {
  const memory = findDriftMemory(deps);
  for (const ids of [memory?.inForce, memory?.edited])
    for (const id of ids ?? []) if (id === changeId || toChangeId(id) === changeId) ids!.delete(id);
}
