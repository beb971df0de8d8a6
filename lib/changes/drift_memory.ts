/**
 * Memory of a process about managed values: its cycle restores a value only if the process observed the edit. Values are identified
 * by operands: the id of a change, or of one entry of a plan.
 */
import type { Integrity } from "../audit/integrity.ts";
import type { ChangesDeps } from "./deps.ts";
import type { DriftCheck } from "./drift.ts";
import { toChangeId } from "./rules/operands.ts";

declare module "../audit/integrity.ts" {
  interface Integrity {
    /** Dropped when the end of the log is lost: each target is then verified as if for the first time. */
    drift?: DriftMemory;
  }
}

interface DriftMemory {
  /** The last check of this process. */
  check?: DriftCheck;
  /** Operands whose value this process read from their target. */
  inForce: Set<string>;
  /** Operands of `inForce` whose target held another value afterwards. */
  edited: Set<string>;
}

type DriftMemoryDeps = Pick<ChangesDeps, "integrity" | "longLived"> & { integrity: Integrity };

/** Returns the memory of a long-lived process; undefined for others. */
export const findDriftMemory = ({ integrity, longLived }: DriftMemoryDeps): DriftMemory | undefined =>
  longLived ? (integrity.drift ??= { inForce: new Set(), edited: new Set() }) : undefined;

/** Remembers that a target held the value of its change. */
export function rememberInForce(deps: DriftMemoryDeps, operandId: string): void {
  const memory = findDriftMemory(deps);
  memory?.inForce.add(operandId);
  memory?.edited.delete(operandId);
}

/** Remembers that a target holds another value, if this process read the value of the change from it before. */
export function rememberEdited(deps: DriftMemoryDeps, operandId: string): void {
  const memory = findDriftMemory(deps);
  if (memory?.inForce.has(operandId)) memory.edited.add(operandId);
}

/** Forgets the operands of changes that own no target any more. */
export function forgetFormerOwners(deps: DriftMemoryDeps, owners: ReadonlySet<string>): void {
  const memory = findDriftMemory(deps);
  for (const id of memory?.inForce ?? []) if (!owners.has(toChangeId(id))) forgetOperands(deps, id);
}

/** Forgets an operand, or all operands of a change, that no longer own their targets. `id`: that of the operand or the change. */
export function forgetOperands(deps: DriftMemoryDeps, id: string): void {
  const memory = findDriftMemory(deps);
  for (const ids of [memory?.inForce, memory?.edited])
    for (const operandId of ids ?? []) if (operandId === id || toChangeId(operandId) === id) ids!.delete(operandId);
}
