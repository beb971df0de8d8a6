/** Days and weeks, all in UTC. */

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Returns the day of a moment: `2026-01-02`. */
export const utcDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Formats an RFC 3339 time in UTC to the minute: `2026-01-02 03:04 UTC`. */
export const minuteText = (at: string): string => `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;

/** A window of whole days: `from` and `to` are its first and last. */
export interface Window {
  from: string;
  to: string;
}

/** Returns the window of `days` days that ends with the day of `now`. */
export const lastDays = (now: number, days: number): Window => ({
  from: utcDay(now - (days - 1) * DAY_MS),
  to: utcDay(now),
});

/** Returns the number of days of a window. */
export const countDays = ({ from, to }: Window): number => (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;

/** Lists the days of a window, in order. */
export const listDays = (window: Window): string[] =>
  Array.from({ length: countDays(window) }, (_, day) => utcDay(Date.parse(window.from) + day * DAY_MS));

/** An ISO 8601 week: `2026-W01`, Monday to Sunday. */
export interface Week extends Window {
  name: string;
}

/** Returns the ISO week of a moment; it belongs to the year of its Thursday. */
export function isoWeek(ms: number): Week {
  const midnight = Date.parse(utcDay(ms));
  const monday = midnight - ((new Date(midnight).getUTCDay() + 6) % 7) * DAY_MS;
  const thursday = new Date(monday + 3 * DAY_MS);
  const year = thursday.getUTCFullYear();
  const number = 1 + Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / (7 * DAY_MS));
  return { name: `${year}-W${String(number).padStart(2, "0")}`, from: utcDay(monday), to: utcDay(monday + 6 * DAY_MS) };
}
