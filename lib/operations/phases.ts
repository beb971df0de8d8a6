/** Progress in using the service: five phases with items, each proved by a record. */
import * as z from "zod";
import { outcomes } from "../projections/outcomes.ts";
import { readProjection } from "../projections/snapshot.ts";
import { readTotalCounts } from "../projections/daily_counts.ts";
import type { Counter } from "../projections/counts.ts";
import { waiting } from "../projections/waiting.ts";
import type { OperationsDeps } from "./deps.ts";
import { computeFigures, RELIABILITY_DAYS } from "./figures.ts";
import { listStaleKpis } from "./need.ts";
import { readTaskCounts } from "./tasks.ts";
import { computeTrend } from "./trend.ts";

const PHASES = ["observe", "propose", "apply", "recover", "learn"] as const;
type PhaseId = (typeof PHASES)[number];

export const phaseSchema = z
  .object({
    id: z.enum(PHASES).describe("Which phase."),
    title: z.string().meta({ description: "Its name for people.", examples: ["Observe"] }),
    progress: z.number().describe("met / total, 0 to 1."),
    met: z.number().int().describe("Items that are met."),
    total: z.number().int().describe("Items in all."),
    items: z
      .array(
        z.object({
          title: z.string().meta({ description: "What it is.", examples: ["A change was applied"] }),
          met: z.boolean().describe("Whether it is met."),
          how: z
            .string()
            .meta({ description: "The record that tells, or how to meet it.", examples: ["apply an approved change"] }),
        }),
      )
      .describe("Items of the phase."),
  })
  .describe("Progress of a phase of using the service.");
export type Phase = z.infer<typeof phaseSchema>;

/** Computes the phases, and the first incomplete one (null if none); empty if the records cannot be read. */
export async function computePhases(deps: OperationsDeps): Promise<{ phases: Phase[]; current_phase: PhaseId | null }> {
  try {
    const items = await readItems(deps);
    const phases = PHASES.map((id) => createPhase(id, items[id]));
    return { phases, current_phase: phases.find(({ met, total }) => met < total)?.id ?? null };
  } catch (error) {
    deps.log.warn("the phases cannot be read", { error: String(error) });
    return { phases: [], current_phase: null };
  }
}

type Item = readonly [title: string, met: boolean, how: string];

function createPhase(id: PhaseId, rows: readonly Item[]): Phase {
  const items = rows.map(([title, met, how]) => ({ title, met, how }));
  const met = items.filter((item) => item.met).length;
  const title = id.charAt(0).toUpperCase() + id.slice(1);
  return { id, title, progress: met / items.length, met, total: items.length, items };
}

async function readItems(deps: OperationsDeps): Promise<Record<PhaseId, Item[]>> {
  const { store, product, clock, integrity } = deps;
  const [{ effect, memory, kpis }, tally, { totals }, tasks, { state: waitingState }, { state }] = await Promise.all([
    computeFigures(deps),
    readTotalCounts(deps),
    computeTrend(deps, RELIABILITY_DAYS),
    readTaskCounts(store),
    readProjection(deps, waiting),
    readProjection(deps, outcomes),
  ]);
  const intent = product?.intent;
  const isEffectKnown = effect.value !== null && listStaleKpis(effect, clock.now()).length === 0;
  const sum = (...counters: Counter[]): number => counters.reduce((total, counter) => total + (tally[counter] ?? 0), 0);
  const proposed = Object.values(waitingState.counts).some((count) => count > 0);
  // Each decision is counted at one of these levels; L5 counts drift.
  const decided = sum("level_L1", "level_L2", "level_L3", "level_L4", "level_unattributed") > 0;
  const applied = sum("attempts") - sum("attempts_apply_failed");
  const rolledBack = sum("rollbacks_person", "rollbacks_guardrail", "rollbacks_rollout") > 0;
  const judged = state.verdicts + sum("verdict_met", "verdict_missed", "verdict_regressed") > 0;
  const guarded = (intent?.policy.guardrails.length ?? 0) > 0;
  return {
    observe: [
      ["A product intent is in force", intent !== undefined, "start with --product-intent PATH"],
      ["The intent names a KPI", Object.keys(intent?.kpis ?? {}).length > 0, "add kpis to the intent"],
      ["A KPI was fed", kpis.last_at !== null, "POST /api/product/kpi"],
      ["E is known and no KPI is stale", isEffectKnown, "feed every KPI at least once in 7 days"],
    ],
    propose: [
      ["A change was proposed", proposed, "POST /api/product/propose"],
      ["A person decided on a change", sum("decided_approved", "decided_denied") > 0, "POST /api/product/approve"],
      [
        // L5 counts drift. Only recent drift counts: a single bypass must not block this phase for ever.
        `Nothing bypassed consent in ${RELIABILITY_DAYS} days`,
        intent !== undefined && decided && totals.L5 === 0,
        "let every change go through the service",
      ],
    ],
    apply: [
      [
        "An adapter carries changes to the host product",
        product?.adapter !== undefined,
        "--targets FILE, --product-config PATH, or --product-adapter URL",
      ],
      ["A change was applied", applied > 0, "POST /api/product/apply"],
      ["Ten changes were applied", applied >= 10, "POST /api/product/apply"],
    ],
    recover: [
      ["A change was rolled back", rolledBack, "POST /api/product/rollback"],
      ["The intent has a guardrail", guarded, "add policy.guardrails to the intent"],
      ["The audit chain holds", intent !== undefined && !integrity.breach, "GET /api/product/audit/verify"],
    ],
    learn: [
      ["An outcome was judged", judged, "name the change's kpi, and feed it after the apply"],
      ["Nine tenths of what should be on record is", (memory.value ?? 0) >= 0.9, "state rationale, note and kpi"],
      ["A task was completed", (tasks.statuses.completed ?? 0) > 0, "POST /api/tasks"],
      ["A task was rated", tasks.rated > 0, "POST /api/task/feedback"],
    ],
  };
}
