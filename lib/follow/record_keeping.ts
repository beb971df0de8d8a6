/** M, memory: of what should be on record of a closed change, how much is. */
import * as z from "zod";
import type { Change } from "../governance/rules/change.ts";
import { POLICY_EXPIRY } from "../governance/rules/consent.ts";
import type { Outcome } from "../governance/rules/outcome.ts";
import { POLICY_MINOR } from "../governance/rules/propose.ts";
import type { Store, Tx } from "../store/store.ts";
import type { Window } from "../kit/days.ts";
import type { Tally } from "./tally.ts";

declare module "../store/store.ts" {
  interface Collections {
    gaps: Gap;
  }
}

export const RECORD_ITEMS = ["rationale", "decider", "note", "verdict"] as const;
export type RecordItem = (typeof RECORD_ITEMS)[number];

const GAPS_SHOWN = 20;

const gapSchema = z.object({
  change_id: z.string(),
  closed_at: z.string(),
  missing: z.array(z.enum(RECORD_ITEMS)),
});

/** `gaps/<closed at>:<change_id>`: what is missing on the record of a closed change. */
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
export function recordOf(change: Change, outcome: Outcome | null): { expected: RecordItem[]; missing: RecordItem[] } {
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
export function closingTally(change: Change, outcome: Outcome | null): Tally {
  const { expected, missing } = recordOf(change, outcome);
  return {
    closed: 1,
    expected_items: expected.length,
    present_items: expected.length - missing.length,
    ...Object.fromEntries(missing.map((item) => [`missing_${item}`, 1])),
    ...(outcome ? { [`verdict_${outcome.verdict}`]: 1 } : {}),
  };
}

/** Keeps what is missing on the record of a change that closes now. */
export function keepGap(tx: Tx, change: Change, outcome: Outcome | null, closed_at: string): void {
  const { missing } = recordOf(change, outcome);
  const { change_id } = change;
  if (missing.length > 0) tx.put("gaps", `${closed_at}:${change_id}`, { change_id, closed_at, missing });
}

/** Deletes gaps from before the window, a few at a time. */
export async function forgetOldGaps(tx: Tx, from: string): Promise<void> {
  for (const { id } of await tx.list("gaps", { limit: 50 })) if (id < from) tx.delete("gaps", id);
}

/** M over a window: `present ÷ expected`, `null` when no change was closed. */
export async function memoryOf(store: Pick<Store, "list">, tally: Tally, window: Window): Promise<Memory> {
  const { closed = 0, expected_items: expected = 0, present_items: present = 0 } = tally;
  const newest = await store.list("gaps", { limit: GAPS_SHOWN, reverse: true });
  return {
    value: expected === 0 ? null : present / expected,
    ...window,
    closed,
    expected,
    present,
    missing: {
      rationale: tally.missing_rationale ?? 0,
      decider: tally.missing_decider ?? 0,
      note: tally.missing_note ?? 0,
      verdict: tally.missing_verdict ?? 0,
    },
    gaps: newest.map(({ value }) => value).filter(({ closed_at }) => closed_at >= window.from),
  };
}
