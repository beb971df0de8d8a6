/** The days along the bottom of a picture, the same under all its parts. */
import { DAY_MS } from "../../kit/days.ts";
import { path, text } from "./svg.ts";

/** How wide pictures are, and the part of that in which things are drawn. */
export const WIDTH = 720;
export const LEFT = 84;
export const RIGHT = WIDTH - 24;

/** From the first moment that is shown to the end of the last, in milliseconds, in whole weeks. */
export interface Span {
  from: number;
  to: number;
}

export const WEEK_MS = 7 * DAY_MS;

/** How far to the right a moment is. */
export const xOf = ({ from, to }: Span, at: number): number => LEFT + ((at - from) / (to - from)) * (RIGHT - LEFT);

/** The beginnings of the weeks, in order. */
export const weeksOf = ({ from, to }: Span): number[] =>
  Array.from({ length: Math.round((to - from) / WEEK_MS) }, (_, week) => from + week * WEEK_MS);

const dayOf = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** `12 Nov` */
export const dayTold = (at: number): string => dayOf.format(at);

/** The line at the bottom, with the Mondays. */
export const mondays = (span: Span, y: number): string[] => [
  path(`M${LEFT} ${y}H${RIGHT}`, "line", { width: 1 }),
  ...weeksOf(span).flatMap((monday) => {
    const x = xOf(span, monday);
    return [
      path(`M${Math.round(x * 10) / 10} ${y}v4`, "line", { width: 1 }),
      text({ x, y: y + 16 }, dayTold(monday), { tone: "muted", size: 11 }),
    ];
  }),
];
