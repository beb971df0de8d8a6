/** A time in days, hours and minutes. */
import { DAY_MS, HOUR_MS } from "../../kit/days.ts";

const MINUTE_MS = 60_000;

/** Whole days, hours and minutes of milliseconds, rounded to a minute. */
export function partsOf(ms: number): Record<"days" | "hours" | "minutes", number> {
  const rounded = Math.round(ms / MINUTE_MS) * MINUTE_MS;
  return {
    days: Math.floor(rounded / DAY_MS),
    hours: Math.floor((rounded % DAY_MS) / HOUR_MS),
    minutes: (rounded % HOUR_MS) / MINUTE_MS,
  };
}
