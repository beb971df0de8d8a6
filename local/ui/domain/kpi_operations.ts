/** Applies and rollbacks in the period of a KPI, and its largest fall. */
import type { FindRow } from "../core/api_types.ts";
import type { ChartEvent } from "../parts/chart.tsx";
import type { KpiPoint } from "./kpi_series.ts";

const DAY_S = 86_400;
const MAX_BEFORE_FALL = 5;

/** Returns the queries for changes that were applied or rolled back since the day of the first of these values. */
export function listOperationQueries(points: readonly KpiPoint[]): string[] {
  const first = points[0];
  if (!first) return [];
  // Two days before: `>` excludes the day that it names, which may end half a UTC day later in the reader's time zone.
  const day = new Date((first.at - 2 * DAY_S) * 1000).toISOString().slice(0, 10);
  return [`applied:>${day} sort:applied`, `rolledback:>${day}`];
}

type OperatedChange = Pick<FindRow, "change_id" | "summary" | "target" | "applied_at" | "rolled_back_at">;

/** Lists applies and rollbacks since `from` (seconds), oldest first; a change that both queries found counts once. */
export function listOperations(rows: readonly OperatedChange[], from = 0): ChartEvent[] {
  const changes = [...new Map(rows.map((row) => [row.change_id, row])).values()];
  const makeEvents = (kind: ChartEvent["kind"], label: string, at: string | null, row: OperatedChange): ChartEvent[] =>
    at === null ? [] : [{ kind, label, at: Date.parse(at) / 1000, change: row }];
  return changes
    .flatMap((row) => [
      ...makeEvents("apply", "Applied", row.applied_at, row),
      ...makeEvents("rollback", "Rolled back", row.rolled_back_at, row),
    ])
    .filter(({ at }) => at >= from)
    .sort((a, b) => a.at - b.at);
}

/** A move for the worse between two values, and the operations before it, newest first. */
export interface Fall {
  from: KpiPoint;
  to: KpiPoint;
  before: ChartEvent[];
}

/** Finds the largest move for the worse, down where `direction` is 1; undefined where there is none. */
export function findFall(
  points: readonly KpiPoint[],
  direction: 1 | -1,
  operations: readonly ChartEvent[],
): Fall | undefined {
  let fall: Omit<Fall, "before"> | undefined;
  const size = ({ from, to }: Omit<Fall, "before">) => direction * (from.value - to.value);
  for (const [index, to] of points.entries()) {
    const from = points[index - 1];
    if (from && size({ from, to }) > (fall ? size(fall) : 0)) fall = { from, to };
  }
  if (!fall) return undefined;
  const { at } = fall.to;
  return {
    ...fall,
    before: operations
      .filter((operation) => operation.at <= at)
      .slice(-MAX_BEFORE_FALL)
      .reverse(),
  };
}
