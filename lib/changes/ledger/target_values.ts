/** Values that a target held, by our own record: entries of the log, and contents that match the digests in them. */
import { type AuditEntry } from "../../audit/entry.ts";
import { type TargetKey, readRecord, formatTargetKey } from "../records.ts";
import { parseDetail, findTargetFacts } from "../rules/event.ts";
import { listEntries } from "../rules/list_entries.ts";
import { findApplied, type ChangeRecord } from "../rules/record.ts";
import { isSameTarget } from "../rules/target_key.ts";
import type { StepBase } from "../rules/value_limits.ts";
import { findOwner, type LedgerSources } from "./targets.ts";
import { listEntryIds, verifyRecord } from "./verify_record.ts";

/** A value that a target held, the numbers that an apply found there, or why the record does not show it. */
export type BaseValue = (StoredValue & object & { unheld?: true }) | { found: readonly StepBase[] };

type StoredValue = { value: unknown } | { unknown: string } | undefined;

/**
 * Returns what a target held at a moment and what was set there since, oldest first, in the order in which they are a base for a
 * step. Nothing is read of a value before it is asked for. `unheld`: the target did not hold it at the moment.
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
  const start =
    typeof owner === "object" && owner !== null ? owner : await findAppliedValue(sources, target, { owner, moment });
  if (start) yield start;
  const applies = entries.filter(({ event_type }) => event_type === "change_applied");
  const found = parseDetail(applies[0]?.detail ?? "").step_base?.filter((base) => isSameTarget(base, target));
  if (!start && found && found.length > 0) yield { found };
  // No value is a first one where any was set before.
  const before = start || applies.length === 0 ? undefined : await readLastValue(sources, target, moment);
  if (before) yield { ...before, unheld: true };
  for (const { change_id } of applies) {
    const set = findSetValue(await readVerified(sources, change_id), target);
    if (set) yield { ...set, unheld: true };
  }
}

/** Returns what a target holds now, by the record; undefined where no applied change set it. */
export const readCurrentValue = async (sources: LedgerSources, target: TargetKey): Promise<StoredValue> =>
  findAppliedValue(sources, target, { owner: await findOwner(sources, target) });

/** Returns the last value that was ever set at a target, or before a moment, rolled back or not; undefined where none was. */
export async function readLastValue(sources: LedgerSources, target: TargetKey, moment?: string): Promise<StoredValue> {
  const { evidence, reads } = sources;
  const next = evidence.walkTarget("held", target);
  for (let entry; (entry = await next());) {
    if (entry.event_type !== "change_applied" || (moment !== undefined && entry.timestamp >= moment)) continue;
    const set = findSetValue(await readVerified(sources, entry.change_id), target);
    if (set) return set;
  }
  // The index names what is older than all that was indexed.
  const stored = (await reads.get("set_targets", formatTargetKey(target)))?.value;
  const entry = stored === undefined ? undefined : await evidence.storedEntry(stored);
  if (stored === undefined || (moment !== undefined && !(entry && entry.timestamp < moment))) return undefined;
  const last = entry && (await readVerified(sources, entry.change_id));
  return (last && findSetValue(last, target)) ?? UNKNOWN;
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
  if (target_holds === null) return change_id;
  const [rolledBack, remaining] = [await readVerified(sources, change_id), await readVerified(sources, target_holds)];
  if (!rolledBack?.applied || !remaining?.applied) return UNKNOWN;
  // A rollback under a later change leaves its target to that.
  return remaining.applied.entry > rolledBack.applied.entry ? target_holds : change_id;
}

/** Finds the value that an owner set, or of the changes under it the newest that was applied at a moment, or is now. */
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
    const isOver = rolled_back_at !== null && (moment === undefined || rolled_back_at < moment);
    const set = isOver ? undefined : findSetValue(record, target);
    if (set) return set;
    const apply = await sources.evidence.storedEntry(record.applied.entry);
    id = (apply && findTargetFacts(apply, target)?.target_held) ?? null;
  }
  return undefined;
}

/** Returns the value that a change sets at a place; undefined where it leaves the place alone. */
function findSetValue(record: ChangeRecord | undefined, target: TargetKey): StoredValue {
  if (!record) return UNKNOWN;
  if (record.change.erased) return { unknown: `the content of ${record.change.change_id} was erased` };
  const entry = listEntries(record.change).find((one) => isSameTarget(one, target));
  return entry?.value === undefined ? undefined : { value: entry.value };
}

/** Reads a change that matches its entries; those from before all that was indexed are taken at their word. */
async function readVerified(sources: LedgerSources, changeId: string): Promise<ChangeRecord | undefined> {
  const { reads, evidence, sha256 } = sources;
  const record = await readRecord(reads, changeId);
  const entries = await Promise.all(listEntryIds(record).map(evidence.storedEntry));
  return verifyRecord(changeId, record, entries, sha256).length === 0 ? record : undefined;
}
