/** Chart of a KPI with reference levels, applies and rollbacks. */
import type { FindRow } from "../core/api_types.ts";
import { formatDateTime, formatDay, formatNumber } from "../core/format.ts";
import { changeHref } from "../core/router.tsx";
import type { KpiPoint } from "../domain/kpi_series.ts";
import { Table } from "./table.tsx";
import { UserLink } from "./text.tsx";

export interface ChartLine {
  kind: "baseline" | "expected" | "guardrail" | "target";
  label: string;
  value: number;
}

/** An apply or rollback; `at` in seconds. */
export interface ChartEvent {
  kind: "apply" | "rollback";
  label: string;
  at: number;
  change?: Pick<FindRow, "change_id" | "summary" | "target">;
}

/** Units of the drawing, which is stretched to the width of the page. */
const [WIDTH, HEIGHT] = [1000, 240];

/** The chart, its legend, and the newest 50 values as a table. */
export function Chart(props: {
  label: string;
  points: readonly KpiPoint[];
  lines: readonly ChartLine[];
  marks: readonly ChartEvent[];
}) {
  const { label, points, lines, marks } = props;
  const values = [...points, ...lines].map(({ value }) => value);
  const [low, high] = widenRange(values, Math.abs(values[0] ?? 1) * 0.1 || 1);
  const [from, to] = widenRange([...points, ...marks].map(({ at }) => at), 3600); // prettier-ignore
  const x = (at: number): number => Math.round(((at - from) / (to - from)) * WIDTH);
  const y = (value: number): number => Math.round((1 - (value - low) / (high - low)) * HEIGHT);
  const steps = points.map(({ at, value }, index) => (index === 0 ? `M${x(at)} ${y(value)}` : `H${x(at)}V${y(value)}`));
  const newest = points.at(-1);
  return (
    <figure class="chart">
      <div role="img" aria-label={label} class="plot">
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
          {lines.map(({ kind, label: name, value }) => (
            <path key={kind + name} class={`level ${kind}`} d={`M0 ${y(value)}H${WIDTH}`} />
          ))}
          {marks.map(({ kind, at, change }) => (
            <path key={`${kind} ${at} ${change?.change_id}`} class={`moment ${kind}`} d={`M${x(at)} 0V${HEIGHT}`} />
          ))}
          {/* Steps, since a value counts until the next is fed; a line without length draws a dot for each fed value. */}
          <path class="series" d={steps.join("")} />
          <path class="fed" d={points.map(({ at, value }) => `M${x(at)} ${y(value)}h0`).join("")} />
        </svg>
        {[high, (high + low) / 2, low].map((value) => (
          <small key={value}>{formatNumber(Number(value.toPrecision(3)))}</small>
        ))}
        <p>
          <small>{formatDay(from * 1000)}</small> <small>{formatDay(to * 1000)}</small>
        </p>
      </div>
      <figcaption>
        <ul class="legend">
          {lines.map(({ kind, label: name, value }) => (
            <li key={kind + name} class={kind}>
              <svg class="sample" viewBox="0 0 26 8" aria-hidden="true">
                <path class={`level ${kind}`} d="M0 4h26" />
              </svg>{" "}
              {name} {formatNumber(value)}
            </li>
          ))}
          {marks.map(({ kind, label: name, at, change }) => (
            <li key={`${kind} ${at} ${change?.change_id}`} class={kind}>
              <span class={`stroke ${kind}`} aria-hidden="true" /> {name} {formatDateTime(at * 1000)}
              {change && (
                <>
                  {": "}
                  <UserLink href={changeHref(change.change_id)} text={change.summary || change.target} />
                </>
              )}
            </li>
          ))}
        </ul>
        <p class="readout quiet">
          {newest
            ? `Newest value ${formatNumber(newest.value)}, fed ${formatDateTime(newest.at * 1000)}.`
            : "Nothing was fed yet."}
        </p>
      </figcaption>
      <details>
        <summary>As a table</summary>
        <Table
          columns={["Fed at", "Value"]}
          numbers={["Value"]}
          rows={points
            .slice(-50)
            .map(({ at, value, entry }) => [entry, [formatDateTime(at * 1000), formatNumber(value)]])}
        />
      </details>
    </figure>
  );
}

/** Returns the range of values with a margin on both sides, `singleValueMargin` if all values are equal. */
function widenRange(values: readonly number[], singleValueMargin: number): [number, number] {
  const [from, to] = [Math.min(...values), Math.max(...values)];
  const margin = to === from ? singleValueMargin : (to - from) * 0.08;
  return [from - margin, to + margin];
}
