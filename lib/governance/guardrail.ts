/** Guardrails: when a feed shows a KPI worse than at the newest apply that names it. */
import { addGrowth } from "../follow/growth_log.ts";
import type { Tx } from "../store/store.ts";
import type { Guardrail, Intent } from "./rules/intent.ts";
import { directionOf, roundDelta } from "./rules/kpi.ts";
import type { ChangeRecord, GuardrailEvidence } from "./records.ts";
import type { Unit } from "./transaction.ts";

declare module "../store/store.ts" {
  interface Collections {
    kpi_applied: Applied;
  }
}

const WATCH_MS = 24 * 3600 * 1000;
const WATCHED = 50;

/** `kpi_applied/<kpi>`: the newest applied, reversible changes that name a KPI, oldest first. */
interface Applied {
  changes: { change_id: string; at: number }[];
}

/** What a guardrail sees, if it is tripped. Pure. */
export function evidenceOf(
  guardrail: Guardrail,
  baseline: number,
  value: number,
  intent: Intent,
  at: string,
): GuardrailEvidence | undefined {
  const { kpi, action, max_regression } = guardrail;
  const regression = roundDelta(directionOf(kpi, intent) * (baseline - value));
  return regression > max_regression ? { kpi, action, baseline, value, regression, max_regression, at } : undefined;
}

/** Keeps an applied change under watch, for 24 hours. */
export async function watch(tx: Tx, record: ChangeRecord, now: number): Promise<void> {
  const { kpi, reversible, change_id } = record.change;
  if (kpi === null || !reversible) return;
  const changes = (await applied(tx, kpi)).filter(({ at }) => now - at <= WATCH_MS);
  tx.put("kpi_applied", kpi, { changes: [...changes, { change_id, at: now }].slice(-WATCHED) });
}

/** Ends the watch over a change that was rolled back. */
export async function unwatch(tx: Tx, record: ChangeRecord): Promise<void> {
  const { kpi, change_id } = record.change;
  if (kpi === null) return;
  const changes = (await applied(tx, kpi)).filter((watched) => watched.change_id !== change_id);
  tx.put("kpi_applied", kpi, { changes });
  tx.delete("guardrail_due", change_id);
}

/** Marks what a feed trips, and queues the rollbacks that the intent orders. */
export async function judgeGuardrails(unit: Unit, fed: Record<string, number>): Promise<void> {
  const { intent } = unit.product;
  for (const guardrail of intent.policy.guardrails) {
    const value = fed[guardrail.kpi];
    if (value === undefined) continue;
    const newest = (await applied(unit.tx, guardrail.kpi)).at(-1);
    if (!newest || unit.now - newest.at > WATCH_MS) continue;
    const baseline = (await unit.tx.get("outcomes", newest.change_id))?.value.baseline[guardrail.kpi];
    if (baseline === undefined) continue;
    const evidence = evidenceOf(guardrail, baseline, value, intent, unit.at);
    if (evidence) await mark(unit, newest.change_id, evidence);
  }
}

async function mark(unit: Unit, changeId: string, evidence: GuardrailEvidence): Promise<void> {
  const record = await unit.change(changeId);
  if (record.guardrail?.action === "rollback" || record.guardrail?.action === evidence.action) return;
  unit.tx.put("changes", changeId, { ...record, guardrail: evidence });
  if (evidence.action === "rollback") unit.tx.put("guardrail_due", changeId, evidence);
  await addGrowth(unit.tx, {
    at: unit.at,
    kind: "guardrail",
    title: `${evidence.kpi} worsened by ${evidence.regression} after ${changeId}`,
    detail:
      evidence.action === "rollback"
        ? "The intent orders its rollback in the next cycle."
        : "The intent orders an alert.",
    ref: changeId,
  });
}

const applied = async (tx: Tx, kpi: string): Promise<Applied["changes"]> =>
  (await tx.get("kpi_applied", kpi))?.value.changes ?? [];
