/**
 * Lessons: for each dimension what its figure is made of, over the same days and the same changes as the figure. Text for
 * people; nothing reads it back.
 */
import { readRecords } from "../../governance/records.ts";
import type { Change } from "../../governance/rules/change.ts";
import { VERDICTS } from "../../governance/rules/outcome.ts";
import { calibrationOf } from "../../follow/calibration.ts";
import { outcomes } from "../../follow/outcomes.ts";
import { reading } from "../../follow/reading.ts";
import { RECORD_ITEMS } from "../../follow/record_keeping.ts";
import { lastDays } from "../../kit/days.ts";
import type { PulseDeps } from "../deps.ts";
import { type Figures, RELIABILITY_DAYS } from "../figures.ts";
import { code, list, page, share, table } from "../markdown.ts";
import { queryChanges } from "../query/change_query.ts";
import { openItems } from "../reports.ts";
import type { Dimension } from "../tasks.ts";
import { attemptsByTarget } from "./attempts.ts";
import { briefOf } from "./told.ts";

const LOOKED_AT = 200;
const ROWS = 20;

/** What the records teach about each dimension. */
export async function lessonsOf(deps: PulseDeps, figures: Figures): Promise<Record<Dimension, string>> {
  return {
    E: await effectLesson(deps, figures),
    M: await memoryLesson(deps, figures),
    R: await reliabilityLesson(deps, figures),
    N: await needLesson(deps, figures),
  };
}

async function effectLesson(deps: PulseDeps, { effect }: Figures): Promise<string> {
  const found = deps.product ? (await queryChanges(deps, { period: { of: "applied" }, limit: LOOKED_AT })).rows : [];
  const judged = found.flatMap(({ change, outcome }) => (outcome && outcome.kpi !== null ? [{ change, outcome }] : []));
  const calibration = await calibrationOf(await reading(deps, outcomes));
  return page(
    "# Lessons: effect",
    `E is ${share(effect.value)}: the weighted mean of how far each KPI is on its way.`,
    table(
      ["KPI", "value", "weight", "attainment"],
      effect.parts.map(({ kpi, value, weight, attainment, reason }) => [
        code(kpi),
        value,
        weight ?? "–",
        attainment === null ? reason : share(attainment),
      ]),
    ),
    "What changes on a target promised, and what came of it so far:",
    table(
      ["target", ...VERDICTS],
      byTarget(judged).map(([target, group]) => [
        code(target),
        ...VERDICTS.map((verdict) => group.filter(({ outcome }) => outcome.verdict === verdict).length),
      ]),
    ) ?? "Nothing that was applied named a KPI.",
    calibration.length > 0
      ? "Promised against realised, of final outcomes whose movement no other change shares:"
      : undefined,
    table(
      ["KPI", "of", "outcomes", "met", "missed", "regressed", "promised", "realised", "shared, left out"],
      calibration.map(({ kpi, group, n, met, missed, regressed, mean_promised, mean_realised, shared }) => [
        ...[code(kpi), code(group), n, met, missed, regressed],
        ...[mean_promised ?? "–", mean_realised ?? "–", shared],
      ]),
    ),
    `Computed from the newest feeds, and from the outcomes, open and final, of those among the last ${LOOKED_AT} applied changes that name a KPI.`,
  );
}

async function memoryLesson({ store }: PulseDeps, { memory }: Figures): Promise<string> {
  const { value, from, to, closed, expected, present, missing, gaps } = memory;
  const records = await readRecords(
    store,
    gaps.map(({ change_id }) => change_id),
  );
  return page(
    "# Lessons: memory",
    `M is ${share(value)}: of ${expected} things that should be on record of ${closed} changes closed from ${from} to ${to}, ${present} are.`,
    table(
      ["on record", "missing"],
      RECORD_ITEMS.map((item) => [item, missing[item]]),
    ),
    gaps.length > 0 ? "The newest gaps:" : "There are no gaps.",
    list(
      gaps.flatMap(({ missing: items }, index) => {
        const change = records[index]?.change;
        return change ? [`${briefOf(change as Change)} lacks ${items.join(", ")}`] : [];
      }),
    ),
    "Computed from the daily counts of closed changes, the same as M.",
  );
}

async function reliabilityLesson(deps: PulseDeps, { reliability }: Figures): Promise<string> {
  const { value, from, to, n, failed, causes, interval } = reliability;
  const sure = interval ? ` (95 % interval ${share(interval.low)} to ${share(interval.high)})` : "";
  const { targets, left_out } = await attemptsByTarget(deps, lastDays(deps.clock.now(), RELIABILITY_DAYS));
  return page(
    "# Lessons: reliability",
    `R is ${share(value)}${sure}: of ${n} applies attempted from ${from} to ${to}, ${failed} failed.`,
    table(
      ["cause", "attempts"],
      [
        ["failed in the adapter", causes.adapter_failure],
        ["rolled back", causes.rolled_back],
        ["drifted", causes.drifted],
      ],
    ),
    table(
      ["target", "attempted", "failed", "of that in the adapter", "rolled back", "drifted"],
      targets.slice(0, ROWS).map(({ target, ...counts }) => [code(target), ...Object.values(counts)]),
    ) ?? "Nothing was attempted.",
    targets.length > ROWS ? `And ${targets.length - ROWS} more targets.` : undefined,
    left_out > 0 ? `The ${left_out} oldest attempts are not told by target.` : undefined,
    "Computed from the audit log over the days of R. What was rolled back after it drifted counts as one failure and stands under both causes.",
  );
}

async function needLesson(deps: PulseDeps, { need, memory: { from, to } }: Figures): Promise<string> {
  const since = `${from}T00:00:00.000Z`;
  const lost = deps.product
    ? await queryChanges(deps, {
        resolution: ["expired", "lapsed"],
        period: { of: "denied", from: since },
        limit: ROWS,
      })
    : { rows: [], total: 0 };
  return page(
    "# Lessons: need",
    `N is ${share(need.value)}.`,
    openItems(need) ?? "Nothing is open.",
    `Nobody decided in time, or applied in time, from ${from} to ${to}: ${lost.total}.`,
    list(lost.rows.map(({ change }) => `${briefOf(change)} ${change.resolution}`)),
    "Computed from what is open now, and from the changes that ended by time.",
  );
}

/** Targets with the most changes first. */
function byTarget<T extends { change: Change }>(applied: readonly T[]): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const one of applied) groups.set(one.change.target, [...(groups.get(one.change.target) ?? []), one]);
  return [...groups].sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1)).slice(0, ROWS);
}
