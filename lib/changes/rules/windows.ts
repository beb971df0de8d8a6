/** When the intent lets changes be applied: periods that it denies, and hours of the week that it allows. */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import { HOUR_MS } from "../../kit/days.ts";
import { list, object } from "./fields.ts";

/** The days of a week, as the intent names them. */
export const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

const instant = () => z.iso.datetime({ offset: true, error: "must be a time such as 2026-12-24T00:00:00+01:00" });
const timeOfDay = () =>
  z.string("must be text").regex(/^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/, "must be a time of day such as 09:00");

/** When changes may be applied. */
export const windows = once(() =>
  object({
    deny: list(
      object({
        from: instant().describe("Start of the period."),
        to: instant().describe("Its end, exclusive."),
        reason: z.string("must be text").default("").describe("Why, for those who have to wait."),
      }),
    )
      .default([])
      .describe("Periods without applies."),
    allow: list(
      object({
        days: list(z.enum(DAYS, `must be one of ${DAYS.join(", ")}`))
          .min(1, "must name a day")
          .describe("Days of the week."),
        from: timeOfDay().describe("Start of the hours, as 09:00."),
        to: timeOfDay().describe("Their end, exclusive; before from: over midnight."),
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
type Allowed = Windows["allow"][number];

/** Why nothing is applied now, and when it may be; `null`: not within the rules as they are. */
export interface Closed {
  reason: string;
  opens_at: string | null;
}

const MINUTE_MS = 60_000;
const QUARTER_MS = HOUR_MS / 4;
const DAY_MINUTES = 24 * 60;
/** In two weeks every hour of the week comes once, also where a clock that is set passes one over. */
const QUARTERS_LOOKED_AT = 15 * 24 * 4;

/** Whether the windows are closed; undefined while they are open. `now` in milliseconds since the epoch. */
export function closedNow(windows: Windows, now: number): Closed | undefined {
  const denied = windows.deny.find((period) => isWithin(period, now));
  if (!denied && isAllowed(windows.allow, now)) return undefined;
  const opens = nextOpening(windows, now);
  return {
    reason: denied
      ? denied.reason || "the intent denies this period"
      : "it is outside the hours that the intent allows",
    opens_at: opens === undefined ? null : new Date(opens).toISOString(),
  };
}

const isWithin = ({ from, to }: Windows["deny"][number], at: number): boolean =>
  Date.parse(from) <= at && at < Date.parse(to);

/** Where no hours are named, all are allowed. */
const isAllowed = (allow: readonly Allowed[], at: number): boolean =>
  allow.length === 0 || allow.some((window) => isIn(window, at));

function isIn({ days, from, to, tz }: Allowed, at: number): boolean {
  const { day, minute } = localTime(at, tz);
  const [start, end] = [minuteOf(from), minuteOf(to)];
  const on = (which: number): boolean => days.includes(DAYS[(which + 7) % 7]!);
  if (start < end) return on(day) && start <= minute && minute < end;
  // Over midnight it is the window of the day on which it began.
  return (on(day) && minute >= start) || (on(day - 1) && minute < end);
}

/** Each denied period is left by its end, so it is no longer in the way at the next look. */
function nextOpening({ deny, allow }: Windows, now: number): number | undefined {
  let at: number | undefined = now;
  for (let looks = 0; looks <= 2 * deny.length + 1 && at !== undefined; looks++) {
    const moment: number = at;
    const ends = deny.filter((period) => isWithin(period, moment)).map(({ to }) => Date.parse(to));
    if (ends.length > 0) at = Math.max(...ends);
    else if (isAllowed(allow, moment)) return moment;
    else at = nextAllowed(allow, moment);
  }
  return undefined;
}

/** Goes from quarter to quarter of an hour, since clocks are set on no other minute, and stops at each beginning. */
function nextAllowed(allow: readonly Allowed[], from: number): number | undefined {
  for (let at = from, looked = 0; looked < QUARTERS_LOOKED_AT; looked++) {
    const quarter = at - (at % QUARTER_MS) + QUARTER_MS;
    at = Math.min(quarter, ...allow.map(({ from: start, tz }) => nextMinute(at, minuteOf(start), tz)));
    if (isAllowed(allow, at)) return at;
  }
  return undefined;
}

/** When a minute of the day comes next, if no clock is set until then. */
function nextMinute(at: number, minute: number, tz: string): number {
  const ahead = (minute - localTime(at, tz).minute + DAY_MINUTES) % DAY_MINUTES || DAY_MINUTES;
  return at - (at % MINUTE_MS) + ahead * MINUTE_MS;
}

const minuteOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

const clocks = new Map<string, Intl.DateTimeFormat>();

function localTime(at: number, tz: string): { day: number; minute: number } {
  let clock = clocks.get(tz);
  if (!clock) clocks.set(tz, (clock = clockOf(tz)));
  const parts = Object.fromEntries(clock.formatToParts(at).map(({ type, value }) => [type, value]));
  const day = DAYS.indexOf(parts["weekday"]!.toLowerCase() as (typeof DAYS)[number]);
  return { day, minute: Number(parts["hour"]) * 60 + Number(parts["minute"]) };
}

const clockOf = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat("en-US", {
    timeZone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });

/** Whether this platform knows a time zone. */
function isTimeZone(name: string): boolean {
  try {
    clockOf(name);
    return true;
  } catch {
    return false;
  }
}
