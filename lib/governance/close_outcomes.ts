import type { Deps } from "../deps.ts";
import { type KpiState, NO_KPIS } from "./kpi.ts";
import { closeOutcome, isOver, type OutcomeRecord } from "./outcome.ts";

const BATCH = 200;

/** Freezes the open outcomes whose 30 days are over, and returns how many. */
export async function closeDueOutcomes(deps: Deps): Promise<number> {
  const { store, clock, product } = deps;
  const due: string[] = [];
  const cursor = (await store.get<{ after: string }>("meta", "outcomes_cursor"))?.value.after ?? "";
  const open = await store.list("outcomes_open", { after: cursor, limit: BATCH });
  for (const { id } of open) {
    const record = (await store.get<OutcomeRecord>("outcomes", id))?.value;
    if (record && isOver(record, clock.now())) due.push(id);
  }
  const after = open.length === BATCH ? open.at(-1)!.id : "";
  if (due.length === 0 && after === cursor) return 0;
  await store.transact(async (tx) => {
    const at = new Date(clock.now()).toISOString();
    const kpis = (await tx.get<KpiState>("kpi", "latest"))?.value ?? NO_KPIS;
    for (const id of due) {
      const record = (await tx.get<OutcomeRecord>("outcomes", id))!.value;
      tx.put("outcomes", id, closeOutcome(record, "time", kpis, product!.intent, at));
      tx.delete("outcomes_open", id);
    }
    tx.put("meta", "outcomes_cursor", { after });
  });
  return due.length;
}
