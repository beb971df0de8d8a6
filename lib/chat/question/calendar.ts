/** Days, weeks and months by the calendar: all in UTC, weeks from Monday to Sunday. */
import { DAY_MS, HOUR_MS, weekOf } from "../../kit/days.ts";

/** Milliseconds since the epoch; `to` exclusive. */
export interface Span {
  from: number;
  to: number;
}

/** When the day of a moment began. */
export const midnight = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS;
/** The day that begins at a moment. */
export const day = (from: number): Span => ({ from, to: from + DAY_MS });
/** A month by its number, from 0; those beyond a year are of the next or the one before. */
export const monthAt = (year: number, month: number): Span => ({
  from: Date.UTC(year, month, 1),
  to: Date.UTC(year, month + 1, 1),
});
/** The week of a moment. */
export function weekAt(ms: number): Span {
  const from = Date.parse(weekOf(ms).from);
  return { from, to: from + 7 * DAY_MS };
}

/** A day of a month, of the year that is named, or else the newest that is not in the future; `ahead`: this year's in any case. */
export function dated(
  now: number,
  year: string | undefined,
  month: number,
  date: number,
  ahead = false,
): Span | undefined {
  const thisYear = new Date(now).getUTCFullYear();
  const from = Date.UTC(year === undefined ? thisYear : Number(year), month, date);
  if (new Date(from).getUTCMonth() !== month) return undefined;
  return day(year === undefined && from > now && !ahead ? Date.UTC(thisYear - 1, month, date) : from);
}

/** A month, of the year that is named, or else the newest that is not in the future. */
export function monthNamed(now: number, year: string | undefined, month: number): Span | undefined {
  if (month < 0 || month > 11) return undefined;
  const thisYear = new Date(now).getUTCFullYear();
  const named = monthAt(year === undefined ? thisYear : Number(year), month);
  return year === undefined && named.from > now ? monthAt(thisYear - 1, month) : named;
}

/** The newest such weekday, today included unless it is to be another one; `ahead`: the next one, likewise. */
export function weekday(now: number, index: number, another: boolean, ahead = false): Span {
  const today = midnight(now);
  if (ahead) {
    const on = (index + 7 - ((new Date(today).getUTCDay() + 6) % 7)) % 7;
    return day(today + (on === 0 && another ? 7 : on) * DAY_MS);
  }
  const back = (new Date(today).getUTCDay() + 6 - index) % 7;
  return day(today - (back === 0 && another ? 7 : back) * DAY_MS);
}

/** The last so many days, weeks or months, up to now. */
export function lastOf(now: number, count: number, unit: string): Span {
  if (/^(?:hour|小时)/.test(unit)) return { from: now - count * HOUR_MS, to: now + 1 };
  const tomorrow = midnight(now) + DAY_MS;
  const days = /^(?:week|周|个?星期|个?礼拜)/.test(unit) ? 7 : /^(?:month|个?月)/.test(unit) ? 30 : 1;
  return { from: tomorrow - count * days * DAY_MS, to: tomorrow };
}

/** From now on so many hours, days, weeks or months, the last day whole. */
export function nextOf(now: number, count: number, unit: string): Span {
  if (/^(?:hour|个?小时)/.test(unit)) return { from: now, to: now + count * HOUR_MS };
  const days = /^(?:week|周|个?星期|个?礼拜)/.test(unit) ? 7 : /^(?:month|个?月)/.test(unit) ? 30 : 1;
  return { from: now, to: midnight(now) + (count * days + 1) * DAY_MS };
}

/** From now to the end of the day, week, month or year. */
export function restOf(now: number, unit: string): Span {
  const { to } = /^(?:week|本?周)/.test(unit)
    ? weekAt(now)
    : /^(?:month|本?月)/.test(unit)
      ? monthAt(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth())
      : /^(?:year|年)/.test(unit)
        ? yearAt(now, 0)
        : day(midnight(now));
  return { from: now, to };
}

/** The newest Saturday and Sunday that have begun; `ahead`: the next ones. */
export function weekend(now: number, ahead: boolean): Span {
  const from = weekday(now, 5, false, ahead).from;
  return { from, to: from + 2 * DAY_MS };
}

/** From the evening to the morning of today. */
export const lastNight = (now: number): Span => ({
  from: midnight(now) - 6 * HOUR_MS,
  to: midnight(now) + 9 * HOUR_MS,
});

/** The year so many years back. */
export function yearAt(now: number, back: number): Span {
  const year = new Date(now).getUTCFullYear() - back;
  return { from: Date.UTC(year, 0, 1), to: Date.UTC(year + 1, 0, 1) };
}
