/** The rule `policy.stages`: which changes may be rolled out in steps, what each rollout watches, and who feeds it. */
import * as z from "zod";
import type { Stages } from "../../rollout/stages.ts";
import { nonEmptyText, list, strictObject } from "./fields.ts";
import { finiteNumber, targetPattern } from "./intent_parts.ts";
import { type ChangeEntry, isInScope, listEntries } from "./list_entries.ts";
import { normalizeName } from "./names.ts";

const allowance = () => finiteNumber().min(0, "must be 0 or more");

/** The field `policy.stages`. */
export const stagesRule = () =>
  strictObject({
    targets: list(targetPattern())
      .min(1, "must name a target, or be left out")
      .optional()
      .describe("Targets that may be rolled out in steps; absent: all."),
    watch: list(nonEmptyText()).default([]).describe("KPIs that every rollout watches."),
    fed_by: list(nonEmptyText().transform(normalizeName))
      .min(1, "must name an agent, or be left out")
      .optional()
      .describe("Agents that may feed a rollout; absent: any agent but the proposer."),
    max_allowed: z
      .record(
        z.string(),
        z.union([allowance(), strictObject({ relative: allowance() })], "must be a number, or relative with one"),
        "must be an object",
      )
      .default({})
      .describe("How much worse a KPI may be allowed to become, by KPI; an absent KPI has no limit."),
    replaces_guardrails: z
      .boolean("must be true or false")
      .default(false)
      .describe("Whether a rollout's own rule replaces guardrails for the KPIs that it watches within max_allowed."),
  }).describe("Rules for rollouts in steps; absent: they are possible on all targets, and none of them is minor.");

/** Rules for rollouts. */
export type StagesRule = z.output<ReturnType<typeof stagesRule>>;

/** A change that may be rolled out in steps. */
export type StagedChange = ChangeEntry & { stages?: Stages | undefined };

/** Explains why the intent does not allow the rollout of a change; undefined if it does. */
export function findStagesProblem(change: StagedChange, rule: StagesRule | undefined): string | undefined {
  const { stages } = change;
  if (!stages || !rule) return undefined;
  const { targets, watch, fed_by, max_allowed } = rule;
  const outside = listEntries(change).find((entry) => !isInScope(entry, { targets }));
  if (outside) return `policy.stages allows rollouts only of ${targets!.join(", ")}`;
  const unwatched = watch.find((kpi) => !stages.watch.some((watched) => watched.kpi === kpi));
  if (unwatched !== undefined) return `must watch ${unwatched}, as policy.stages asks`;
  if (fed_by && !fed_by.includes(normalizeName(stages.fed_by)))
    return `must be fed by one of ${fed_by.join(", ")}, as policy.stages asks`;
  for (const { kpi, allowed } of stages.watch) {
    const limit = Object.hasOwn(max_allowed, kpi) ? max_allowed[kpi]! : undefined;
    if (limit === undefined) continue;
    if (typeof limit !== typeof allowed)
      return `must allow ${kpi} a loss of the kind that policy.stages.max_allowed states`;
    if (lossAmount(allowed) > lossAmount(limit)) return `allows ${kpi} more than policy.stages.max_allowed`;
  }
  return undefined;
}

const lossAmount = (allowed: number | { relative: number }): number =>
  typeof allowed === "object" ? allowed.relative : allowed;

/** Returns true if the rule sets `fed_by`, `watch` and a `max_allowed` for each watched KPI; otherwise no rollout is minor. */
export const hasRolloutBounds = (rule: StagesRule | undefined): boolean =>
  rule?.fed_by !== undefined &&
  rule.watch.length > 0 &&
  rule.watch.every((kpi) => Object.hasOwn(rule.max_allowed, kpi));

/** Returns true if the rollout of a change replaces the guardrails on a KPI. */
export const isGuardrailReplaced = (change: StagedChange, kpi: string, rule: StagesRule | undefined): boolean =>
  rule?.replaces_guardrails === true &&
  Object.hasOwn(rule.max_allowed, kpi) &&
  (change.stages?.watch.some((watched) => watched.kpi === kpi) ?? false);
