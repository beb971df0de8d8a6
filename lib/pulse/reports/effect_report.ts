import { movementOf, outcomes } from "../../follow/outcomes.ts";
import { reading } from "../../follow/reading.ts";
import { outcomePage } from "../changes.ts";
import type { PulseDeps } from "../deps.ts";
import { type KpiState, roundDelta } from "../../governance/rules/kpi.ts";
import { dayOf, DAY_MS } from "../../kit/days.ts";
import type { Figures } from "../figures.ts";
import { code, list, page, share, table } from "./markdown.ts";

const OUTCOMES_SHOWN = 10;

/** E: which KPIs moved within a week, and what applied changes were expected to move. */
export async function effectReport(deps: PulseDeps, { effect }: Figures): Promise<string> {
  const before = await aWeekAgo(deps);
  const rows = effect.parts.map(({ kpi, value, target, attainment, reason }) => {
    const was = before[kpi]?.value;
    const moved = was === undefined ? "no earlier value" : roundDelta(value - was);
    return [code(kpi), was ?? "–", value, moved, target ?? "–", attainment === null ? reason : share(attainment)];
  });
  const newest = deps.product ? (await outcomePage(deps, { limit: 50 })).outcomes : [];
  const judged = newest.filter(({ verdict }) => verdict !== "inconclusive").slice(0, OUTCOMES_SHOWN);
  return page(
    "## Effect: what moved",
    `E is ${share(effect.value)}: the weighted mean of the attainments below.`,
    table(["KPI", "a week ago", "now", "moved by", "target", "attainment"], rows) ?? "No KPI was fed yet.",
    judged.length > 0
      ? "Expected against realised movement of applied changes (a correlation, not a cause):"
      : undefined,
    list(judged.map((outcome) => `${code(outcome.change_id)} ${outcome.verdict}: ${movementOf(outcome)}`)),
    "Computed from the KPI feeds, one remembered a day, and the outcomes of applied changes.",
  );
}

/** The values as they stood 7 days ago, or on the first day of feeds when that is less long ago. */
async function aWeekAgo(deps: PulseDeps): Promise<KpiState["values"]> {
  const { list: read } = await reading(deps, outcomes);
  const day = dayOf(deps.clock.now() - 7 * DAY_MS);
  const [then] = await read("kpi_days", { after: `${day}~`, limit: 1, reverse: true });
  const [first] = then ? [then] : await read("kpi_days", { limit: 1 });
  return first && first.id < dayOf(deps.clock.now()) ? first.value.values : {};
}
