/** Values that a target held, by our own record: entries of the log, and contents that match the digests in them. */
import { type AuditEntry } from "../../audit/entry.ts";
import { type Place, readRecord, targetKey } from "../records.ts";
import { parseDetail, findTargetFacts } from "../rules/event.ts";
import { listEntries } from "../rules/list_entries.ts";
import { findApplied, type ChangeRecord } from "../rules/record.ts";
import { isSameTarget } from "../rules/target_key.ts";
import type { StepBase } from "../rules/value_limits.ts";
import { findOwner, type LedgerSources } from "./targets.ts";
import { entryIds, verifyRecord } from "./verify_record.ts";

/** A value that a target held, the numbers that an apply found there, or why the record does not show it. */
export type HeldValue = (Found & object & { unheld?: true }) | { found: readonly StepBase[] };

type Found = { value: unknown } | { unknown: string } | undefined;

/**
 * Returns what a target held at a moment and what was set there since, oldest first, in the order in which they are a base for a
 * step. Nothing is read of a value before it is asked for. `unheld`: the target did not hold it at the moment.
 */
export async function* heldSince(
  sources: LedgerSources,
  place: Place,
  moment: string,
): AsyncGenerator<HeldValue, undefined> {
  const next = sources.evidence.heldSince(place, moment);
  const entries: AuditEntry[] = [];
  for (let entry; (entry = await next());) entries.push(entry);
  entries.reverse();
  const owner = entries[0] ? await ownerBefore(sources, place, entries[0]) : await findOwner(sources, place);
  const start =
    typeof owner === "object" && owner !== null ? owner : await valueUnder(sources, place, { owner, moment });
  if (start) yield start;
  const applies = entries.filter(({ event_type }) => event_type === "change_applied");
  const found = parseDetail(applies[0]?.detail ?? "").step_base?.filter((base) => isSameTarget(base, place));
  if (!start && found && found.length > 0) yield { found };
  // No value is a first one where any was set before.
  const before = start || applies.length === 0 ? undefined : await lastValue(sources, place, moment);
  if (before) yield { ...before, unheld: true };
  for (const { change_id } of applies) {
    const set = valueSet(await readVerified(sources, change_id), place);
    if (set) yield { ...set, unheld: true };
  }
}

/** Returns what a target holds now, by the record; undefined where no applied change set it. */
export const heldNow = async (sources: LedgerSources, place: Place): Promise<Found> =>
  valueUnder(sources, place, { owner: await findOwner(sources, place) });

/** Returns the last value that was ever set at a target, or before a moment, rolled back or not; undefined where none was. */
export async function lastValue(sources: LedgerSources, place: Place, moment?: string): Promise<Found> {
  const { evidence, reads } = sources;
  const next = evidence.onTarget("held", place);
  for (let entry; (entry = await next());) {
    if (entry.event_type !== "change_applied" || (moment !== undefined && entry.timestamp >= moment)) continue;
    const set = valueSet(await readVerified(sources, entry.change_id), place);
    if (set) return set;
  }
  // The index names what is older than all that was indexed.
  const stored = (await reads.get("set_targets", targetKey(place)))?.value;
  const entry = stored === undefined ? undefined : await evidence.kept(stored);
  if (stored === undefined || (moment !== undefined && !(entry && entry.timestamp < moment))) return undefined;
  const last = entry && (await readVerified(sources, entry.change_id));
  return (last && valueSet(last, place)) ?? UNKNOWN;
}

const UNKNOWN = { unknown: "its record does not match the log" };

/** Finds the owner of a target before an apply or a rollback. */
async function ownerBefore(
  sources: LedgerSources,
  place: Place,
  entry: AuditEntry,
): Promise<string | null | { unknown: string }> {
  const { event_type, change_id } = entry;
  const { target_held = null, target_holds = null } = findTargetFacts(entry, place) ?? {};
  if (event_type === "change_applied") return target_held;
  if (target_holds === null) return change_id;
  const [rolledBack, left] = [await readVerified(sources, change_id), await readVerified(sources, target_holds)];
  if (!rolledBack?.applied || !left?.applied) return UNKNOWN;
  // A rollback under a later change leaves its target to that.
  return left.applied.entry > rolledBack.applied.entry ? target_holds : change_id;
}

/** Finds the value that an owner set, or of the changes under it the newest that was applied at a moment, or is now. */
async function valueUnder(
  sources: LedgerSources,
  place: Place,
  { owner, moment }: { owner: string | null; moment?: string },
): Promise<Found> {
  const passed = new Set<string>();
  for (let id = owner; id !== null && !passed.has(id);) {
    passed.add(id);
    const record = await readVerified(sources, id);
    if (!record?.applied) return UNKNOWN;
    const rolled_back_at = findApplied(record, place)?.rolled_back_at ?? record.change.rolled_back_at;
    const isOver = rolled_back_at !== null && (moment === undefined || rolled_back_at < moment);
    const set = isOver ? undefined : valueSet(record, place);
    if (set) return set;
    const apply = await sources.evidence.kept(record.applied.entry);
    id = (apply && findTargetFacts(apply, place)?.target_held) ?? null;
  }
  return undefined;
}

/** Returns the value that a change sets at a place; undefined where it leaves the place alone. */
function valueSet(record: ChangeRecord | undefined, place: Place): Found {
  if (!record) return UNKNOWN;
  if (record.change.erased) return { unknown: `the content of ${record.change.change_id} was erased` };
  const entry = listEntries(record.change).find((one) => isSameTarget(one, place));
  return entry?.value === undefined ? undefined : { value: entry.value };
}

/** Reads a change that matches its entries; those from before all that was indexed are taken at their word. */
async function readVerified(sources: LedgerSources, changeId: string): Promise<ChangeRecord | undefined> {
  const { reads, evidence, sha256 } = sources;
  const record = await readRecord(reads, changeId);
  const entries = await Promise.all(entryIds(record).map(evidence.kept));
  return verifyRecord(changeId, record, entries, sha256).length === 0 ? record : undefined;
}
