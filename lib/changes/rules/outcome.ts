/**
 * Expected and measured KPI movement of an applied change: a correlation, not a proof of cause. An outcome is open until its
 * horizon, its rollback, or the apply of another change on its target; then it is final, and later movement changes no verdict.
 */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import { DAY_MS, HOUR_MS } from "../../kit/days.ts";
import type { Change } from "./change.ts";
import type { Intent } from "./intent.ts";
import { goalDeadline, goodDirection, type KpiState, type KpiValue, roundDelta } from "./kpi.ts";
import { nameEffect, describeGain, type GoodDirection, describeSideEffect } from "./kpi_words.ts";
import { VERDICTS, type OutcomeVerdict } from "./outcome_terms.ts";
import { describeOutcome } from "./outcome_words.ts";
import { judgeRolloutOutcome, measuredSchema, type RolloutMeasure, UNMEASURED } from "./rollout_outcome.ts";

export * from "./outcome_terms.ts";

const ENDINGS = ["horizon", "rollback", "guardrail", "change"] as const;
export type Ending = (typeof ENDINGS)[number];

const HORIZON_MS = 7 * DAY_MS;
/** The trend before an apply begins this long before it. */
const TREND_MS = 30 * DAY_MS;
/** Most other changes that an outcome names as sharing its movement. */
export const MAX_NAMED_CHANGES = 10;

const laterSchema = once(() =>
  z.object({
    at: z.string().meta({ description: "When the KPI was last fed.", format: "date-time" }),
    current: z.number().describe("Its value then."),
    realised_delta: z.number().nullable().describe("current - baseline, its sign turned so that up is good."),
    words: z.string().meta({ description: "The same in words.", examples: ["fell by 0.02 (better) since the apply"] }),
  }),
);

const sideEffectSchema = once(() =>
  z.object({
    kpi: z.string().meta({ description: "A KPI that the change does not name.", examples: ["support_minutes"] }),
    from: z.number().describe("Its value at the apply."),
    to: z.number().describe("Its value now, or at the end."),
    effect: z.enum(["better", "worse"]).describe("Whether that is good."),
    words: z.string().meta({ description: "The same in words.", examples: ["support_minutes rose by 1.1, worse"] }),
  }),
);

export const outcomeSchema = once(() =>
  z
    .object({
      change_id: z.string().describe("The applied change."),
      kpi: z
        .string()
        .nullable()
        .meta({
          description: "The change's KPI; null without one.",
          examples: ["nrr_quarterly"],
        }),
      scope: z
        .enum(["tenant", "product", "other_tenant"])
        .nullable()
        .describe("Scope of the KPI; product: all tenants."),
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
        .describe("How it moved in the 30 UTC days before the apply, or since its first feed; up is good."),
      trend_days: z.number().nullable().describe("Over how many days that was."),
      good: z.enum(["up", "down"]).nullable().describe("In which direction the KPI is good; null without a KPI."),
      current: z.number().nullable().describe("Its value now, or at the end; null before the first feed."),
      realised_delta: z
        .number()
        .nullable()
        .describe("current - baseline, its sign turned so that up is good; null while one is unknown."),
      shared_with: z
        .array(z.string())
        .describe(
          `Other changes on this KPI whose time overlaps, ${MAX_NAMED_CHANGES} at most: the movement is theirs as well.`,
        ),
      shared_count: z.number().int().describe("How many these are in all."),
      verdict: z.enum(VERDICTS).describe("Gain compared with expectation; too_early before judged_from."),
      judged_from: z.string().meta({
        description: "The horizon: 7 days after the apply, or the KPI's deadline if sooner.",
        format: "date-time",
      }),
      state: z.enum(["open", "final"]).describe("open while feeds can change the verdict; then final."),
      ended_by: z
        .enum(ENDINGS)
        .nullable()
        .describe("Why it is final: horizon reached, rolled back, or its target changed; null while open."),
      replaced_by: z.string().nullable().describe("The change that took its target; null unless that ended it."),
      later: laterSchema().nullable().describe("Movement after the end; does not change the verdict."),
      side_effects: z.array(sideEffectSchema()).describe("Every other KPI that moved between the apply and the end."),
      words: z.string().meta({
        description: "Promised and measured movement in a sentence, each with its direction.",
        examples: ["no_show_rate: expected to fall by 0.02, it fell by 0.012 (better)."],
      }),
      as_of: z.string().meta({ description: "As of when this is so.", format: "date-time" }),
      measured: z.array(measuredSchema()).optional().describe("Bounds of a rollout."),
      basis: z
        .enum(["correlation", "measurement"])
        .describe("`correlation`: no proof of a cause; `measurement`: a rollout, against users without it."),
    })
    .describe("Expected and actual effect of an applied change."),
);
export type Outcome = z.infer<ReturnType<typeof outcomeSchema>>;

/** `outcomes/<change_id>`: values stored at the apply, and the outcome once it is final. */
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
  /** The other KPIs at the apply. */
  others: Record<string, number>;
  /** The value from which `trend_before` is computed. */
  earlier: number | null;
  /** The newest changes on its KPI whose outcomes were open at its apply. */
  open_then: string[];
  /** How many outcomes on its KPI had ended at its apply. */
  over_then: number;
  /** Bounds of a rollout, by its newest decision. */
  measured?: RolloutMeasure;
  final: Outcome | null;
  /** The newest entry when it ended; absent while open. */
  ended_entry?: number;
  /** The key of the memory of its verdict. */
  memory?: string;
}

/** How many outcomes of a KPI were opened so far, and how many of them have ended. */
export interface OutcomeCounts {
  opened: number;
  over: number;
}

/** KPI values at an apply, and the other outcomes of its KPI. */
export interface ApplyFacts {
  at: string;
  entry: number;
  tenant: string;
  kpis: KpiState;
  /** The KPI's value at the end of the UTC day 30 days before. */
  earlier: KpiValue | undefined;
  intent: Pick<Intent, "kpis">;
  counts: OutcomeCounts;
  /** The newest changes on the KPI whose outcomes are open. */
  open: string[];
}

/** Returns the outcome record of a change at its apply. */
export function openOutcome(
  { change_id, kpi, expected_delta_k, stages }: Pick<Change, "change_id" | "kpi" | "expected_delta_k" | "stages">,
  { at, entry, tenant, kpis, earlier, intent, counts, open }: ApplyFacts,
): OutcomeRecord {
  const latest = kpis.values[kpi ?? ""];
  const trend = latest && computeTrend(latest, earlier, at);
  return {
    change_id,
    kpi,
    scope: kpi === null ? null : findScope(intent.kpis[kpi]?.tenant, tenant),
    applied_at: at,
    applied_entry: entry,
    expected_delta_k,
    baseline: latest?.value ?? null,
    baseline_age_hours: latest ? roundToTenth((Date.parse(at) - Date.parse(latest.at)) / HOUR_MS) : null,
    others: Object.fromEntries(
      Object.entries(kpis.values).flatMap(([name, { value }]) => (name === kpi ? [] : [[name, value]])),
    ),
    earlier: trend?.value ?? null,
    trend_days: trend?.days ?? null,
    judged_from: findHorizon(at, goalDeadline(kpi === null ? undefined : intent.kpis[kpi])),
    open_then: open,
    over_then: counts.over,
    ...(stages && { measured: UNMEASURED }),
    final: null,
  };
}

function findScope(kpiTenant: string | undefined, tenant: string): NonNullable<Outcome["scope"]> {
  if (kpiTenant === undefined) return "product";
  return kpiTenant === tenant ? "tenant" : "other_tenant";
}

/** Returns when an outcome is judged, ignoring a deadline before the apply. */
function findHorizon(applied_at: string, deadline: number): string {
  const applied = Date.parse(applied_at);
  return new Date(Math.min(applied + HORIZON_MS, deadline > applied ? deadline : Infinity)).toISOString();
}

/** Returns where the trend starts and its days; undefined without a later feed, or within a day of the start. */
function computeTrend(latest: KpiValue, earlier: KpiValue | undefined, at: string) {
  if (earlier) return earlier.entry === latest.entry ? undefined : { value: earlier.value, days: TREND_MS / DAY_MS };
  const { first, first_at } = latest;
  const days = (Date.parse(at) - Date.parse(first_at)) / DAY_MS;
  return days < 1 || first_at >= latest.at ? undefined : { value: first, days: roundToTenth(days) };
}

const roundToTenth = (value: number): number => Math.round(value * 10) / 10;

/** Returns the start of the trend before an apply. The trend begins with the last value fed up to this day. */
export const findTrendStart = (applied_at: string): string => new Date(Date.parse(applied_at) - TREND_MS).toISOString();

export interface OutcomeInput {
  kpis: KpiState;
  intent: Pick<Intent, "kpis">;
  counts: Readonly<Record<string, OutcomeCounts>>;
  /** The newest changes on its KPI that were applied after it, the newest first. */
  later?: readonly string[];
}

/** Returns the outcome at a moment: the stored one once it is final, and from the horizon on the one of the horizon. */
export function makeOutcome(record: OutcomeRecord, input: OutcomeInput, at: string): Outcome {
  if (record.final) return { ...record.final, later: measureLater(record, input) };
  const { judged_from } = record;
  return at < judged_from
    ? measureOutcome(record, input, { at })
    : measureOutcome(record, input, { at: judged_from, by: "horizon" });
}

/** A moment, and the event that ends the outcome then. */
export interface OutcomeMoment {
  at: string;
  by?: Ending | undefined;
  replaced_by?: string;
}

/** Measures an outcome at a moment; final if an event ends it then. */
export function measureOutcome(
  record: OutcomeRecord,
  input: OutcomeInput,
  { at, by, replaced_by }: OutcomeMoment,
): Outcome {
  const { applied_entry, earlier, open_then, over_then, measured: rollout, others: _, final: __, ...stored } = record;
  const { kpi, baseline } = record;
  const { kpis, intent, counts, later = [] } = input;
  const current = kpi === null ? null : findValueAfter(kpis, kpi, applied_entry);
  const good = kpi === null ? null : goodDirection(kpi, intent);
  const realised_delta = rollout ? null : computeGain(baseline, current, good);
  const outcome = {
    ...stored,
    good,
    trend_before: computeGain(earlier, baseline, good),
    current,
    realised_delta,
    shared_with: [...later, ...open_then].slice(0, MAX_NAMED_CHANGES),
    // Outcomes opened so far, without this one and those that had ended before its apply.
    shared_count: kpi === null ? 0 : (counts[kpi]?.opened ?? 1) - 1 - over_then,
    ...(rollout && { measured: rollout.kpis }),
  };
  return {
    ...outcome,
    verdict: rollout
      ? judgeRolloutOutcome(record, rollout, at >= record.judged_from)
      : judgeVerdict(record, realised_delta, { at, by }),
    state: by === undefined ? "open" : "final",
    ended_by: by ?? null,
    replaced_by: replaced_by ?? null,
    later: null,
    side_effects: listSideEffects(record, input),
    words: describeOutcome(outcome),
    as_of: at,
    basis: rollout ? "measurement" : "correlation",
  };
}

/** Returns a KPI's value if it was fed after an entry. */
function findValueAfter({ values }: KpiState, kpi: string, entry: number): number | null {
  const latest = values[kpi];
  return latest && latest.entry > entry ? latest.value : null;
}

/** The movement between two values, its sign turned so that up is good. */
const computeGain = (from: number | null, to: number | null, good: GoodDirection | null): number | null =>
  from === null || to === null || good === null ? null : roundDelta(good === "up" ? to - from : from - to);

function listSideEffects(
  { others, applied_entry }: OutcomeRecord,
  { kpis, intent }: OutcomeInput,
): Outcome["side_effects"] {
  return Object.entries(others)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([kpi, from]) => {
      const to = findValueAfter(kpis, kpi, applied_entry);
      const delta = to === null ? 0 : roundDelta(to - from);
      if (to === null || delta === 0) return [];
      const good = goodDirection(kpi, intent);
      return [{ kpi, from, to, effect: nameEffect(delta, good), words: describeSideEffect(kpi, delta, good) }];
    });
}

function measureLater(
  { kpi, baseline, final, ended_entry = 0 }: OutcomeRecord,
  { kpis }: OutcomeInput,
): Outcome["later"] {
  const current = kpi === null ? null : findValueAfter(kpis, kpi, ended_entry);
  // A rollout is measured against users without the change, not against the value at its apply.
  if (kpi === null || current === null || !final?.good || final.measured) return null;
  const realised_delta = computeGain(baseline, current, final.good);
  const words =
    realised_delta === null
      ? "not measured at the apply"
      : `${describeGain(realised_delta, final.good)} since the apply`;
  return { at: kpis.values[kpi]!.at, current, realised_delta, words };
}

/** Returns true if the verdict is about the KPI's movement. */
export const isJudged = ({ verdict }: Pick<Outcome, "verdict">): boolean =>
  verdict !== "inconclusive" && verdict !== "too_early";

/** Returns true if the outcome ended before its horizon. */
export const isCutShort = ({
  ended_by,
  judged_from,
  as_of,
}: Pick<Outcome, "ended_by" | "judged_from" | "as_of">): boolean => ended_by !== null && as_of < judged_from;

/** Judges an outcome. A guardrail that rolls a change back while its KPI is worse decides the verdict before the horizon. */
function judgeVerdict(
  { kpi, expected_delta_k: expected, judged_from }: OutcomeRecord,
  realised: number | null,
  { at, by }: OutcomeMoment,
): OutcomeVerdict {
  if (kpi === null) return "inconclusive";
  if (at < judged_from) {
    if (by === "guardrail" && realised !== null && realised < 0) return "regressed";
    // An outcome with a value, or one that ended early, is too early to judge.
    return by === undefined && realised === null ? "inconclusive" : "too_early";
  }
  if (realised === null) return "inconclusive";
  // Tolerates the noise of binary fractions.
  const tolerance = 1e-9 * Math.abs(expected ?? 0);
  if (expected !== null && realised >= expected - tolerance) return "met";
  if (realised < 0) return "regressed";
  return expected === null ? "inconclusive" : "missed";
}
