/** Compares a stored record with the entries about its change. Pure. */
import type { AuditEntry } from "../../audit/entry.ts";
import type { Sha256 } from "../../kit/platform.ts";
import { parseEvent } from "../rules/event.ts";
import { evolve } from "../rules/evolve.ts";
import { hasAllPlanTargets } from "../rules/plan_targets.ts";
import { type ChangeRecord, type ChangeState, listDifferences } from "../rules/record.ts";

/**
 * Names of what does not match the log: fields of the record, indexes of the store, or `content` if it does not match its digest.
 * `record`: the record is missing or malformed; `audit`: it does not list all its entries; `log`: the entries do not follow each
 * other.
 */
export type Mismatch = readonly string[];

/** Computes the state of a change from its entries; undefined if there are none, or one is missing or does not follow. */
export function foldEntries(entries: readonly (AuditEntry | undefined)[]): ChangeState | undefined {
  const [first] = entries;
  const proposal = first && parseEvent(first);
  let state: ChangeState | undefined;
  for (const entry of entries) {
    const event = entry && parseEvent(entry);
    if (!event || !hasAllPlanTargets(proposal!, state, event)) return undefined;
    state = evolve(state, event);
    if (!state) return undefined;
  }
  return state;
}

/** Lists the ids of the entries that a record names, oldest first; empty if they are not rising ids. */
export function listEntryIds(record: ChangeRecord | null | undefined): readonly number[] {
  const audit: unknown = record?.audit;
  if (!Array.isArray(audit)) return [];
  return audit.every((id, index) => Number.isInteger(id) && id > (audit[index - 1] ?? 0)) ? audit : [];
}

/** Compares a record with all entries about its change, oldest first. The result is empty if they match. */
export function verifyRecord(
  changeId: string,
  record: ChangeRecord | null | undefined,
  entries: readonly (AuditEntry | undefined)[],
  sha256: Sha256,
): Mismatch {
  const { change, audit } = record ?? {};
  if (change?.status === undefined || change.change_id !== changeId || !Array.isArray(audit)) return ["record"];
  const ids = listEntryIds(record);
  const isComplete = ids.length > 0 && entries.length === ids.length;
  if (!isComplete || entries.some((entry, index) => entry?.id !== ids[index] || entry?.change_id !== changeId))
    return ["audit"];
  const state = foldEntries(entries);
  return state ? listDifferences(state, record!, sha256) : ["log"];
}
