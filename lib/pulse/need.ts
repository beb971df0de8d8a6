/** N, need: of what is open, how much is overdue. */
import * as z from "zod";
import type { PulseDeps } from "./deps.ts";
import { reading } from "../follow/reading.ts";
import { waiting } from "../follow/waiting.ts";
import { type AgeClass, AGE_CLASSES, MOST_COUNTED, overdueOf } from "./overdue.ts";
import { DAY_MS } from "../kit/days.ts";
import { misfitsOf } from "../governance/patrol.ts";
import type { Effect } from "../governance/rules/effect.ts";
import { taskCounts } from "./tasks.ts";

/** A KPI that was not fed for this long is stale. */
export const STALE_MS = 7 * DAY_MS;

const DRIFT_COUNTED = 1000;

const itemSchema = z.object({
  item: z.enum([...AGE_CLASSES, "drift", "review_due", "stale_kpis", "audit_chain"]),
  open: z.number().int(),
  overdue: z.number().int(),
});

export const needSchema = z.object({
  value: z.number(),
  open: z.number().int(),
  overdue: z.number().int(),
  /** Only what has open items. */
  items: z.array(itemSchema),
  /** True when more are overdue than are counted. */
  at_least: z.boolean(),
});
export type Need = z.infer<typeof needSchema>;

/** `overdue ÷ open`, 0 when nothing is open. What is wrong with the host, the KPIs or the chain is overdue at once. */
export async function needOf(deps: PulseDeps, effect: Effect): Promise<Need> {
  const { store, clock, integrity } = deps;
  const [{ state }, tasks, drift, reviews] = await Promise.all([
    reading(deps, waiting),
    taskCounts(store),
    store.list("drift", { limit: DRIFT_COUNTED }),
    store.list("review_due", { limit: DRIFT_COUNTED, keysOnly: true }),
  ]);
  const openOf = (item: AgeClass): number =>
    (item === "pending_changes" ? state.counts.pending_consent : tasks.open[item]) ?? 0;
  const aged = await Promise.all(AGE_CLASSES.map((item) => (openOf(item) === 0 ? [] : overdueOf(deps, item))));
  const atOnce = (item: z.infer<typeof itemSchema>["item"], count: number) => ({ item, open: count, overdue: count });
  const ofClass = (item: AgeClass, index: number) => {
    const open = openOf(item);
    return { item, open, overdue: Math.min(open, aged[index]!.length) };
  };
  const items = [
    ...AGE_CLASSES.map(ofClass),
    atOnce("drift", drift.length),
    atOnce("review_due", reviews.length),
    atOnce("stale_kpis", staleKpis(effect, clock.now()).length),
    atOnce("audit_chain", (integrity.breach ? 1 : 0) + misfitsOf(integrity).size),
  ].filter(({ open }) => open > 0);
  const open = items.reduce((total, item) => total + item.open, 0);
  const overdue = items.reduce((total, item) => total + item.overdue, 0);
  const at_least = aged.some(({ length }) => length === MOST_COUNTED);
  return { value: open === 0 ? 0 : overdue / open, open, overdue, items, at_least };
}

/** The KPIs that count in E and were last fed more than 7 days ago. */
export const staleKpis = (effect: Effect, now: number): string[] =>
  effect.parts
    .filter(({ attainment, at }) => attainment !== null && now - Date.parse(at) > STALE_MS)
    .map(({ kpi }) => kpi);
