/** Current values of targets; for plans, the state of each target after a failed operation, and the differences not opened yet. */
import { parseDetail } from "../../../lib/changes/rules/event.ts";
import { isSameTarget } from "../../../lib/changes/rules/target_key.ts";
import type { Change, ChangeDetail, Operation } from "../core/api_types.ts";
import { useValue } from "../core/hooks.tsx";
import { createValue } from "../core/value.ts";
import type { Badge } from "./statuses.ts";

export type Entry = NonNullable<Change["sets"]>[number];

/** The result of an operation for a target of a plan, as answered or recorded. */
export interface EntryResult {
  tenant_id: string;
  target: string;
  result?: string;
  host?: string | null;
  holds?: { value: unknown } | null;
  error?: string;
  /** Once the target is rolled back: the change whose value it has then; null if none. */
  target_holds?: string | null;
}

/** Lists the targets in an answer or an entry about a plan; empty for other changes. */
export const listResults = (answer: unknown): readonly EntryResult[] =>
  (answer as { sets?: readonly EntryResult[] } | null | undefined)?.sets ?? [];

/** Lists the results of failed operations for each target of a plan; empty once an operation succeeds. */
export function readFailedResults({ audit_entries }: ChangeDetail): EntryResult[] {
  let failed: EntryResult[] = [];
  for (const { event_type, detail } of audit_entries) {
    if (event_type === "change_applied" || event_type === "change_rolled_back") failed = [];
    if (event_type !== "change_apply_failed" && event_type !== "change_rollback_failed") continue;
    const results = listResults(parseDetail(detail));
    failed = [...failed.filter((earlier) => !results.some((result) => isSameTarget(earlier, result))), ...results];
  }
  return failed;
}

export function resultBadge({ host, target_holds }: EntryResult, { status }: Pick<Change, "status">): Badge {
  if (target_holds !== undefined) return { word: "Rolled back", shape: "back", tone: "warn" };
  if (host === "unknown") return { word: "Unknown, still being resolved", shape: "bang", tone: "bad" };
  if (host === "applied")
    return { word: status === "applied" ? "Not rolled back" : "Still set", shape: "full", tone: "bad" };
  return { word: "As before", shape: "dash", tone: "quiet" };
}

const openedEntries = createValue<ReadonlySet<string>>(new Set());

const entryKey = ({ digest }: Pick<Change, "digest">, index: number): string => `${digest} ${index}`;

/** Records that the difference of a target was opened. */
export const recordOpened = (change: Change, index: number): void =>
  openedEntries.set(new Set([...openedEntries.get(), entryKey(change, index)]));

/** Returns the targets of a plan whose difference this window has not opened. */
export function useUnopenedEntries(change: Change): readonly Entry[] {
  const openedKeys = useValue(openedEntries);
  return (change.sets ?? []).filter((_, index) => !openedKeys.has(entryKey(change, index)));
}

/** A value; `null`: the target has none; undefined: not known. */
export type TargetValue = { value?: unknown } | null | undefined;

interface BeforeAfter {
  before: unknown;
  after: unknown;
  present_before?: boolean;
}

/** Returns the current value, from the answer or from a preview with both sides; undefined if an adapter reports neither. */
export function readHostValue({ adapter }: Operation): TargetValue {
  if (adapter?.holds !== undefined) return adapter.holds;
  const preview = adapter?.preview;
  if (typeof preview !== "object" || preview === null || !("before" in preview && "after" in preview)) return undefined;
  const { before, present_before } = preview as BeforeAfter;
  return present_before === false ? null : { value: before };
}
