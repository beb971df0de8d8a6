/** Values that a target held, according to the log and to contents that match the digests in it. */
import { type AuditEntry } from "../../audit/entry.ts";
import { readRecord, formatTargetKey } from "../records.ts";
import { parseDetail, findTargetFacts } from "../rules/event.ts";
import { listEntries } from "../rules/list_entries.ts";
import { findApplied, type ChangeRecord } from "../rules/record.ts";
import { type TargetKey, isSameTarget } from "../rules/target_key.ts";
import type { StepBase } from "../rules/value_limits.ts";
import { findOwner, type LedgerSources } from "./targets.ts";
import { listEntryIds, verifyRecord } from "./verify_record.ts";

/** A value that a target held, the reason why it is not known, or the numbers that an apply read from the target. */
export type BaseValue = (NonNullable<StoredValue> & { absentAtStart?: true }) | { readNumbers: readonly StepBase[] };

type StoredValue = { value: unknown } | { unknown: string } | undefined;

/**
 * Yields the value that a target held at a moment and the values set since, oldest first, as bases for a step. Each value is read
 * only when the caller requests the next one. `absentAtStart`: the target did not hold the value at that moment.
 */
export async function* readValuesSince(
  sources: LedgerSources,
  target: TargetKey,
  moment: string,
): AsyncGenerator<BaseValue, undefined> {
  const next = sources.evidence.walkOwnershipSince(target, moment);
  const entries: AuditEntry[] = [];
  for (let entry; (entry = await next());) entries.push(entry);
  entries.reverse();
  const owner = entries[0] ? await findOwnerBefore(sources, target, entries[0]) : await findOwner(sources, target);
  // An object says why the owner, and so its value, is not known.
  const start =
    typeof owner === "object" && owner !== null ? owner : await findAppliedValue(sources, target, { owner, moment });
  if (start) yield start;
  // If no change held the target at that moment, the first apply since then recorded the numbers that another program had set.
  const applies = entries.filter(({ event_type }) => event_type === "change_applied");
  const readNumbers = parseDetail(applies[0]?.detail ?? "").step_base?.filter((base) => isSameTarget(base, target));
  if (!start && readNumbers && readNumbers.length > 0) yield { readNumbers };
  // A value that was set before the moment and rolled back still counts as a base, though the target no longer held it.
  const earlier = start || applies.length === 0 ? undefined : await readLastValue(sources, target, moment);
  if (earlier) yield { ...earlier, absentAtStart: true };
  for (const { change_id } of applies) {
    const value = findSetValue(await readVerified(sources, change_id), target);
    if (value) yield { ...value, absentAtStart: true };
  }
}

/** Reads the current value of a target; undefined if no applied change set it. */
export const readCurrentValue = async (sources: LedgerSources, target: TargetKey): Promise<StoredValue> =>
  findAppliedValue(sources, target, { owner: await findOwner(sources, target) });

/** Reads the last value that was ever set, or set before a moment, rolled back or not; undefined if there is none. */
export async function readLastValue(sources: LedgerSources, target: TargetKey, moment?: string): Promise<StoredValue> {
  const { evidence, reads } = sources;
  // Entries by which a change began or ceased to hold the target, newest first.
  const next = evidence.walkTarget("held", target);
  for (let entry; (entry = await next());) {
    if (entry.event_type !== "change_applied" || (moment !== undefined && entry.timestamp >= moment)) continue;
    const value = findSetValue(await readVerified(sources, entry.change_id), target);
    if (value) return value;
  }
  // The store's index names the last apply if it is older than the indexed part of the log.
  const applyId = (await reads.get("set_targets", formatTargetKey(target)))?.value;
  if (applyId === undefined) return undefined;
  const apply = await evidence.storedEntry(applyId);
  if (moment !== undefined && !(apply && apply.timestamp < moment)) return undefined;
  const record = apply && (await readVerified(sources, apply.change_id));
  return (record && findSetValue(record, target)) ?? UNKNOWN;
}

const UNKNOWN = { unknown: "its record does not match the log" };

/** Finds the owner of a target before an apply or a rollback. */
async function findOwnerBefore(
  sources: LedgerSources,
  target: TargetKey,
  entry: AuditEntry,
): Promise<string | null | { unknown: string }> {
  const { event_type, change_id } = entry;
  const { target_held = null, target_holds = null } = findTargetFacts(entry, target) ?? {};
  if (event_type === "change_applied") return target_held;
  // No change holds the target after the rollback, so the change that was rolled back held it before.
  if (target_holds === null) return change_id;
  const rolledBack = await readVerified(sources, change_id);
  const remaining = await readVerified(sources, target_holds);
  if (!rolledBack?.applied || !remaining?.applied) return UNKNOWN;
  // `target_holds` is the owner after the rollback. If it was applied later than the change rolled back, it was the owner before too.
  return remaining.applied.entry > rolledBack.applied.entry ? target_holds : change_id;
}

/**
 * Walks from an owner to the changes that it replaced, and returns the first value whose change was not yet rolled back at a moment
 * (absent: now); undefined if there is none.
 */
async function findAppliedValue(
  sources: LedgerSources,
  target: TargetKey,
  { owner, moment }: { owner: string | null; moment?: string },
): Promise<StoredValue> {
  const visited = new Set<string>();
  for (let id = owner; id !== null && !visited.has(id);) {
    visited.add(id);
    const record = await readVerified(sources, id);
    if (!record?.applied) return UNKNOWN;
    const rolled_back_at = findApplied(record, target)?.rolled_back_at ?? record.change.rolled_back_at;
    const isRolledBack = rolled_back_at !== null && (moment === undefined || rolled_back_at < moment);
    const value = isRolledBack ? undefined : findSetValue(record, target);
    if (value) return value;
    const apply = await sources.evidence.storedEntry(record.applied.entry);
    id = (apply && findTargetFacts(apply, target)?.target_held) ?? null;
  }
  return undefined;
}

/** Returns the value that a change sets for a target; undefined if it sets none. */
function findSetValue(record: ChangeRecord | undefined, target: TargetKey): StoredValue {
  if (!record) return UNKNOWN;
  if (record.change.erased) return { unknown: `the content of ${record.change.change_id} was erased` };
  const entry = listEntries(record.change).find((candidate) => isSameTarget(candidate, target));
  return entry?.value === undefined ? undefined : { value: entry.value };
}

/** Reads a change if it matches its entries; entries before the indexed part of the log are used as stored. */
async function readVerified(sources: LedgerSources, changeId: string): Promise<ChangeRecord | undefined> {
  const { reads, evidence, sha256 } = sources;
  const record = await readRecord(reads, changeId);
  const entries = await Promise.all(listEntryIds(record).map(evidence.storedEntry));
  return verifyRecord(changeId, record, entries, sha256).length === 0 ? record : undefined;
}
