import { formatDateTime, formatNumber } from "../../core/format.ts";
import { changeHref } from "../../core/router.tsx";
import { useFind } from "../../core/shared.ts";
import { type Fall, findFall, listOperations, listOperationQueries } from "../../domain/kpi_operations.ts";
import type { KpiPoint } from "../../domain/kpi_series.ts";
import { formatTitle } from "../../domain/statuses.ts";
import { Chart } from "../../parts/chart.tsx";
import type { ChartLine, ChartEvent } from "../../parts/chart.tsx";
import { UserText, UserLink } from "../../parts/text.tsx";

const MAX_FOUND = 200;
const DAY_S = 86_400;

/** Finds every apply and rollback in the period of these values; undefined while they are not all known. */
export function useOperations(points: readonly KpiPoint[]): ChartEvent[] | undefined {
  const [applied = null, rolledBack = null] = listOperationQueries(points);
  const first = useFind(applied, { limit: MAX_FOUND });
  const second = useFind(rolledBack, { limit: MAX_FOUND });
  if (first.loading || second.loading) return undefined;
  return listOperations([...(first.data?.rows ?? []), ...(second.data?.rows ?? [])], (points[0]?.at ?? 0) - DAY_S);
}

/** A KPI with the operations of its period, and what came just before its largest move for the worse. */
export function KpiChart(props: {
  kpi: string;
  points: readonly KpiPoint[];
  lines: readonly ChartLine[];
  marks: readonly ChartEvent[];
  direction: 1 | -1;
}) {
  const { kpi, points, lines, marks, direction } = props;

  const fall = findFall(points, direction, marks);
  return (
    <>
      <Chart label={`${formatTitle(kpi)} over time`} points={points} lines={lines} marks={marks} />
      {fall && <BeforeFall kpi={kpi} fall={fall} />}
    </>
  );
}

function BeforeFall({ kpi, fall: { from, to, before } }: { kpi: string; fall: Fall }) {
  return (
    <>
      <h3>Largest move for the worse</h3>
      <p>
        {formatTitle(kpi)} went from {formatNumber(from.value)} ({formatDateTime(from.at * 1000)}) to{" "}
        {formatNumber(to.value)} ({formatDateTime(to.at * 1000)}).{" "}
        {before.length === 0 ? "Nothing was applied before it in this period." : "Before it, newest first:"}
      </p>
      <ul class="plain">
        {before.map(({ label, at, change }) => (
          <li key={`${label} ${at}`}>
            {formatDateTime(at * 1000)}, {label.toLowerCase()}:{" "}
            <UserLink href={changeHref(change!.change_id)} text={change!.summary || change!.target} />
          </li>
        ))}
      </ul>
      <p class="quiet">The order in time is all that is known: it does not show that one of them caused it.</p>
    </>
  );
}
