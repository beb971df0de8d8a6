/**
 * Expected against realised KPI movement of an applied change. It is a correlation: nothing here shows that the change
 * caused it. An open outcome is worked out from the newest feed whenever it is read; a final one was frozen at its close:
 * at its rollback, or 30 days after its apply.
 */
import * as z from "zod";
import type { Change } from "./change.ts";
import type { Intent } from "./intent.ts";
import { directionOf, type KpiState, roundDelta } from "./kpi.ts";

export const VERDICTS = ["met", "missed", "regressed", "inconclusive"] as const;
export type Verdict = (typeof VERDICTS)[number];

const OPEN_MS = 30 * 24 * 3600 * 1000;

export const outcomeSchema = z.object({
  change_id: z.string(),
  kpi: z.string().nullable(),
  applied_at: z.string(),
  expected_delta_k: z.number().nullable(),
  /** The KPI's value at the apply, and now (or at the close). */
  baseline: z.number().nullable(),
  current: z.number().nullable(),
  /** `current - baseline`, its sign turned so that up is good. */
  realised_delta: z.number().nullable(),
  verdict: z.enum(VERDICTS),
  state: z.enum(["open", "final"]),
  /** Why it is final: 30 days are over, or the change was rolled back. */
  closed_by: z.enum(["time", "rollback"]).nullable(),
  as_of: z.string(),
  basis: z.literal("correlation"),
});
export type Outcome = z.infer<typeof outcomeSchema>;

/** `outcomes/<change_id>`: what was kept at the apply, and the outcome once it is final. */
export interface OutcomeRecord {
  change_id: string;
  kpi: string | null;
  applied_at: string;
  /** The audit entry of the apply. */
  applied_entry: number;
  expected_delta_k: number | null;
  /** The KPI's last value at the apply. */
  baseline: number | null;
  final: Outcome | null;
}

/** What is kept when a change is applied. */
export function openOutcome(
  { change_id, kpi, expected_delta_k }: Pick<Change, "change_id" | "kpi" | "expected_delta_k">,
  kpis: KpiState,
  applied: { at: string; entry: number },
): OutcomeRecord {
  const baseline = kpis.values[kpi ?? ""]?.value ?? null;
  const opened = { change_id, kpi, applied_at: applied.at, applied_entry: applied.entry, expected_delta_k, baseline };
  return { ...opened, final: null };
}

/** The moment at which time closes the outcome of what was applied then. */
export const closesAt = (applied_at: string): string => new Date(Date.parse(applied_at) + OPEN_MS).toISOString();

/** The outcome as it stands at a moment. */
export function outcomeOf(record: OutcomeRecord, kpis: KpiState, intent: Pick<Intent, "kpis">, at: string): Outcome {
  if (record.final) return record.final;
  const { kpi, baseline, expected_delta_k, applied_at, applied_entry } = record;
  const over = closesAt(applied_at) < at;
  const latest = kpis.values[kpi ?? ""];
  const fed = latest && latest.entry > applied_entry ? latest.value : null;
  const realised =
    kpi === null || baseline === null || fed === null ? null : roundDelta(directionOf(kpi, intent) * (fed - baseline));
  return {
    change_id: record.change_id,
    kpi,
    applied_at,
    expected_delta_k,
    baseline,
    current: fed,
    realised_delta: realised,
    verdict: verdictOf(expected_delta_k, realised),
    state: over ? "final" : "open",
    closed_by: over ? "time" : null,
    as_of: over ? closesAt(applied_at) : at,
    basis: "correlation",
  };
}

/** The outcome frozen. */
export const finalOutcome = (
  record: OutcomeRecord,
  by: "time" | "rollback",
  kpis: KpiState,
  intent: Pick<Intent, "kpis">,
  at: string,
): Outcome => ({ ...outcomeOf(record, kpis, intent, at), state: "final", closed_by: by });

function verdictOf(expected: number | null, realised: number | null): Verdict {
  if (realised === null) return "inconclusive";
  if (expected !== null && realised >= expected - 1e-9 * Math.abs(expected)) return "met";
  if (realised < 0) return "regressed";
  return expected === null ? "inconclusive" : "missed";
}
