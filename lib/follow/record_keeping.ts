/** M, memory: of what should be on record of a closed change, how much is. */
import * as z from "zod";
import { POLICY_EXPIRY, POLICY_MINOR } from "../governance/rules/actor.ts";
import type { Outcome } from "../governance/rules/outcome.ts";
import { DAY_MS, dayOf, type Window } from "../kit/days.ts";
import type { ToldChange } from "./follower.ts";
import type { Tally } from "./tally.ts";

export const RECORD_ITEMS = ["rationale", "decider", "note", "verdict"] as const;
export type RecordItem = (typeof RECORD_ITEMS)[number];

const GAPS_SHOWN = 20;
/** How many UTC days, today included, M looks back. */
export const MEMORY_DAYS = 90;

const gapSchema = z.object({
  change_id: z.string(),
  closed_at: z.string(),
  missing: z.array(z.enum(RECORD_ITEMS)),
});

/** What is missing on the record of a closed change. */
export type Gap = z.infer<typeof gapSchema>;

export const memorySchema = z.object({
  value: z.number().nullable(),
  from: z.string(),
  to: z.string(),
  /** Changes closed within the window: denied, rolled back, or 30 days after their apply. */
  closed: z.number().int(),
  expected: z.number().int(),
  present: z.number().int(),
  missing: z.record(z.enum(RECORD_ITEMS), z.number().int()),
  /** The newest changes with something missing. */
  gaps: z.array(gapSchema),
});
export type Memory = z.infer<typeof memorySchema>;

/**
 * What should be on record of a closed change, and what of it is not. A minor change has no note, since nobody decided;
 * one that expired has no decider, for the same reason; a change that was never applied has no verdict.
 */
export function recordOf(
  change: ToldChange,
  outcome: Outcome | null,
): { expected: RecordItem[]; missing: RecordItem[] } {
  const present: Partial<Record<RecordItem, boolean>> = {
    rationale: change.rationale.trim() !== "",
    decider: change.approver !== null && change.approver !== POLICY_EXPIRY,
  };
  if (change.approver !== POLICY_MINOR)
    present.note = [change.approval_note, ...change.approvals.map(({ note }) => note)].some((note) => note?.trim());
  if (outcome) present.verdict = outcome.verdict !== "inconclusive";
  const expected = RECORD_ITEMS.filter((item) => present[item] !== undefined);
  return { expected, missing: expected.filter((item) => !present[item]) };
}

/** The counts that the closing of a change adds to its day. */
export function closingTally(change: ToldChange, outcome: Outcome | null): Tally {
  const { expected, missing } = recordOf(change, outcome);
  return {
    closed: 1,
    expected_items: expected.length,
    present_items: expected.length - missing.length,
    ...Object.fromEntries(missing.map((item) => [`missing_${item}`, 1])),
    ...(outcome ? { [`verdict_${outcome.verdict}`]: 1 } : {}),
  };
}

/** The newest gaps once a change is closed, oldest first; those from before the window that ends then are forgotten. */
export function newestGaps(
  gaps: readonly Gap[],
  change: ToldChange,
  outcome: Outcome | null,
  closed_at: string,
): Gap[] {
  const { missing } = recordOf(change, outcome);
  const from = dayOf(Date.parse(closed_at) - (MEMORY_DAYS - 1) * DAY_MS);
  const { change_id } = change;
  const all = missing.length > 0 ? [...gaps, { change_id, closed_at, missing }] : gaps;
  return all.filter((gap) => gap.closed_at >= from).slice(-GAPS_SHOWN);
}

/** M over a window: `present ÷ expected`, `null` when no change was closed. */
export function memoryOf(gaps: readonly Gap[], tally: Tally, window: Window): Memory {
  const { closed = 0, expected_items: expected = 0, present_items: present = 0 } = tally;
  return {
    value: expected === 0 ? null : present / expected,
    ...window,
    closed,
    expected,
    present,
    missing: Object.fromEntries(RECORD_ITEMS.map((item) => [item, tally[`missing_${item}`] ?? 0])) as Memory["missing"],
    gaps: gaps.filter(({ closed_at }) => closed_at >= window.from).reverse(),
  };
}
