/** How a chart is drawn: the steps of a KPI, the levels it is held against, the moments when something was done. */
import type uPlot from "uplot";
import type { FindRow } from "../core/api_types.ts";
import { dayOf, figure, timeOfDay } from "../core/format.ts";
import type { Fed } from "../domain/kpi_series.ts";

/** A level to compare with. */
export interface ChartLine {
  kind: "baseline" | "expected" | "guardrail" | "target";
  label: string;
  value: number;
}

/** A moment, in seconds. */
export interface ChartMark {
  kind: "apply" | "rollback";
  label: string;
  at: number;
  /** The change that it is of, to name and link it. */
  change?: Pick<FindRow, "change_id" | "summary" | "target">;
}

/** Pixels. */
export const HEIGHT = 240;
/** The dashes that tell the levels apart without colour. */
export const DASH: Readonly<Record<ChartLine["kind"], number[]>> = {
  baseline: [2, 4],
  expected: [8, 4],
  guardrail: [10, 3, 2, 3],
  target: [14, 4],
};

/** The series as the library takes it. */
export const dataOf = (points: readonly Fed[]): uPlot.AlignedData => [
  points.map(({ at }) => at),
  points.map(({ value }) => value),
];

/** A colour of the page's own, as the theme has it now. */
function colour(at: HTMLElement, name: string): string {
  at.style.color = `var(${name})`;
  const { color } = getComputedStyle(at);
  at.style.color = "";
  return color;
}

const LINE_COLOUR: Readonly<Record<ChartLine["kind"], string>> = {
  baseline: "--muted",
  expected: "--accent",
  guardrail: "--bad",
  target: "--good",
};

/** What the library is told; colours are read from the page when it draws. */
export function optionsOf(
  Plot: typeof uPlot,
  at: HTMLElement,
  { points, lines, marks }: { points: readonly Fed[]; lines: readonly ChartLine[]; marks: readonly ChartMark[] },
  shown: (index: number | null | undefined) => void,
): uPlot.Options {
  const of = (name: string) => () => colour(at, name);
  const axis: uPlot.Axis = {
    stroke: of("--muted"),
    grid: { stroke: of("--line"), width: 1 },
    ticks: { stroke: of("--line"), width: 1 },
    font: `12px ${getComputedStyle(at).fontFamily}`,
  };
  return {
    width: at.clientWidth,
    height: HEIGHT,
    padding: [12, 12, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { range: () => timesOf(points, marks) },
      y: { range: () => rangeOf([...points.map(({ value }) => value), ...lines.map(({ value }) => value)]) },
    },
    axes: [
      { ...axis, space: 64, values: (_plot, splits, _axis, _space, step) => splits.map(timeLabel(step)) },
      { ...axis, size: (_plot, labels) => widthOf(labels), values: (_plot, splits) => splits.map(figure) },
    ],
    series: [
      {},
      {
        stroke: of("--accent"),
        width: 2,
        paths: Plot.paths.stepped!({ align: 1 }),
        points: { show: true, size: 6, stroke: of("--accent"), fill: of("--surface") },
      },
    ],
    hooks: {
      draw: [
        (plot) => {
          for (const line of lines) drawLine(plot, line, colour(at, LINE_COLOUR[line.kind]));
          for (const mark of marks) drawMark(plot, mark, colour(at, mark.kind === "apply" ? "--text" : "--bad"));
        },
      ],
      setCursor: [({ cursor }) => shown(cursor.idx)],
    },
  };
}

/** Pixels for the longest label, its tick and a gap. */
const widthOf = (labels: readonly string[] | null): number =>
  20 + 8 * Math.max(4, ...(labels ?? []).map(({ length }) => length));

const DAY = 86_400;

/** Days where the grid is that wide; times otherwise, under the day with which they begin. */
const timeLabel =
  (step: number) =>
  (at: number, index: number, all: readonly number[]): string => {
    const day = dayOf(at * 1000);
    if (step >= DAY) return day;
    const before = all[index - 1];
    const begins = before === undefined || dayOf(before * 1000) !== day;
    return begins ? `${timeOfDay(at * 1000)}\n${day}` : timeOfDay(at * 1000);
  };

/** All feeds and marks, with a little room; a single moment gets an hour on each side. */
function timesOf(points: readonly Fed[], marks: readonly ChartMark[]): [number, number] {
  const times = [...points, ...marks].map(({ at }) => at);
  if (times.length === 0) return [Date.now() / 1000 - 3600, Date.now() / 1000];
  const from = Math.min(...times);
  const to = Math.max(...times);
  const room = to === from ? 3600 : (to - from) * 0.04;
  return [from - room, to + room];
}

function rangeOf(values: readonly number[]): [number, number] {
  if (values.length === 0) return [0, 1];
  const from = Math.min(...values);
  const to = Math.max(...values);
  const room = to === from ? Math.abs(to) * 0.1 || 1 : (to - from) * 0.12;
  return [from - room, to + room];
}

function drawLine({ ctx, bbox, valToPos }: uPlot, { kind, value }: ChartLine, stroke: string): void {
  const y = Math.round(valToPos(value, "y", true));
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.setLineDash(DASH[kind].map((length) => length * devicePixelRatio));
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}

function drawMark({ ctx, bbox, valToPos }: uPlot, { kind, at }: ChartMark, stroke: string): void {
  const x = Math.round(valToPos(at, "x", true));
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.fillStyle = stroke;
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  const size = 5 * devicePixelRatio;
  const tip = kind === "apply" ? size : -size;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top + size - tip);
  ctx.lineTo(x + size, bbox.top + size);
  ctx.lineTo(x, bbox.top + size + tip);
  ctx.closePath();
  ctx.fill();
  ctx.restore();
}
