/** A KPI over time, with lines to hold it against and marks for what was done. The drawing code comes when it is needed. */
import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { dateTime, figure } from "../core/format.ts";
import { mendLanguage } from "../core/locale.ts";
import { changeHref } from "../core/router.tsx";
import { theme } from "../core/session.ts";
import { useValue } from "../core/hooks.tsx";
import type { Fed } from "../domain/kpi_series.ts";
import { type ChartLine, type ChartMark, DASH, dataOf, HEIGHT, optionsOf } from "./chart_drawing.ts";
import { Given } from "./text.tsx";

interface ChartProps {
  label: string;
  points: readonly Fed[];
  lines: readonly ChartLine[];
  marks: readonly ChartMark[];
}

/** The chart, its legend, and the same figures as a table. */
export function Chart({ label, points, lines, marks }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const [pointed, point] = useState<Fed | undefined>();
  const [failed, setFailed] = useState(false);
  const chosen = useValue(theme);
  const content = JSON.stringify([points, lines, marks]);

  useEffect(() => {
    const at = place.current!;
    let plot: uPlot | undefined;
    let gone = false;
    mendLanguage();
    void import("uplot").then(
      ({ default: Plot }) => {
        if (gone) return;
        const shown = (index: number | null | undefined) => point(index == null ? undefined : points[index]);
        plot = new Plot(optionsOf(Plot, at, { points, lines, marks }, shown), dataOf(points), at);
      },
      () => setFailed(true),
    );
    const resized = new ResizeObserver(() => plot?.setSize({ width: at.clientWidth, height: HEIGHT }));
    resized.observe(at);
    const media = ["(prefers-color-scheme: dark)", "print"].map((one) => matchMedia(one));
    const redraw = () => plot?.redraw();
    for (const one of media) one.addEventListener("change", redraw);
    return () => {
      gone = true;
      for (const one of media) one.removeEventListener("change", redraw);
      resized.disconnect();
      plot?.destroy();
    };
  }, [content, chosen]);

  return (
    <figure class="chart">
      <div ref={place} role="img" aria-label={label} class="plot" />
      {failed && <p class="quiet">The chart could not be loaded; the figures are below.</p>}
      <figcaption>
        <ul class="legend">
          {lines.map(({ kind, label: name, value }) => (
            <li key={kind + name} class={kind}>
              <LineSample kind={kind} /> {name} {figure(value)}
            </li>
          ))}
          {marks.map(({ kind, label: name, at, change }) => (
            <li key={`${kind} ${at} ${change?.change_id}`} class={kind}>
              <span class={`stroke ${kind}`} aria-hidden="true" /> {name} {dateTime(at * 1000)}
              {change && (
                <>
                  {": "}
                  <a href={changeHref(change.change_id)}>
                    <Given text={change.summary || change.target} />
                  </a>
                </>
              )}
            </li>
          ))}
        </ul>
        <p class="readout quiet">
          {pointed ? `${dateTime(pointed.at * 1000)}: ${figure(pointed.value)}` : summaryOf(points)}
        </p>
      </figcaption>
      <details>
        <summary>As a table</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">Fed at</th>
              <th scope="col" class="number">
                Value
              </th>
            </tr>
          </thead>
          <tbody>
            {points.slice(-50).map(({ at, value, entry }) => (
              <tr key={entry}>
                <td>{dateTime(at * 1000)}</td>
                <td class="number">{figure(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

const LineSample = ({ kind }: { kind: ChartLine["kind"] }) => (
  <svg class="sample" viewBox="0 0 26 8" aria-hidden="true">
    <path d="M0 4h26" stroke-dasharray={DASH[kind].join(" ")} />
  </svg>
);

function summaryOf(points: readonly Fed[]): string {
  const newest = points.at(-1);
  return newest ? `Newest value ${figure(newest.value)}, fed ${dateTime(newest.at * 1000)}.` : "Nothing was fed yet.";
}
