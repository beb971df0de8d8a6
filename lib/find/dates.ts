/** Parses dates in queries, in the time zone of the caller. */
import { DAY_MS } from "../kit/days.ts";

/** A period in milliseconds since the epoch; `from` is inclusive, `to` exclusive. */
export interface Span {
  from: number;
  to: number;
}

/** Words for dates, for completion. */
export const DATE_WORDS = [
  "today",
  "yesterday",
  "tomorrow",
  "this-week",
  "last-week",
  "next-week",
  "this-month",
  "last-month",
  "next-month",
  "last-7-days",
  "last-30-days",
  "next-7-days",
] as const;

/** The forms of a date, as errors name them. */
export const DATE_FORMS = "a date such as 2026-10-26, 2026-10, 2026-W44, today, last-week or last-7-days";

/** Returns true for the name of a time zone that this host knows. */
export function isTimeZone(zone: string): boolean {
  try {
    return findFormat(zone) !== undefined;
  } catch {
    return false;
  }
}

/** Parses a date, or a word such as `last-week`; undefined for any other text. */
export function parseSpan(text: string, now: number, zone: string): Span | undefined {
  const word = text.toLowerCase();
  return parseDateWord(word, now, zone) ?? parseWrittenDate(text.toUpperCase(), zone);
}

/** Returns the local day of a moment: `2026-10-26`. */
export const localDay = (ms: number, zone: string): string =>
  new Date(ms + utcOffset(ms, zone)).toISOString().slice(0, 10);

/** Returns the local time of a moment to the minute: `2026-10-26 09:30`. */
export const localMinute = (ms: number, zone: string): string =>
  new Date(ms + utcOffset(ms, zone)).toISOString().slice(0, 16).replace("T", " ");

function parseDateWord(word: string, now: number, zone: string): Span | undefined {
  const today = localDay(now, zone);
  const days = (from: number, to: number): Span => makeSpan(addDays(today, from), addDays(today, to), zone);
  if (word === "today") return days(0, 1);
  if (word === "yesterday") return days(-1, 0);
  if (word === "tomorrow") return days(1, 2);
  const [, direction, count] = /^(last|next)-(\d{1,4})-days?$/.exec(word) ?? [];
  if (direction === "last") return days(1 - Number(count), 1);
  if (direction === "next") return days(0, Number(count));
  const [, relation, unit] = /^(this|last|next)-(week|month|year)$/.exec(word) ?? [];
  if (relation === undefined) return undefined;
  const distance = { last: -1, this: 0, next: 1 }[relation as "last" | "this" | "next"];
  if (unit === "week") {
    const monday = addDays(today, distance * 7 - daysSinceMonday(today));
    return makeSpan(monday, addDays(monday, 7), zone);
  }
  const months = unit === "month" ? 1 : 12;
  const first = unit === "month" ? `${today.slice(0, 7)}-01` : `${today.slice(0, 4)}-01-01`;
  return makeSpan(addMonths(first, distance * months), addMonths(first, (distance + 1) * months), zone);
}

function parseWrittenDate(text: string, zone: string): Span | undefined {
  // A period in the year 9999 may end in the year 10000, which has five digits.
  if (text.startsWith("9999")) return undefined;
  if (/^\d{4}-\d\d-\d\dT/.test(text)) {
    // A time without an offset is in UTC, also in another zone.
    const at = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);
    return Number.isNaN(at) ? undefined : { from: at, to: at + 1 };
  }
  const week = /^(\d{4})-W(\d\d)$/.exec(text);
  if (week) {
    const [year, number] = [Number(week[1]), Number(week[2])];
    const monday = addDays(firstMonday(year), (number - 1) * 7);
    const isOfYear = number >= 1 && monday < firstMonday(year + 1);
    return isOfYear ? makeSpan(monday, addDays(monday, 7), zone) : undefined;
  }
  const [, year, month, day] = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?)?$/.exec(text) ?? [];
  if (year === undefined) return undefined;
  const first = `${year}-${month ?? "01"}-${day ?? "01"}`;
  const ms = Date.parse(`${first}T00:00:00.000Z`);
  // Date.parse would read June 31 as July 1.
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== first) return undefined;
  const end = day !== undefined ? addDays(first, 1) : addMonths(first, month === undefined ? 12 : 1);
  return makeSpan(first, end, zone);
}

/** Returns the Monday of the first ISO week of a year, which is the week of January 4. */
function firstMonday(year: number): string {
  const fourth = `${String(year).padStart(4, "0")}-01-04`;
  return addDays(fourth, -daysSinceMonday(fourth));
}

/** Returns 0 for a Monday to 6 for a Sunday; `getUTCDay` counts from Sunday. */
const daysSinceMonday = (day: string): number => (new Date(`${day}T00:00Z`).getUTCDay() + 6) % 7;

const makeSpan = (from: string, to: string, zone: string): Span => ({
  from: startOfDay(from, zone),
  to: startOfDay(to, zone),
});

const addDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);

function addMonths(first: string, months: number): string {
  const date = new Date(`${first}T00:00Z`);
  date.setUTCMonth(date.getUTCMonth() + months);
  return date.toISOString().slice(0, 10);
}

/** Returns the moment at which a day begins in a time zone. */
function startOfDay(day: string, zone: string): number {
  const midnight = Date.parse(`${day}T00:00Z`);
  const guess = midnight - utcOffset(midnight, zone);
  // The offset at the guess differs when clocks changed that night.
  return midnight - utcOffset(guess, zone);
}

/** Returns the offset of a time zone from UTC at a moment, in milliseconds. */
function utcOffset(ms: number, zone: string): number {
  if (zone === "UTC") return 0;
  const parts = Object.fromEntries(
    findFormat(zone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year, month, day, hour, minute, second } = parts as Record<string, number>;
  return Date.UTC(year!, month! - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000;
}

/** Formats by time zone. Requests name the zones, so the number is limited. */
const formats = new Map<string, Intl.DateTimeFormat>();
const MAX_FORMATS = 500;

function findFormat(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    if (formats.size < MAX_FORMATS) formats.set(zone, format);
  }
  return format;
}
