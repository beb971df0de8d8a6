/** When the intent lets changes be applied: periods that it denies, and hours of the week that it allows. */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import { HOUR_MS } from "../../kit/days.ts";
import { list, strictObject } from "./fields.ts";
import { targetPattern, tenantList } from "./intent_parts.ts";
import { type ChangeEntry, findCoveredTarget } from "./list_entries.ts";

export const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

const instant = () => z.iso.datetime({ offset: true, error: "must be a time such as 2026-12-24T00:00:00+01:00" });
const timeOfDay = () =>
  z.string("must be text").regex(/^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/, "must be a time of day such as 09:00");

export const windows = once(() =>
  strictObject({
    deny: list(
      strictObject({
        from: instant().describe("Start of the period."),
        to: instant().describe("Its end, exclusive."),
        reason: z.string("must be text").default("").describe("The reason, for people who have to wait."),
        targets: list(targetPattern())
          .min(1, "must name a target, or be left out")
          .optional()
          .describe("Targets that it holds for; absent: all."),
        tenants: tenantList().optional().describe("Tenants that it holds for; absent: all."),
        yearly: z
          .boolean("must be true or false")
          .default(false)
          .describe("Whether it comes again on these days of every later year."),
      }),
    )
      .default([])
      .describe("Periods without applies."),
    allow: list(
      strictObject({
        days: list(z.enum(DAYS, `must be one of ${DAYS.join(", ")}`))
          .min(1, "must name a day")
          .describe("Days of the week."),
        from: timeOfDay().describe("Start of the hours, as 09:00."),
        to: timeOfDay().describe("End of the hours, exclusive; if before from: over midnight."),
        tz: z
          .string("must be text")
          .refine((name) => isTimeZone(name), "must be a time zone such as Europe/Berlin")
          .describe("Time zone, as Europe/Berlin."),
      }),
    )
      .default([])
      .describe("Hours of the week with applies; empty: all."),
  }),
);

type Windows = z.output<ReturnType<typeof windows>>;
type AllowedHours = Windows["allow"][number];
type DeniedPeriod = Windows["deny"][number];

/** Why nothing is applied now, and when the next window opens; `null`: none opens under these rules. */
export interface Closure {
  reason: string;
  opens_at: string | null;
}

const MINUTE_MS = 60_000;
const QUARTER_MS = HOUR_MS / 4;
const DAY_MINUTES = 24 * 60;
/** Years in which an opening between yearly periods is searched. */
const MAX_YEARS = 3;
/** Quarters of an hour in 15 days: they include every hour of the week, also when a change of clocks skips one. */
const MAX_QUARTERS = 15 * 24 * 4;

/** Returns the windows for the apply of a change; without a change, those for every apply. */
export const selectWindows = ({ deny, allow }: Windows, change?: ChangeEntry): Windows => ({
  deny: deny.filter((period) => (change ? findCoveredTarget(change, period) !== undefined : !hasScope(period))),
  allow,
});

/** Returns true for a denied period that applies only to listed targets or tenants. */
export const hasScope = ({ targets, tenants }: DeniedPeriod): boolean => targets !== undefined || tenants !== undefined;

/** Returns why the windows are closed, undefined while they are open. `now` in milliseconds since the epoch. */
export function findClosure(windows: Windows, now: number): Closure | undefined {
  const denied = windows.deny.find((period) => findDeniedEnd(period, now) !== undefined);
  if (!denied && isAllowed(windows.allow, now)) return undefined;
  const opens = findNextOpening(windows, now);
  return {
    reason: denied
      ? denied.reason || "the intent denies this period"
      : "it is outside the hours that the intent allows",
    opens_at: opens === undefined ? null : new Date(opens).toISOString(),
  };
}

/** Returns the end of the denied period that a moment is in, in milliseconds since the epoch; undefined if it is in none. */
function findDeniedEnd({ from, to, yearly }: DeniedPeriod, at: number): number | undefined {
  const yearsSinceStart = yearly ? new Date(at).getUTCFullYear() - Number(from.slice(0, 4)) : 0;
  // A period may reach into the next year, and at its own offset a year may begin before or after UTC's.
  for (const years of yearly ? [yearsSinceStart - 1, yearsSinceStart, yearsSinceStart + 1] : [0])
    if (years >= 0 && addYears(from, years) <= at && at < addYears(to, years)) return addYears(to, years);
  return undefined;
}

/** Adds years to a time at its own offset, in milliseconds since the epoch. 29 February becomes 1 March. */
function addYears(time: string, years: number): number {
  if (years === 0) return Date.parse(time);
  const local = Date.parse(time.replace(/(?:Z|[+-]\d\d:\d\d)$/i, "Z"));
  const laterDate = new Date(local);
  laterDate.setUTCFullYear(laterDate.getUTCFullYear() + years);
  return Date.parse(time) + laterDate.getTime() - local;
}

/** Returns true for a yearly period that begins again before it ends. */
export const overlapsNextYear = ({ from, to, yearly }: DeniedPeriod): boolean =>
  yearly && Date.parse(to) >= addYears(from, 1);

/** Returns true within the allowed hours; without any in the intent, all hours are allowed. */
export const isAllowed = (allow: readonly AllowedHours[], at: number): boolean =>
  allow.length === 0 || allow.some((window) => isInWindow(window, at));

function isInWindow({ days, from, to, tz }: AllowedHours, at: number): boolean {
  const { day, minute } = localTime(at, tz);
  const [start, end] = [parseMinute(from), parseMinute(to)];
  const includesDay = (weekday: number): boolean => days.includes(DAYS[(weekday + 7) % 7]!);
  if (start < end) return includesDay(day) && start <= minute && minute < end;
  // Hours over midnight belong to the day on which they begin.
  return (includesDay(day) && minute >= start) || (includesDay(day - 1) && minute < end);
}

/** Returns the next opening, in milliseconds since the epoch. Only a yearly denied period can recur after its end. */
function findNextOpening({ deny, allow }: Windows, now: number): number | undefined {
  // Each period costs at most two steps a year: to its end, and to the next allowed hour.
  const steps = 2 * deny.length * (deny.some(({ yearly }) => yearly) ? MAX_YEARS : 1) + 1;
  let at: number | undefined = now;
  for (let attempts = 0; attempts <= steps && at !== undefined; attempts++) {
    const moment: number = at;
    const ends = deny.flatMap((period) => findDeniedEnd(period, moment) ?? []);
    if (ends.length > 0) at = Math.max(...ends);
    else if (isAllowed(allow, moment)) return moment;
    else at = findNextAllowed(allow, moment);
  }
  return undefined;
}

/**
 * Returns the next allowed moment. It steps by quarters of an hour, since clocks change on no other minute, and by starts of
 * windows.
 */
function findNextAllowed(allow: readonly AllowedHours[], from: number): number | undefined {
  for (let at = from, quarters = 0; quarters < MAX_QUARTERS; quarters++) {
    const quarter = at - (at % QUARTER_MS) + QUARTER_MS;
    at = Math.min(quarter, ...allow.map(({ from: start, tz }) => findNextMinute(at, parseMinute(start), tz)));
    if (isAllowed(allow, at)) return at;
  }
  return undefined;
}

/** Returns when a minute of the day comes next, if clocks do not change until then. */
function findNextMinute(at: number, minute: number, tz: string): number {
  const ahead = (minute - localTime(at, tz).minute + DAY_MINUTES) % DAY_MINUTES || DAY_MINUTES;
  return at - (at % MINUTE_MS) + ahead * MINUTE_MS;
}

const parseMinute = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

/** Clocks by time zone, each created once. */
const clocks = new Map<string, Intl.DateTimeFormat>();

function localTime(at: number, tz: string): { day: number; minute: number } {
  let clock = clocks.get(tz);
  if (!clock) clocks.set(tz, (clock = createClock(tz)));
  const parts = Object.fromEntries(clock.formatToParts(at).map(({ type, value }) => [type, value]));
  const day = DAYS.indexOf(parts["weekday"]!.toLowerCase() as (typeof DAYS)[number]);
  return { day, minute: Number(parts["hour"]) * 60 + Number(parts["minute"]) };
}

const createClock = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat("en-US", {
    timeZone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });

function isTimeZone(name: string): boolean {
  try {
    createClock(name);
    return true;
  } catch {
    return false;
  }
}
