/** A row of the growth log: what the service noticed, for people. Bounded; it is not the audit chain. */
import * as z from "zod";
import type { Tx } from "../store/store.ts";
import { push, type Ring, ringKey, seqAt } from "./ring.ts";

declare module "../store/store.ts" {
  interface Collections {
    growth_rows: GrowthRow;
    growth_rows_kinds: true;
    outcome_rows: GrowthRow;
    outcome_rows_kinds: true;
    notices: GrowthRow;
    notices_kinds: true;
  }
}

/** The oldest rows of a source go first. */
export const ROWS_KEPT = 10_000;

/** One row; `ref` names the record it is about. Its place is an entry of the log, and its number a million times that. */
export const growthSchema = z.object({
  seq: z.number().int(),
  at: z.string(),
  tick: z.number().int(),
  kind: z.string(),
  title: z.string(),
  detail: z.string(),
  ref: z.string().nullable(),
});
export type GrowthRow = z.infer<typeof growthSchema>;

/** What is told, before it has a place. */
export type Notice = Omit<GrowthRow, "seq" | "tick" | "ref"> & { ref?: string | null };

/** Where rows lie: made of entries, made of outcomes, or noticed without either. Those of one place stand in this order. */
export const SOURCES = ["growth_rows", "outcome_rows", "notices"] as const;
export type RowSource = (typeof SOURCES)[number];

const FIRST: Readonly<Record<RowSource, number>> = { growth_rows: 0, outcome_rows: 100_000, notices: 900_000 };

/** The place of a row among those of its kind; they are told apart by a line break, which no kind has. */
export const kindKey = (kind: string, seq: number): string => `${kind}\n${ringKey(seq)}`;

/** Adds a row at a place of the log, and resolves with the ring then. */
export async function addRow(
  tx: Tx,
  source: RowSource,
  ring: Ring | undefined,
  { position, tick }: { position: number; tick: number },
  notice: Notice,
): Promise<Required<Ring>> {
  const row = (seq: number): GrowthRow => ({ ref: null, ...notice, seq, tick });
  const bounds = { most: ROWS_KEPT, least: seqAt(position) + FIRST[source] };
  const { ring: after, gone } = await push(tx, source, ring, row, bounds);
  tx.put(`${source}_kinds`, kindKey(notice.kind, after.seq), true);
  for (const { value } of gone) tx.delete(`${source}_kinds`, kindKey(value.kind, value.seq));
  return after;
}
