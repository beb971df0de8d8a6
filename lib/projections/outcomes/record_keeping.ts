/** M, memory: the share of the required items that the records of closed changes have. */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import { POLICY_EXPIRY, POLICY_MINOR } from "../../changes/rules/actor.ts";
import { parseMandateName } from "../../changes/rules/mandate.ts";
import { isCutShort, isJudged, type Outcome } from "../../changes/rules/outcome.ts";
import { DAY_MS, utcDay, type Window } from "../../kit/days.ts";
import type { ProjectedChange } from "../projection.ts";
import type { Counts } from "../counts.ts";

export const RECORD_ITEMS = ["rationale", "decider", "note", "verdict"] as const;
export type RecordItem = (typeof RECORD_ITEMS)[number];

const MAX_GAPS = 20;
/** UTC days that M covers, today included. */
export const MEMORY_DAYS = 90;

const gapSchema = once(() =>
  z.object({
    change_id: z.string().describe("A closed change."),
    closed_at: z.string().meta({ description: "When it was closed.", format: "date-time" }),
    missing: z.array(z.enum(RECORD_ITEMS)).describe("Missing items."),
  }),
);

/** Missing items of a closed change. */
export type Gap = z.infer<ReturnType<typeof gapSchema>>;

export const memorySchema = once(() =>
  z.object({
    value: z.number().nullable().describe("M, from 0 to 1: present / expected; null when no change was closed."),
    from: z.string().meta({ description: "First UTC day that is looked at.", examples: ["2026-08-25"] }),
    to: z.string().meta({ description: "Last UTC day that is looked at.", examples: ["2026-11-22"] }),
    closed: z.number().int().describe("Changes closed within these days: denied, or applied and their outcome final."),
    expected: z.number().int().describe("Items that should be on their records."),
    present: z.number().int().describe("Present items, including those added later."),
    late: z.number().int().describe("Number of present items that were added later."),
    missing: z
      .record(z.enum(RECORD_ITEMS), z.number().int().describe("Records that lack it."))
      .describe("How often each item is missing."),
    gaps: z.array(gapSchema()).describe("The newest changes with something missing."),
  }),
);
export type Memory = z.infer<ReturnType<typeof memorySchema>>;

/** The day on which a change was closed, null before; its missing items, and those that were added late. */
export interface RecordStatus {
  day: string | null;
  missing: RecordItem[];
  late: RecordItem[];
}

/**
 * Returns the items that the record of a closed change needs, and those of them that are missing; an item added `late` is not
 * missing. A change needs no note if the rule for minor changes or a mandate approved it, because no person decided. It needs no
 * verdict if it was never applied, or if its outcome ended before its horizon without a verdict.
 */
export function checkRecord(
  change: ProjectedChange,
  outcome: Outcome | null,
  late: readonly RecordItem[] = [],
): { expected: RecordItem[]; missing: RecordItem[] } {
  /** True for an item that is there; absent for one that is not needed. */
  const present: Partial<Record<RecordItem, boolean>> = {
    rationale: change.rationale.trim() !== "",
    decider: change.approver !== null && change.approver !== POLICY_EXPIRY,
  };
  if (change.approver !== POLICY_MINOR && parseMandateName(change.approver) === undefined)
    present.note = [
      // The note of an expiry was not written by a person.
      change.approver === POLICY_EXPIRY ? null : change.approval_note,
      ...change.approvals.map(({ note }) => note),
    ].some((note) => note?.trim());
  if (outcome && (isJudged(outcome) || !isCutShort(outcome))) present.verdict = isJudged(outcome);
  const expected = RECORD_ITEMS.filter((item) => present[item] !== undefined);
  return { expected, missing: expected.filter((item) => !present[item] && !late.includes(item)) };
}

/** Returns the counts that the close of a change adds to its day. */
export function countClosing(change: ProjectedChange, outcome: Outcome | null, late: readonly RecordItem[]): Counts {
  const { expected, missing } = checkRecord(change, outcome, late);
  const addedLate = checkRecord(change, outcome).missing.length - missing.length;
  return {
    closed: 1,
    expected_items: expected.length,
    present_items: expected.length - missing.length,
    ...(addedLate > 0 ? { late_items: addedLate } : {}),
    ...Object.fromEntries(missing.map((item) => [`missing_${item}`, 1])),
    ...(outcome ? { [`verdict_${outcome.verdict}`]: 1 } : {}),
  };
}

/** Adds the gap of a closed change at the end, and drops gaps that are older than the window. */
export function addGap(gaps: readonly Gap[], change_id: string, missing: RecordItem[], closed_at: string): Gap[] {
  const from = utcDay(Date.parse(closed_at) - (MEMORY_DAYS - 1) * DAY_MS);
  const all = missing.length > 0 ? [...gaps, { change_id, closed_at, missing }] : gaps;
  // `from` is a day: as text it sorts before each time of this day.
  return all.filter((gap) => gap.closed_at >= from).slice(-MAX_GAPS);
}

/** Removes an item that was added late from the gaps. */
export const removeFromGaps = (gaps: readonly Gap[], change_id: string, item: RecordItem): Gap[] =>
  gaps.flatMap((gap) => {
    if (gap.change_id !== change_id) return gap;
    const missing = gap.missing.filter((other) => other !== item);
    return missing.length > 0 ? { ...gap, missing } : [];
  });

/** Computes M over a window: `present ÷ expected`, `null` when no change was closed. */
export function computeMemory(gaps: readonly Gap[], counts: Counts, window: Window): Memory {
  const { closed = 0, expected_items: expected = 0, present_items: present = 0 } = counts;
  return {
    value: expected === 0 ? null : present / expected,
    ...window,
    closed,
    expected,
    present,
    late: counts.late_items ?? 0,
    missing: Object.fromEntries(
      RECORD_ITEMS.map((item) => [item, counts[`missing_${item}`] ?? 0]),
    ) as Memory["missing"],
    gaps: gaps.filter(({ closed_at }) => closed_at >= window.from).reverse(),
  };
}
