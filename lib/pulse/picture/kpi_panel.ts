/** A KPI over some weeks: the steps of its value, its target, and when changes that promised to move it came and went. */
import { mondays, LEFT, RIGHT, type Span, xOf } from "./axis.ts";
import { fixed, path, point, shape, text } from "./svg.ts";

/** An apply or a rollback of a change. */
export interface ChangeMark {
  change_id: string;
  what: "applied" | "rolled back";
  /** The change, in a few words. */
  name: string;
  /** Milliseconds. */
  at: number;
}

/** What is drawn of a KPI. */
export interface KpiDrawn {
  kpi: string;
  /** The last value of each day on which it was fed, oldest first; the first may lie before the span. */
  fed: readonly { at: number; value: number }[];
  target: number | null;
  /** Oldest first. */
  marks: readonly ChangeMark[];
}

const PLOT = 84;
const HEAD = 24;
const ROW_ABOVE = 14;
/** Marks that are closer than this stand one above the other. */
const CLOSE = 24;
const ROW = 16;
/** So many applies and rollbacks are marked, the newest ones. */
const MARKED = 10;

/** The lines of a panel whose upper edge is at `top`, and its height. */
export function kpiPanel(drawn: KpiDrawn, span: Span, top: number): { parts: string[]; height: number } {
  const { kpi, fed, target } = drawn;
  const marks = drawn.marks.slice(-MARKED);
  const rowsAbove = rowsOf(marks.map(({ at }) => xOf(span, at)));
  const head = HEAD + (Math.max(0, ...rowsAbove) + 1) * ROW_ABOVE;
  const [above, below] = [top + head, top + head + PLOT];
  const within = fed.filter(({ at }) => at >= span.from);
  const values = [...fed.map(({ value }) => value), ...(target === null ? [] : [target])];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  // Halved, so that a difference of the largest numbers is one.
  const yOf = (value: number): number =>
    high === low ? (above + below) / 2 : below - ((value / 2 - low / 2) / (high / 2 - low / 2)) * PLOT;
  const last = fed.at(-1)!;
  const left = drawn.marks.length - marks.length;
  const parts = [
    text({ x: LEFT, y: top + 14 }, `${kpi}: ${last.value}${target === null ? "" : `, target ${target}`}`, { size: 14 }),
    ...scale(low, high, yOf),
    ...(target === null ? [] : [path(`M${LEFT} ${fixed(yOf(target))}H${RIGHT}`, "good", { dash: "8 4" })]),
    ...(within.length === 0 ? [] : [path(steps(fed, span, yOf), "accent", { width: 2 })]),
    ...within.map(({ at, value }) => point({ x: xOf(span, at), y: yOf(value) }, "accent", `${minute(at)}: ${value}`)),
    ...(within.length === 0
      ? [
          text({ x: LEFT, y: (above + below) / 2 }, `last fed ${minute(last.at)}, before these weeks`, {
            tone: "muted",
          }),
        ]
      : []),
    ...marks.flatMap(({ what, at }, index) =>
      mark(xOf(span, at), { above: above - rowsAbove[index]! * ROW_ABOVE, below }, what, index + 1),
    ),
    ...mondays(span, below + 6),
  ];
  const listed = below + 40;
  parts.push(
    ...marks.flatMap(({ change_id, what, name, at }, index) => {
      const y = listed + index * ROW;
      return [
        glyph(LEFT + 4, y - 4, what),
        text({ x: LEFT + 14, y }, String(index + 1), { tone: "muted" }),
        text({ x: LEFT + 32, y }, `${name}, ${what} ${minute(at)}`, { of: change_id }),
      ];
    }),
  );
  const rows = marks.length + (left > 0 ? 1 : 0);
  if (left > 0)
    parts.push(
      text({ x: LEFT + 32, y: listed + marks.length * ROW }, `${left} earlier ones are not marked`, { tone: "muted" }),
    );
  return { parts, height: head + PLOT + 34 + rows * ROW + 10 };
}

/** The lowest and the highest that is drawn; between these every height is in proportion. */
const scale = (low: number, high: number, yOf: (value: number) => number): string[] =>
  (high === low ? [low] : [low, high]).map((value) =>
    text({ x: LEFT - 8, y: yOf(value) + 4 }, String(value), { tone: "muted", anchor: "end", size: 11 }),
  );

/** A value holds until the next is fed; what holds after the last one nobody knows. */
function steps(fed: KpiDrawn["fed"], span: Span, yOf: (value: number) => number): string {
  const [first, ...rest] = fed;
  const begin = `M${fixed(xOf(span, Math.max(first!.at, span.from)))} ${fixed(yOf(first!.value))}`;
  return begin + rest.map(({ at, value }) => `H${fixed(xOf(span, at))}V${fixed(yOf(value))}`).join("");
}

/** Upwards for an apply, downwards for a rollback: they differ without colour. */
const glyph = (x: number, y: number, what: ChangeMark["what"]): string =>
  what === "applied"
    ? shape(`M${fixed(x - 4)} ${fixed(y + 4)}h8l-4 -8Z`, "text")
    : shape(`M${fixed(x - 4)} ${fixed(y - 4)}h8l-4 8Z`, "bad");

/** The row above the plot in which each mark has room, the lowest first. */
function rowsOf(places: readonly number[]): number[] {
  const lastIn: number[] = [];
  return places.map((x) => {
    const free = lastIn.findIndex((last) => x - last >= CLOSE);
    const row = free === -1 ? lastIn.length : free;
    lastIn[row] = x;
    return row;
  });
}

const mark = (
  x: number,
  { above, below }: { above: number; below: number },
  what: ChangeMark["what"],
  number: number,
): string[] => [
  path(`M${fixed(x)} ${fixed(above - 4)}V${fixed(below)}`, what === "applied" ? "muted" : "bad", {
    width: 1,
    dash: "2 2",
  }),
  glyph(x, above - 8, what),
  text({ x: x + 6, y: above - 4 }, String(number), { tone: "muted", size: 11 }),
];

/** `2026-11-12 14:00` */
const minute = (at: number): string => new Date(at).toISOString().slice(0, 16).replace("T", " ");
