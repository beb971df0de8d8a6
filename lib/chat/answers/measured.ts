/** Changes in the order of what is measured of them: most or longest first, with the figure beside each. */
import { idsFrom } from "../../pulse/query/change_query.ts";
import type { Measure } from "../question/measure.ts";
import { type Answer, type Asking, cite, find, howFar, lines, TOLD } from "./asking.ts";
import { LONGER, measured, valuesOf } from "./measures.ts";

/** Of the first or the last so many are told. */
const FIRST = 3;

/** The changes that are asked for in the order of a measure, and between which figures it lies. */
export async function tellMeasured(asked: Asking, measure: Measure): Promise<Answer> {
  const asking = { ...asked, plan: measured(asked, measure) };
  const { deps, seen, say, plan, question } = asking;
  const ids = new Set(await idsFrom(deps, seen, plan.filter));
  const rows = seen.rows.filter(({ change_id }) => ids.has(change_id));
  const values = await valuesOf(asking, measure, rows);
  const isLeast = question.has("least");
  const known = [...values].sort(([, a], [, b]) => (isLeast ? a - b : b - a));
  const isOfFirst = isLeast || question.has("most");
  const shown = known.slice(0, isOfFirst ? Math.max(FIRST, tied(known)) : TOLD).slice(0, TOLD);
  const found = await find(asking, { change_id: shown.map(([id]) => id), limit: TOLD });
  const told = shown.flatMap(([id, value]) => {
    const row = found.rows.find(({ change }) => change.change_id === id);
    return row ? [say.row(row), `  ${say.measure(measure, value, row.change)}`] : [];
  });
  const sum = known.reduce((total, [, value]) => total + value, 0);
  const sorted = known.map(([, value]) => value).sort((a, b) => a - b);
  const compared = LONGER.exec(question.text)?.[0];
  return {
    text: lines(
      compared ? say.leftOut([compared]) : "",
      say.measured(measure, { query: say.query(plan.filter), known: known.length, total: rows.length, isLeast }),
      known.length > 1 && measure !== "expected"
        ? say.spread(measure, { least: sorted[0]!, most: sorted.at(-1)!, mean: sum / sorted.length })
        : "",
      told,
      known.length > shown.length
        ? say.others(
            known
              .slice(shown.length)
              .slice(0, TOLD)
              .map(([id]) => id),
          )
        : "",
      howFar(asking),
    ),
    citations: cite(
      "change",
      shown.map(([id]) => id),
    ),
    isNone: known.length === 0,
  };
}

/** How many share the first figure. */
const tied = (sorted: readonly [string, number][]): number =>
  sorted.filter(([, value]) => value === sorted[0]![1]).length;
