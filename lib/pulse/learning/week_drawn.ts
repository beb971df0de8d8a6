/** The picture beside a week's report: the KPIs with what was applied and rolled back, promises and need, week by week. */
import { outcomes } from "../../follow/outcomes.ts";
import { reading } from "../../follow/reading.ts";
import { sumWithin } from "../../follow/tally.ts";
import { tallyDays } from "../../follow/tallies.ts";
import { goalOf } from "../../governance/rules/kpi.ts";
import { DAY_MS, dayOf, type Week, weekOf } from "../../kit/days.ts";
import { label } from "../../kit/quote.ts";
import type { PulseDeps } from "../deps.ts";
import { type Span, WEEK_MS, weeksOf, WIDTH } from "../picture/axis.ts";
import { type ChangeMark, type KpiDrawn, kpiPanel } from "../picture/kpi_panel.ts";
import { picture, text } from "../picture/svg.ts";
import { needBars, promiseBars } from "../picture/week_bars.ts";
import { look } from "../query/look.ts";

/** How many weeks are drawn, the week of the report last. */
export const WEEKS = 8;
/** So many KPIs are drawn, in the order of their names. */
const KPIS = 8;
const GAP = 16;

/** The picture of a week, and what it shows in words for whoever does not see it. */
export async function drawWeek(deps: PulseDeps, week: Week): Promise<{ svg: string; told: string }> {
  const to = Date.parse(week.to) + DAY_MS;
  const span = { from: to - WEEKS * WEEK_MS, to };
  const { drawn, left } = await kpisDrawn(deps, span);
  const told =
    `The ${WEEKS} weeks up to ${week.to}: ${drawn.length} KPI${drawn.length === 1 ? "" : "s"} with the applies and rollbacks of changes that named them, ` +
    "promises kept and broken, and need, by week. The report has the figures in words.";
  const panels: ((top: number) => { parts: string[]; height: number })[] = [
    ...drawn.map((kpi) => (top: number) => kpiPanel(kpi, span, top)),
    ...(left > 0
      ? [(top: number) => ({ parts: [text({ x: GAP, y: top + 12 }, `${left} more KPIs are not drawn`)], height: 20 })]
      : []),
  ];
  const promises = await promisesDrawn(deps, span);
  const need = await needDrawn(deps, span);
  panels.push(
    (top) => promiseBars(promises, span, top),
    (top) => needBars(need, span, top),
  );
  let height = GAP;
  const parts = [text({ x: GAP, y: height + 8 }, `Week ${week.name} (${week.from} to ${week.to})`, { tone: "muted" })];
  height += GAP;
  for (const panel of panels) {
    const made = panel(height);
    parts.push(...made.parts);
    height += made.height + GAP;
  }
  return { svg: picture({ width: WIDTH, height, title: `Week ${week.name}`, description: told }, parts), told };
}

/** The KPIs that were fed by the end, with the last value of each day on which they were. */
async function kpisDrawn(deps: PulseDeps, span: Span): Promise<{ drawn: KpiDrawn[]; left: number }> {
  const { product } = deps;
  const read = await reading(deps, outcomes);
  const [first, last] = [dayOf(span.from), dayOf(span.to - DAY_MS)];
  const before = await read.list("kpi_days", { after: first, limit: 1, reverse: true });
  const since = await read.list("kpi_days", { after: dayOf(span.from - DAY_MS), limit: WEEKS * 7 });
  const days = [...before, ...since.filter(({ id }) => id <= last)].map(({ value }) => value.values);
  const names = Object.keys(days.at(-1) ?? {}).sort();
  const marks = await marksOf(deps, span, names.slice(0, KPIS));
  const drawn = names.slice(0, KPIS).map((kpi): KpiDrawn => {
    const fed = new Map(days.flatMap((values) => (values[kpi] ? [[values[kpi].at, values[kpi].value] as const] : [])));
    const target = product && goalOf(kpi, { values: days.at(-1)!, last_at: null }, product.intent)?.target;
    return {
      kpi,
      fed: [...fed].map(([at, value]) => ({ at: Date.parse(at), value })),
      target: target ?? null,
      marks: marks.get(kpi) ?? [],
    };
  });
  return { drawn, left: names.length - drawn.length };
}

/** Applies and rollbacks within the span of changes that named one of these KPIs, by KPI, oldest first. */
async function marksOf(deps: PulseDeps, span: Span, kpis: readonly string[]): Promise<Map<string, ChangeMark[]>> {
  const marks = new Map<string, ChangeMark[]>(kpis.map((kpi) => [kpi, []]));
  for (const { change_id, target, tenant_id, kpi, applied_at, rolled_back_at } of deps.product
    ? (await look(deps)).rows
    : []) {
    const name = `${target} of ${label(tenant_id)}`;
    for (const [what, at] of [
      ["applied", applied_at],
      ["rolled back", rolled_back_at],
    ] as const)
      if (at !== null && Date.parse(at) >= span.from && Date.parse(at) < span.to)
        marks.get(kpi ?? "")?.push({ change_id, what, name, at: Date.parse(at) });
  }
  for (const some of marks.values()) some.sort((a, b) => a.at - b.at);
  return marks;
}

/** Promises that were kept and broken by changes that closed, by week, out of the counts that reports tell. */
async function promisesDrawn(deps: PulseDeps, span: Span): Promise<{ kept: number; broken: number }[]> {
  const days = await tallyDays(deps, { from: dayOf(span.from), to: dayOf(span.to - DAY_MS) });
  return weeksOf(span).map((monday) => {
    const { verdict_met = 0, verdict_missed = 0, verdict_regressed = 0 } = sumWithin(days, weekOf(monday));
    return { kept: verdict_met, broken: verdict_missed + verdict_regressed };
  });
}

/** N as the last cycle within each week found it. */
async function needDrawn({ store }: PulseDeps, span: Span): Promise<(number | null)[]> {
  const days = await store.list("values_days", { after: dayOf(span.from - DAY_MS), limit: WEEKS * 7 });
  return weeksOf(span).map((monday) => {
    const { from, to } = weekOf(monday);
    return days.filter(({ id }) => id >= from && id <= to).at(-1)?.value.N ?? null;
  });
}
