/** Guardrails: when a feed shows a KPI worse than at the newest apply that names it. */
import { type GuardrailEvidence, evidenceOf } from "./rules/guardrail.ts";
import type { ChangeRecord } from "./rules/record.ts";
import type { Transaction } from "./transaction.ts";
import { entryKey } from "../audit/chain.ts";

declare module "../store/store.ts" {
  interface Collections {
    guardrail_due: Due;
    guardrail_marks: GuardrailEvidence;
    kpi_applied: Watched;
  }
}

const WATCH_MS = 24 * 3600 * 1000;
const PAGE = 20;

/** `kpi_applied/<kpi>\n<applied entry>`: an applied, reversible change that names a KPI; milliseconds since the epoch. */
interface Watched {
  change_id: string;
  at: number;
}

/** `guardrail_due/<change_id>`: a rollback that the intent orders, and how often it has failed. */
export type Due = GuardrailEvidence & { tries?: number };

/** What a feed tripped, as its entry tells it. */
export type Tripped = Omit<GuardrailEvidence, "at"> & { change_id: string };

/** Keeps an applied change under watch, for 24 hours. */
export function watch({ tx, now }: Transaction, { change, applied }: ChangeRecord): void {
  const { kpi, reversible, change_id } = change;
  if (kpi === null || !reversible) return;
  tx.put("kpi_applied", `${kpi}\n${entryKey(applied!.entry)}`, { change_id, at: now });
}

/** Marks what a feed trips, queues the rollbacks that the intent orders, and returns what was not marked before. */
export async function judgeGuardrails(transaction: Transaction, fed: Record<string, number>): Promise<Tripped[]> {
  const { intent } = transaction.product;
  const tripped: Tripped[] = [];
  for (const guardrail of intent.policy.guardrails) {
    const value = fed[guardrail.kpi];
    const watched = value === undefined ? undefined : await newestWatched(transaction, guardrail.kpi);
    const baseline = watched?.applied?.kpis?.[guardrail.kpi];
    if (!watched || value === undefined || baseline === undefined) continue;
    const evidence = evidenceOf(guardrail, baseline, value, intent, transaction.at);
    if (evidence && (await mark(transaction, watched.change.change_id, evidence))) {
      const { at: _, ...seen } = evidence;
      tripped.push({ change_id: watched.change.change_id, ...seen });
    }
  }
  return tripped;
}

/** The newest change under watch for a KPI that is still applied. */
async function newestWatched({ tx, now, change }: Transaction, kpi: string): Promise<ChangeRecord | undefined> {
  const prefix = `${kpi}\n`;
  for (let after: string | undefined; ;) {
    const page = await tx.list("kpi_applied", { prefix, limit: PAGE, reverse: true, ...(after && { after }) });
    for (const { value } of page) {
      if (now - value.at > WATCH_MS) return undefined;
      const record = await change(value.change_id);
      if (record.change.status === "applied") return record;
    }
    if (page.length < PAGE) return undefined;
    after = page.at(-1)!.id;
  }
}

/** Whether it is news: an alert may yet become a rollback. */
async function mark({ tx }: Transaction, changeId: string, evidence: GuardrailEvidence): Promise<boolean> {
  const known = (await tx.get("guardrail_marks", changeId))?.value.action;
  if (known === "rollback" || known === evidence.action) return false;
  tx.put("guardrail_marks", changeId, evidence);
  if (evidence.action === "rollback") tx.put("guardrail_due", changeId, evidence);
  return true;
}
