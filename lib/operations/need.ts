/** N, need: the weight of overdue items. */
import * as z from "zod";
import type { OperationsDeps } from "./deps.ts";
import { readProjection } from "../projections/snapshot.ts";
import { waiting } from "../projections/waiting.ts";
import { type AgeClass, AGE_CLASSES, type AgedItem, MAX_COUNTED, listOverdueItems } from "../projections/overdue.ts";
import { listKnownMismatches } from "../changes/integrity_scan.ts";
import type { Effect } from "../changes/rules/effect.ts";
import { isStale } from "../changes/rules/kpi.ts";
import { readTaskCounts } from "./tasks.ts";

const ITEMS = [...AGE_CLASSES, "drift", "review_due", "stale_kpis", "audit_chain"] as const;
type ItemName = (typeof ITEMS)[number];

/** Weight of one overdue item of each kind; a change of high risk, or one that cannot be undone, counts twice. */
const WEIGHTS: Readonly<Record<ItemName, number>> = {
  pending_changes: 4,
  approved_changes: 4,
  tasks_urgent: 4,
  tasks_high: 2,
  tasks_normal: 1,
  tasks_low: 0.5,
  drift: 8,
  review_due: 8,
  stale_kpis: 2,
  audit_chain: 8,
};

/** Weight at which N is 0.5. */
const HALF_WEIGHT = 8;

const itemSchema = z.object({
  item: z.enum(ITEMS).describe("Open items."),
  open: z.number().int().describe("How many are open."),
  overdue: z.number().int().describe("How many of these are overdue."),
});

export const needSchema = z.object({
  value: z.number().describe("N, from 0 to 1: weight / (weight + 8); 0 when nothing is overdue."),
  weight: z.number().describe("Total weight of overdue items."),
  open: z.number().int().describe("How much is open; it does not move N."),
  overdue: z.number().int().describe("How much of that is overdue."),
  items: z.array(itemSchema).describe("By kind; kinds without open items are omitted."),
  at_least: z.boolean().describe("True when more are overdue than are counted."),
});
export type Need = z.infer<typeof needSchema>;

/** Computes N from the weight of overdue items. Drift, due reviews, stale KPIs and faults of the chain are overdue immediately. */
export async function computeNeed(deps: OperationsDeps, effect: Effect): Promise<Need> {
  const { store, clock, integrity } = deps;
  const [{ state }, tasks, drift, reviews] = await Promise.all([
    readProjection(deps, waiting),
    readTaskCounts(store),
    store.list("drift", { limit: MAX_COUNTED, keysOnly: true }),
    store.list("review_due", { limit: MAX_COUNTED, keysOnly: true }),
  ]);
  const { pending_consent = 0, approved = 0 } = state.counts;
  const open: Partial<Record<AgeClass, number>> = {
    ...tasks.open,
    pending_changes: pending_consent,
    approved_changes: approved,
  };
  const countClass = async (item: AgeClass): Promise<CountedItem> => {
    const aged = open[item] ? await listOverdueItems(deps, item) : [];
    return { item, open: open[item] ?? 0, ...countAged(aged, open[item] ?? 0) };
  };
  const countAllOverdue = (item: ItemName, count: number): CountedItem => ({
    item,
    open: count,
    overdue: count,
    weighing: count,
  });
  const counted = [
    ...(await Promise.all(AGE_CLASSES.map(countClass))),
    countAllOverdue("drift", drift.length),
    countAllOverdue("review_due", reviews.length),
    countAllOverdue("stale_kpis", listStaleKpis(effect, clock.now()).length),
    countAllOverdue("audit_chain", (integrity.breach ? 1 : 0) + listKnownMismatches(integrity).size),
  ];
  const sum = (measure: (item: CountedItem) => number): number =>
    counted.reduce((total, item) => total + measure(item), 0);
  const weight = sum(({ item, weighing }) => WEIGHTS[item] * weighing);
  return {
    value: weight / (weight + HALF_WEIGHT),
    weight,
    open: sum((item) => item.open),
    overdue: sum((item) => item.overdue),
    items: counted.flatMap(({ weighing: _, ...item }) => (item.open > 0 ? item : [])),
    // Only the first `MAX_COUNTED` approved changes are checked.
    at_least: approved > MAX_COUNTED || counted.some(({ overdue }) => overdue >= MAX_COUNTED),
  };
}

/** `weighing`: number of overdue items, in which grave ones count twice. */
type CountedItem = z.infer<typeof itemSchema> & { weighing: number };

function countAged(aged: readonly AgedItem[], open: number): Pick<CountedItem, "overdue" | "weighing"> {
  // The list may have been read slightly later than its count.
  const overdue = aged.slice(0, open);
  return { overdue: overdue.length, weighing: overdue.length + overdue.filter(({ grave }) => grave).length };
}

/** Lists the KPIs that count in E and were last fed more than 7 days ago. */
export const listStaleKpis = (effect: Effect, now: number): string[] =>
  effect.parts.filter(({ attainment, at }) => attainment !== null && isStale(at, now)).map(({ kpi }) => kpi);
