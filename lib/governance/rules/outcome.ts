/**
 * Expected against realised KPI movement of an applied change. It is a correlation: nothing here shows that the change
 * caused it. An open outcome is worked out from the newest feed whenever it is read, and judged once its horizon is over; a
 * final one was frozen at its close: at its rollback, or 30 days after its apply.
 */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import { DAY_MS, HOUR_MS } from "../../kit/days.ts";
import type { Change } from "./change.ts";
import type { Intent } from "./intent.ts";
import { deadlineOf, directionOf, type KpiState, type KpiValue, roundDelta } from "./kpi.ts";

/** The verdicts that are told to others. */
export const TOLD_VERDICTS = ["met", "missed", "regressed", "inconclusive"] as const;
export const VERDICTS = [...TOLD_VERDICTS, "too_early"] as const;
export type Verdict = (typeof VERDICTS)[number];

/** How long an outcome is open, and how far back what came before its apply is looked at. */
const OPEN_MS = 30 * DAY_MS;
const HORIZON_MS = 7 * DAY_MS;
/** So many of the changes that share a movement are named. */
export const NAMED = 10;

const id = () =>
  z.string().meta({ description: "The applied change.", examples: ["chg_019a8f3e-6c1e-7b44-9d52-3e8a17c0b6f1"] });

export const outcomeSchema = once(() =>
  z
    .object({
      change_id: id(),
      kpi: z
        .string()
        .nullable()
        .meta({
          description: "Name of the KPI that it should move; null when the change names none.",
          examples: ["nrr_quarterly"],
        }),
      scope: z
        .enum(["tenant", "product", "other_tenant"])
        .nullable()
        .describe("Whose KPI that is; product: of all tenants."),
      applied_at: z.string().meta({ description: "When it was applied.", examples: ["2026-11-20T09:30:00.000Z"] }),
      expected_delta_k: z
        .number()
        .nullable()
        .describe("Gain that was expected, in units of the KPI; null when not stated."),
      baseline: z.number().nullable().describe("The KPI's value at the apply; null when it was not known."),
      baseline_age_hours: z.number().nullable().describe("How old that was at the apply."),
      trend_before: z
        .number()
        .nullable()
        .describe(
          "How it moved in the 30 UTC days before the apply, or since its first feed a day or more before; up is good.",
        ),
      trend_days: z.number().nullable().describe("Over how many days that was."),
      current: z.number().nullable().describe("Its value now, or at the close; null before the first feed."),
      realised_delta: z
        .number()
        .nullable()
        .describe("current - baseline, its sign turned so that up is good; null while one is unknown."),
      shared_with: z
        .array(z.string())
        .describe(`Other changes on this KPI whose time overlaps, ${NAMED} at most: the movement is theirs as well.`),
      shared_count: z.number().int().describe("How many these are in all."),
      verdict: z.enum(VERDICTS).describe("How the gain compares with what was expected; too_early before judged_from."),
      judged_from: z
        .string()
        .nullable()
        .describe("7 days after the apply, or the KPI's deadline if sooner; null without a KPI."),
      state: z.enum(["open", "final"]).describe("open while feeds still change it, for 30 days; then final."),
      closed_by: z
        .enum(["time", "rollback"])
        .nullable()
        .describe("Why it is final: 30 days are over, or the change was rolled back; null while open."),
      as_of: z.string().meta({ description: "As of when this is so.", format: "date-time" }),
      basis: z.literal("correlation").describe("It is a correlation, no proof of a cause."),
    })
    .describe("What was expected of an applied change beside what its KPI did since."),
);
export type Outcome = z.infer<ReturnType<typeof outcomeSchema>>;

/** `outcomes/<change_id>`: what was kept at the apply, and the outcome once it is final. */
export interface OutcomeRecord extends Pick<
  Outcome,
  | "change_id"
  | "kpi"
  | "scope"
  | "applied_at"
  | "expected_delta_k"
  | "baseline"
  | "baseline_age_hours"
  | "trend_days"
  | "judged_from"
> {
  /** The audit entry of the apply. */
  applied_entry: number;
  /** The value that `trend_before` goes by. */
  earlier: number | null;
  /** Of the changes on its KPI at its apply: the newest that were open, and how many were over. */
  open_then: string[];
  over_then: number;
  final: Outcome | null;
}

/** How many outcomes of a KPI were opened so far, and how many of these are over. */
export interface Windows {
  opened: number;
  over: number;
}

/** What is known of a KPI at an apply. */
export interface AtApply {
  at: string;
  entry: number;
  tenant: string;
  kpis: KpiState;
  /** The KPI's value at the end of the UTC day 30 days before. */
  earlier: KpiValue | undefined;
  intent: Pick<Intent, "kpis">;
  windows: Windows;
  /** The newest changes on the KPI that are open. */
  open: string[];
}

/** What is kept when a change is applied. */
export function openOutcome(
  { change_id, kpi, expected_delta_k }: Pick<Change, "change_id" | "kpi" | "expected_delta_k">,
  { at, entry, tenant, kpis, earlier, intent, windows, open }: AtApply,
): OutcomeRecord {
  const latest = kpis.values[kpi ?? ""];
  const before = latest && trendOf(latest, earlier, at);
  const of = kpi === null ? undefined : intent.kpis[kpi]?.tenant;
  return {
    change_id,
    kpi,
    scope: kpi === null ? null : of === undefined ? "product" : of === tenant ? "tenant" : "other_tenant",
    applied_at: at,
    applied_entry: entry,
    expected_delta_k,
    baseline: latest?.value ?? null,
    baseline_age_hours: latest ? tenths((Date.parse(at) - Date.parse(latest.at)) / HOUR_MS) : null,
    earlier: before?.value ?? null,
    trend_days: before?.days ?? null,
    judged_from: kpi === null ? null : horizonOf(at, deadlineOf(intent.kpis[kpi])),
    open_then: open,
    over_then: windows.over,
    final: null,
  };
}

/** A deadline that was over at the apply says nothing of the change. */
function horizonOf(applied_at: string, deadline: number): string {
  const applied = Date.parse(applied_at);
  return new Date(Math.min(applied + HORIZON_MS, deadline > applied ? deadline : Infinity)).toISOString();
}

function trendOf(latest: KpiValue, earlier: KpiValue | undefined, at: string) {
  if (earlier) return earlier.entry === latest.entry ? undefined : { value: earlier.value, days: OPEN_MS / DAY_MS };
  const { first, first_at = at } = latest;
  const days = (Date.parse(at) - Date.parse(first_at)) / DAY_MS;
  return days < 1 || first_at >= latest.at ? undefined : { value: first, days: tenths(days) };
}

const tenths = (value: number): number => Math.round(value * 10) / 10;

/** The moment at which time closes the outcome of what was applied then. */
export const closesAt = (applied_at: string): string => new Date(Date.parse(applied_at) + OPEN_MS).toISOString();

/** The moment up to whose day what came before an apply is looked at. */
export const lookedBackTo = (applied_at: string): string => new Date(Date.parse(applied_at) - OPEN_MS).toISOString();

/** What an outcome is worked out by, beside its record. */
export interface Measured {
  kpis: KpiState;
  intent: Pick<Intent, "kpis">;
  windows: Readonly<Record<string, Windows>>;
  /** The newest changes on its KPI that were applied after it, the newest first. */
  later?: readonly string[];
}

/** The outcome as it stands at a moment. */
export function outcomeOf(record: OutcomeRecord, measured: Measured, at: string): Outcome {
  if (record.final) return record.final;
  const { applied_entry, earlier, open_then, over_then, final: _, ...kept } = record;
  const { kpi, baseline, applied_at, judged_from } = record;
  const { kpis, intent, windows, later = [] } = measured;
  const over = closesAt(applied_at) < at;
  const latest = kpis.values[kpi ?? ""];
  const fed = latest && latest.entry > applied_entry ? latest.value : null;
  const direction = kpi === null ? 1 : directionOf(kpi, intent);
  const since = (from: number | null, to: number | null) =>
    from === null || to === null ? null : roundDelta(direction * (to - from));
  const realised_delta = kpi === null ? null : since(baseline, fed);
  return {
    ...kept,
    trend_before: since(earlier, baseline),
    current: fed,
    realised_delta,
    shared_with: [...later, ...open_then].slice(0, NAMED),
    shared_count: kpi === null ? 0 : (windows[kpi]?.opened ?? 1) - 1 - over_then,
    verdict: verdictOf(record.expected_delta_k, realised_delta, { early: judged_from !== null && at < judged_from }),
    state: over ? "final" : "open",
    closed_by: over ? "time" : null,
    as_of: over ? closesAt(applied_at) : at,
    basis: "correlation",
  };
}

/**
 * The outcome frozen. What a guardrail took back did not wait for its horizon: where the KPI is worse than it was, that is the
 * verdict. What a person took back by then was never judged, and is `too_early` for good.
 */
export function finalOutcome(
  record: OutcomeRecord,
  by: "time" | "rollback" | "guardrail",
  measured: Measured,
  at: string,
): Outcome {
  const outcome = outcomeOf(record, measured, at);
  const { verdict, realised_delta: realised } = outcome;
  const tripped = by === "guardrail" && verdict === "too_early" && realised !== null && realised < 0;
  return {
    ...outcome,
    ...(tripped && { verdict: "regressed" }),
    state: "final",
    closed_by: by === "time" ? "time" : "rollback",
  };
}

/** Whether the KPI's movement was found good or bad. */
export const isJudged = ({ verdict }: Pick<Outcome, "verdict">): boolean =>
  verdict !== "inconclusive" && verdict !== "too_early";

/** Whether the change was taken back before there could be a verdict on it. */
export const isCutShort = ({ closed_by, judged_from, as_of }: Outcome): boolean =>
  closed_by === "rollback" && judged_from !== null && as_of < judged_from;

function verdictOf(expected: number | null, realised: number | null, { early }: { early: boolean }): Verdict {
  if (realised === null) return "inconclusive";
  if (early) return "too_early";
  if (expected !== null && realised >= expected - 1e-9 * Math.abs(expected)) return "met";
  if (realised < 0) return "regressed";
  return expected === null ? "inconclusive" : "missed";
}
