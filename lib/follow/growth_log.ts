/** The growth log: what the service noticed, for people. Bounded; it is not the audit chain. */
import * as z from "zod";
import type { Store, Tx } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Collections {
    growth: GrowthRow;
    growth_kinds: true;
  }
  interface Meta {
    growth: { seq: number };
  }
}

/** The oldest rows go first. */
export const GROWTH_ROWS = 10_000;

/** One row; `ref` names the record it is about. */
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

/** The record id of a row: 16 digits, so that ids sort as numbers do. */
export const growthKey = (seq: number): string => String(seq).padStart(16, "0");

/** The place of a row among those of its kind. */
const kindKey = (kind: string, seq: number): string => `${kind}\n${growthKey(seq)}`;

/** The number of the newest row, 0 before the first. */
export const newestGrowth = async (reader: Pick<Store | Tx, "get">): Promise<number> =>
  (await reader.get("meta", "growth"))?.value.seq ?? 0;

/** Adds a row in the transaction of what it tells of. */
export async function addGrowth(
  tx: Tx,
  row: Omit<GrowthRow, "seq" | "tick" | "ref"> & { ref?: string },
): Promise<void> {
  const seq = (await newestGrowth(tx)) + 1;
  const tick = (await tx.get("meta", "tick"))?.value.tick ?? 0;
  tx.put("meta", "growth", { seq });
  tx.put("growth", growthKey(seq), { ref: null, ...row, seq, tick });
  tx.put("growth_kinds", kindKey(row.kind, seq), true);
  if (seq > GROWTH_ROWS) await forget(tx, seq - GROWTH_ROWS);
}

async function forget(tx: Tx, seq: number): Promise<void> {
  const oldest = (await tx.get("growth", growthKey(seq)))?.value;
  if (!oldest) return;
  tx.delete("growth", growthKey(seq));
  tx.delete("growth_kinds", kindKey(oldest.kind, seq));
}

/** Rows, newest first; `next` is the `before` of the next page. */
export async function growthPage(
  store: Store,
  { limit, before, kind }: { limit: number; before?: number | undefined; kind?: string | undefined },
): Promise<{ entries: GrowthRow[]; next: number | null }> {
  const from = before ?? Number.MAX_SAFE_INTEGER;
  const rows =
    kind === undefined ? await newestRows(store, from, limit + 1) : await rowsOfKind(store, kind, from, limit + 1);
  const entries = rows.slice(0, limit);
  return { entries, next: rows.length > limit ? entries.at(-1)!.seq : null };
}

async function newestRows(store: Store, before: number, limit: number): Promise<GrowthRow[]> {
  const page = await store.list("growth", { after: growthKey(before), limit, reverse: true });
  return page.map(({ value }) => value);
}

async function rowsOfKind(store: Store, kind: string, before: number, limit: number): Promise<GrowthRow[]> {
  const prefix = kindKey(kind, 0).slice(0, -growthKey(0).length);
  const keys = await store.list("growth_kinds", { after: kindKey(kind, before), limit, reverse: true });
  const ids = keys.filter(({ id }) => id.startsWith(prefix)).map(({ id }) => id.slice(prefix.length));
  const rows = await Promise.all(ids.map((id) => store.get("growth", id)));
  return rows.flatMap((row) => (row ? [row.value] : []));
}

/** Rows after a number, oldest first. */
export async function growthAfter(store: Store, seq: number, limit: number): Promise<GrowthRow[]> {
  const page = await store.list("growth", { after: growthKey(seq), limit });
  return page.map(({ value }) => value);
}
