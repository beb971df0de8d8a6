/** A figure a week, as bars on one line: what is kept above it, what is broken below. */
import { LEFT, mondays, RIGHT, type Span, WEEK_MS, weeksOf, xOf } from "./axis.ts";
import { fixed, path, shape, text } from "./svg.ts";

const HEAD = 34;
const HALF = 34;

/** Promises kept and broken in each week. */
export function promiseBars(
  weeks: readonly { kept: number; broken: number }[],
  span: Span,
  top: number,
): { parts: string[]; height: number } {
  const most = Math.max(1, ...weeks.flatMap(({ kept, broken }) => [kept, broken]));
  const zero = top + HEAD + HALF;
  const bars = weeksOf(span).flatMap((monday, week) => {
    const { kept, broken } = weeks[week]!;
    const [up, down] = [(kept / most) * HALF, (broken / most) * HALF];
    const { x, middle, width } = placeOf(span, monday);
    return [
      ...(kept > 0
        ? [bar(x, zero - up, width, up, "good"), text({ x: middle, y: zero - up - 4 }, String(kept), COUNT)]
        : []),
      ...(broken > 0
        ? [bar(x, zero, width, down, "bad"), text({ x: middle, y: zero + down + 13 }, String(broken), COUNT)]
        : []),
    ];
  });
  const below = zero + HALF + 18;
  const side = { tone: "muted", anchor: "end", size: 11 } as const;
  return {
    parts: [
      text({ x: LEFT, y: top + 14 }, "Promises, by the week in which their verdict became final", { size: 14 }),
      text({ x: LEFT - 8, y: zero - 6 }, "kept", side),
      text({ x: LEFT - 8, y: zero + 14 }, "broken", side),
      path(`M${LEFT} ${zero}H${RIGHT}`, "muted", { width: 1 }),
      ...bars,
      ...mondays(span, below),
    ],
    height: HEAD + 2 * HALF + 18 + 34,
  };
}

/** Need at the end of each week, from 0 to 1; `null` where nobody looked. */
export function needBars(
  weeks: readonly (number | null)[],
  span: Span,
  top: number,
): { parts: string[]; height: number } {
  const [high, zero] = [top + HEAD, top + HEAD + 2 * HALF];
  const bars = weeksOf(span).flatMap((monday, week) => {
    const need = weeks[week] ?? null;
    const { x, middle, width } = placeOf(span, monday);
    if (need === null) return [text({ x: middle, y: zero - 4 }, "–", COUNT)];
    const tall = need * 2 * HALF;
    return [
      ...(need > 0 ? [bar(x, zero - tall, width, tall, "accent")] : []),
      text({ x: middle, y: zero - tall - 4 }, need.toFixed(3), COUNT),
    ];
  });
  const side = { tone: "muted", anchor: "end", size: 11 } as const;
  return {
    parts: [
      text({ x: LEFT, y: top + 14 }, "N, need, at the end of each week: 0 when nothing is overdue", { size: 14 }),
      text({ x: LEFT - 8, y: high + 4 }, "1", side),
      text({ x: LEFT - 8, y: zero + 4 }, "0", side),
      ...bars,
      ...mondays(span, zero),
    ],
    height: HEAD + 2 * HALF + 34,
  };
}

const COUNT = { anchor: "middle", size: 11 } as const;

/** The middle half of a week. */
function placeOf(span: Span, monday: number): { x: number; middle: number; width: number } {
  const width = (xOf(span, monday + WEEK_MS) - xOf(span, monday)) / 2;
  const x = xOf(span, monday) + width / 2;
  return { x, middle: x + width / 2, width };
}

const bar = (x: number, y: number, width: number, height: number, tone: "good" | "bad" | "accent"): string =>
  shape(`M${fixed(x)} ${fixed(y)}h${fixed(width)}v${fixed(height)}h${fixed(-width)}Z`, tone);
