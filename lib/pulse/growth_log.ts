/** The growth log: what the service noticed, for people. Bounded; it is not the audit chain. */
import type { Tx } from "../store/store.ts";

/** The oldest rows go first. */
export const GROWTH_ROWS = 10_000;

/** One row; `ref` names the record it is about. */
export interface GrowthRow {
  seq: number;
  at: string;
  tick: number;
  kind: string;
  title: string;
  detail: string;
  ref: string | null;
}

/** The record id of a row: 16 digits, so that ids sort as numbers do. */
export const growthKey = (seq: number): string => String(seq).padStart(16, "0");

/** Adds a row in the transaction of what it tells of. */
export async function addGrowth(
  tx: Tx,
  row: Omit<GrowthRow, "seq" | "tick" | "ref"> & { ref?: string },
): Promise<void> {
  const seq = ((await tx.get<{ seq: number }>("meta", "growth"))?.value.seq ?? 0) + 1;
  const tick = (await tx.get<{ tick: number }>("meta", "tick"))?.value.tick ?? 0;
  tx.put("meta", "growth", { seq });
  tx.put("growth", growthKey(seq), { ref: null, ...row, seq, tick } satisfies GrowthRow);
  if (seq > GROWTH_ROWS) tx.delete("growth", growthKey(seq - GROWTH_ROWS));
}
