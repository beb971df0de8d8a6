/** How far the use of the service has come: five phases, each met item told by a record. */
import * as z from "zod";
import type { PulseDeps } from "./deps.ts";
import { figuresOf, RELIABILITY_DAYS } from "./figures.ts";
import { staleKpis } from "./need.ts";
import { outcomes } from "../follow/outcomes.ts";
import { reading } from "../follow/reading.ts";
import { totalTally } from "../follow/tallies.ts";
import type { Tally } from "../follow/tally.ts";
import { type StatusCounts, waiting } from "../follow/waiting.ts";
import { type TaskCounts, taskCounts } from "./tasks.ts";
import { trendOf } from "./trend.ts";

const PHASES = ["observe", "propose", "apply", "recover", "learn"] as const;
type PhaseId = (typeof PHASES)[number];

export const phaseSchema = z.object({
  id: z.enum(PHASES),
  title: z.string(),
  /** `met ÷ total` */
  progress: z.number(),
  met: z.number().int(),
  total: z.number().int(),
  items: z.array(z.object({ title: z.string(), met: z.boolean(), how: z.string() })),
});
export type Phase = z.infer<typeof phaseSchema>;

type Item = Phase["items"][number];

const TITLES: Readonly<Record<PhaseId, string>> = {
  observe: "Observe",
  propose: "Propose",
  apply: "Apply",
  recover: "Recover",
  learn: "Learn",
};

/** The phases, and the first that is not complete; `null` when all are. None where what tells of them cannot be read. */
export async function phasesOf(deps: PulseDeps): Promise<Phases> {
  return readPhases(deps).catch((error: unknown) => {
    deps.log.warn("the phases cannot be told", { error: String(error) });
    return { phases: [], current_phase: null };
  });
}

interface Phases {
  phases: Phase[];
  current_phase: PhaseId | null;
}

async function readPhases(deps: PulseDeps): Promise<Phases> {
  const { store, product, clock, integrity } = deps;
  const [{ effect, memory, kpis }, tally, { totals }, tasks, waits, { state }] = await Promise.all([
    figuresOf(deps),
    totalTally(deps),
    trendOf(deps, RELIABILITY_DAYS),
    taskCounts(store),
    reading(deps, waiting),
    reading(deps, outcomes),
  ]);
  const intent = product?.intent;
  const goals = Object.keys(intent?.kpis ?? {});
  const items: Record<PhaseId, Item[]> = {
    observe: [
      item("A product intent is in force", intent !== undefined, "start with --product-intent PATH"),
      item("The intent names a KPI", goals.length > 0, "add kpis to the intent"),
      item("A KPI was fed", kpis.last_at !== null, "POST /api/product/kpi"),
      item(
        "E is known and no KPI is stale",
        effect.value !== null && staleKpis(effect, clock.now()).length === 0,
        "feed every KPI at least once in 7 days",
      ),
    ],
    propose: proposeItems(tally, waits.state.counts, intent !== undefined, totals.L5),
    apply: [
      item(
        "An adapter carries changes to the host product",
        product?.adapter !== undefined,
        "--product-config PATH, or --product-adapter URL",
      ),
      item("A change was applied", applied(tally) > 0, "POST /api/product/apply"),
      item("Ten changes were applied", applied(tally) >= 10, "POST /api/product/apply"),
    ],
    recover: [
      item("A change was rolled back", rollbacks(tally) > 0, "POST /api/product/rollback"),
      item(
        "The intent has a guardrail",
        (intent?.policy.guardrails.length ?? 0) > 0,
        "add policy.guardrails to the intent",
      ),
      item("The audit chain holds", intent !== undefined && !integrity.breach, "GET /api/product/audit/verify"),
    ],
    learn: learnItems(tally, tasks, memory.value, state.verdicts > 0),
  };
  const phases = PHASES.map((id) => phaseOf(id, items[id]));
  return { phases, current_phase: phases.find(({ met, total }) => met < total)?.id ?? null };
}

const item = (title: string, met: boolean, how: string): Item => ({ title, met, how });

function phaseOf(id: PhaseId, items: Item[]): Phase {
  const met = items.filter((one) => one.met).length;
  return { id, title: TITLES[id], progress: met / items.length, met, total: items.length, items };
}

const applied = (tally: Tally): number => (tally.attempts ?? 0) - (tally.attempts_apply_failed ?? 0);
const rollbacks = (tally: Tally): number => (tally.rollbacks_person ?? 0) + (tally.rollbacks_guardrail ?? 0);

/** `bypassed`: of late. What happened once must not keep a service from this phase for ever. */
function proposeItems(tally: Tally, counts: StatusCounts, governed: boolean, bypassed: number): Item[] {
  const proposed = Object.values(counts).some((count) => count > 0);
  const decided = (tally.decided_approved ?? 0) + (tally.decided_denied ?? 0);
  const levels = (tally.level_L1 ?? 0) + (tally.level_L2 ?? 0) + (tally.level_L3 ?? 0) + (tally.level_L4 ?? 0);
  return [
    item("A change was proposed", proposed, "POST /api/product/propose"),
    item("A person decided on a change", decided > 0, "POST /api/product/approve"),
    item(
      `Nothing bypassed consent in ${RELIABILITY_DAYS} days`,
      governed && levels > 0 && bypassed === 0,
      "let every change go through the service",
    ),
  ];
}

function learnItems(tally: Tally, tasks: TaskCounts, memory: number | null, judged: boolean): Item[] {
  const verdicts = (tally.verdict_met ?? 0) + (tally.verdict_missed ?? 0) + (tally.verdict_regressed ?? 0);
  return [
    item("An outcome was judged", judged || verdicts > 0, "name the change's kpi, and feed it after the apply"),
    item(
      "Nine tenths of what should be on record is",
      memory !== null && memory >= 0.9,
      "state rationale, note and kpi",
    ),
    item("A task was completed", (tasks.statuses.completed ?? 0) > 0, "POST /api/tasks"),
    item("A task was rated", tasks.rated > 0, "POST /api/task/feedback"),
  ];
}
