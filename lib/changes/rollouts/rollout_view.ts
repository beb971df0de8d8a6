/** A rollout as clients see it: needs of each step, measurements so far, and why the next step waits. */
import * as z from "zod";
import type { AuditEntry } from "../../audit/entry.ts";
import { HOUR_MS } from "../../kit/days.ts";
import { once } from "../../kit/once.ts";
import { decideRollout } from "../../rollout/decide_rollout.ts";
import { estimateSteps } from "../../rollout/estimate.ts";
import { type FedTotals, toCells } from "../../rollout/samples.ts";
import { toPlan } from "../../rollout/stages.ts";
import type { Reads } from "../../store/store.ts";
import type { Change } from "../rules/change.ts";
import { parseDetail } from "../rules/event.ts";
import { isRollingOut } from "../rules/rollout_state.ts";
import { readSamples } from "./samples.ts";

const count = () => z.number().int();
const time = () => z.iso.datetime();

export const rolloutSchema = once(() =>
  z
    .object({
      estimate: z
        .array(
          z.object({
            users: z.number().nullable().describe("Users with the value, at most; null: unknown."),
            days: z.number().nullable().describe("Days at users_a_day, at most."),
          }),
        )
        .describe("Needs of each step."),
      measured: z
        .array(
          z.object({
            step: count().describe("Step, from 0."),
            kpi: z.string().describe("A watched KPI."),
            as_of: time().describe("Time of the totals."),
            treated_n: count().describe("Users with the value."),
            control_n: count().describe("Users without."),
            treated: z.number().describe("Mean with the value."),
            control: z.number().describe("Mean without."),
            worse_at_least: z.number().nullable().describe("In the unit of allowed."),
            worse_at_most: z.number().nullable().describe("The other bound."),
          }),
        )
        .describe("Bounds by the newest totals."),
      not_before: time().optional().describe("Earliest next step."),
      kpi: z.string().optional().describe("The KPI that holds it."),
      error: z.string().optional().describe("Why an advance failed."),
    })
    .describe("Its rollout in steps."),
);
type RolloutView = z.infer<ReturnType<typeof rolloutSchema>>;

/**
 * Returns the rollout of a change; undefined for a change without stages. An ended rollout shows the totals of its last
 * decision.
 */
export async function viewRollout(
  reads: Pick<Reads, "get">,
  change: Change & { audit_entries: readonly AuditEntry[] },
): Promise<RolloutView | undefined> {
  const { stages, exposure, audit_entries } = change;
  if (!stages) return undefined;
  const isRunning = isRollingOut(change);
  const details = audit_entries.map(({ detail }) => parseDetail(detail));
  const totals = isRunning
    ? await readSamples(reads, change.change_id)
    : (details.findLast((detail) => detail.totals !== undefined)?.totals ?? []);
  return {
    estimate: estimateSteps(stages).map(({ users, days }) => ({ users, days })),
    measured: measureSteps(stages, totals),
    ...(isRunning && describeHold(stages, exposure!, audit_entries)),
  };
}

type Stages = NonNullable<Change["stages"]>;

/** Compares users with and without the value, by step and KPI; a KPI without enough data in a step is omitted. */
function measureSteps(stages: Stages, totals: readonly FedTotals[]): RolloutView["measured"] {
  const step = Math.max(0, ...totals.map((row) => row.step));
  // Only the readings of the decision are used; they do not depend on `hours` and `silent`.
  const { readings } = decideRollout(toPlan(stages), { step, hours: 0, silent: 0, cells: toCells(totals) });
  return readings.flatMap(({ step: readingStep, kpi, treated, control, worse_low, worse_high }) => {
    const row = totals.find((fed) => fed.step === readingStep && fed.kpi === kpi);
    if (!row || treated === undefined || control === undefined) return [];
    return {
      step: readingStep,
      kpi,
      as_of: row.as_of,
      treated_n: row.treated.n,
      control_n: row.control.n,
      treated,
      control,
      worse_at_least: worse_low ?? null,
      worse_at_most: worse_high ?? null,
    };
  });
}

/** Returns the earliest time of the next step, and the facts of the current hold from its last entry. */
function describeHold(
  stages: Stages,
  { step, since, waits_for }: NonNullable<Change["exposure"]>,
  entries: readonly AuditEntry[],
): Pick<RolloutView, "not_before" | "kpi" | "error"> {
  const lastHold = entries.findLast(({ event_type }) => event_type === "stage_held");
  type HoldFacts = { reason?: string; kpi?: string; error?: string };
  const { reason, kpi, error } = parseDetail(lastHold?.detail ?? "") as HoldFacts;
  const isCurrent = reason === waits_for;
  const not_before = new Date(Date.parse(since) + stages.steps[step]!.min_hours * HOUR_MS).toISOString();
  return {
    not_before,
    ...(isCurrent && kpi !== undefined && { kpi }),
    ...(isCurrent && error !== undefined && { error }),
  };
}
