/** How the KPIs moved in a week. */
import { outcomes } from "../../follow/outcomes.ts";
import { reading } from "../../follow/reading.ts";
import { goodOf, roundDelta } from "../../governance/rules/kpi.ts";
import { movedWords } from "../../governance/rules/kpi_words.ts";
import { DAY_MS, dayOf, type Week } from "../../kit/days.ts";
import type { PulseDeps } from "../deps.ts";
import type { Figures } from "../figures.ts";
import { code, table } from "../markdown.ts";
import { staleKpis } from "../need.ts";
import { moment } from "./told.ts";

/** A row for each KPI that was fed by the end of the week; `undefined` where none was. */
export async function kpisTold(deps: PulseDeps, week: Week, { effect }: Figures): Promise<string | undefined> {
  const read = await reading(deps, outcomes);
  const lastOn = async (day: string) =>
    (await read.list("kpi_days", { after: `${day}~`, limit: 1, reverse: true }))[0]?.value.values ?? {};
  const before = await lastOn(dayOf(Date.parse(week.from) - DAY_MS));
  const end = await lastOn(week.to);
  const stale = staleKpis(effect, deps.clock.now());
  const targets = new Map(effect.parts.map(({ kpi, target }) => [kpi, target]));
  const intent = deps.product?.intent ?? { kpis: {} };
  const rows = Object.entries(end)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([kpi, { value, at }]) => {
      const was = before[kpi]?.value;
      const moved = was === undefined ? "first fed" : movedWords(roundDelta(value - was), goodOf(kpi, intent));
      const fed = `${moment(at)}${stale.includes(kpi) ? ", stale" : ""}`;
      return [code(kpi), was ?? "–", value, moved, targets.get(kpi) ?? "–", fed];
    });
  return table(["KPI", "before the week", "at its end", "moved", "target", "last fed"], rows);
}
