/** Windows in which changes may be applied, compared with a check of every minute. */
import { expect, test } from "vitest";
import { findClosure, DAYS } from "../../../../lib/changes/rules/windows.ts";
import { makeIntent, type Manifest } from "../../../support/intents.ts";
import { seededIntegers } from "../../../support/seeded_integers.ts";

const MINUTE = 60_000;
const parseTime = (time: string): number => Date.parse(time);
const makeWindows = (windows: Manifest) => makeIntent({ policy: { windows } }).intent.policy.windows;
const OFFICE = { days: ["mon", "tue", "wed", "thu", "fri"], from: "09:00", to: "17:00", tz: "Europe/Berlin" };

test("applies are always allowed without windows", () => {
  expect(findClosure(makeIntent().intent.policy.windows, 0)).toBeUndefined();
  expect(findClosure(makeWindows({}), 0)).toBeUndefined();
});

test.each([
  ["a Friday evening", "2026-01-02T16:00:00Z", "2026-01-05T08:00:00.000Z"],
  ["a minute too early", "2026-01-05T07:59:59Z", "2026-01-05T08:00:00.000Z"],
  ["its first moment", "2026-01-05T08:00:00Z", undefined],
  ["its last moment", "2026-01-05T15:59:59.999Z", undefined],
  ["its end", "2026-01-05T16:00:00Z", "2026-01-06T08:00:00.000Z"],
  ["over the weekend on which clocks go forward", "2026-03-27T17:00:00Z", "2026-03-30T07:00:00.000Z"],
  ["over the weekend on which clocks go back", "2026-10-23T17:00:00Z", "2026-10-26T08:00:00.000Z"],
])("office hours in Berlin: %s", (_, now, opens_at) => {
  const closed = findClosure(makeWindows({ allow: [OFFICE] }), parseTime(now));
  expect(closed?.opens_at).toBe(opens_at);
  if (closed) expect(closed.reason).toBe("it is outside the hours that the intent allows");
});

test("a denied period blocks until its end, also in office hours, and has its reason", () => {
  const deny = [{ from: "2026-12-20T00:00:00+01:00", to: "2027-01-04T00:00:00+01:00", reason: "year end" }];
  const windows = makeWindows({ deny, allow: [OFFICE] });
  expect(findClosure(windows, parseTime("2026-12-21T10:00:00Z"))).toEqual({
    reason: "year end",
    opens_at: "2027-01-04T08:00:00.000Z",
  });
  expect(findClosure(makeWindows({ deny }), parseTime("2026-12-19T22:59:59Z"))).toBeUndefined();
  expect(findClosure(makeWindows({ deny }), parseTime("2027-01-03T23:00:00Z"))).toBeUndefined();
});

test("a change of daylight saving time before the opening is considered", () => {
  // On both Sundays clocks change at 01:00Z: 09:00 in Berlin is then 07:00Z or 08:00Z.
  const windows = makeWindows({ allow: [{ days: ["sun"], from: "09:00", to: "17:00", tz: "Europe/Berlin" }] });
  expect(findClosure(windows, parseTime("2026-03-29T00:30:00Z"))?.opens_at).toBe("2026-03-29T07:00:00.000Z");
  expect(findClosure(windows, parseTime("2026-10-25T00:30:00Z"))?.opens_at).toBe("2026-10-25T08:00:00.000Z");
});

test("a window across midnight belongs to the day on which it begins", () => {
  const windows = makeWindows({ allow: [{ days: ["sat"], from: "22:00", to: "02:00", tz: "UTC" }] });
  expect(findClosure(windows, parseTime("2026-01-03T22:00:00Z"))).toBeUndefined();
  expect(findClosure(windows, parseTime("2026-01-04T01:59:00Z"))).toBeUndefined();
  expect(findClosure(windows, parseTime("2026-01-03T01:00:00Z"))?.opens_at).toBe("2026-01-03T22:00:00.000Z");
  expect(findClosure(windows, parseTime("2026-01-04T02:00:00Z"))?.opens_at).toBe("2026-01-10T22:00:00.000Z");
});

test("hours that do not exist on a day are skipped, and an opening may be years away", () => {
  // On 29 March clocks go from 02:00 to 03:00, so the hours exist only on the Sunday after it.
  const windows = makeWindows({ allow: [{ days: ["sun"], from: "02:10", to: "02:40", tz: "Europe/Berlin" }] });
  expect(findClosure(windows, parseTime("2026-03-28T00:00:00Z"))?.opens_at).toBe("2026-04-05T00:10:00.000Z");
  const deny = [{ from: "2026-01-01T00:00:00Z", to: "9999-01-01T00:00:00Z", reason: "" }];
  expect(findClosure(makeWindows({ deny }), parseTime("2026-06-01T00:00:00Z"))?.opens_at).toBe(
    "9999-01-01T00:00:00.000Z",
  );
});

const formats = new Map<string, Intl.DateTimeFormat>();
const getSwedishFormat = (timeZone: string): Intl.DateTimeFormat => {
  const format =
    formats.get(timeZone) ?? new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
  formats.set(timeZone, format);
  return format;
};

/** Returns true if a window is open, by a second implementation on local time in the Swedish format. */
function isOpen(windows: ReturnType<typeof makeWindows>, now: number): boolean {
  if (windows.deny.some(({ from, to }) => now >= parseTime(from) && now < parseTime(to))) return false;
  return (
    windows.allow.length === 0 ||
    windows.allow.some(({ days, from, to, tz }) => {
      const local = new Date(`${getSwedishFormat(tz).format(now).replace(" ", "T")}Z`);
      // DAYS begins with Monday, and getUTCDay with Sunday.
      const isListed = (daysBefore: number) => days.includes(DAYS[(local.getUTCDay() + 6 - daysBefore) % 7]!);
      const time = local.toISOString().slice(11, 16);
      if (from < to) return isListed(0) && from <= time && time < to;
      return (isListed(0) && time >= from) || (isListed(1) && time < to);
    })
  );
}

test("the next opening of random windows is the first open minute", () => {
  const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Asia/Kathmandu"];
  const starts = ["2026-03-27T12:07:31Z", "2026-10-23T23:50:00Z", "2026-03-06T04:00:00Z", "2026-07-15T11:11:11Z"];
  let closed = 0;
  for (let seed = 1; seed <= 12; seed++) {
    const random = seededIntegers(seed);
    const time = () => `${String(random(24)).padStart(2, "0")}:${String(random(60)).padStart(2, "0")}`;
    const now = parseTime(starts[random(4)]!);
    const allow = Array.from({ length: 1 + random(2) }, () => {
      const [from, to] = [time(), time()];
      return { days: [DAYS[random(7)], DAYS[random(7)]], from, to: from === to ? "24:00" : to, tz: zones[random(6)] };
    });
    const deny = Array.from({ length: random(3) }, () => {
      const from = now + (random(96) - 24) * 3_600_000;
      const to = from + (1 + random(48)) * 3_600_000;
      return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
    });
    const windows = makeWindows({ allow, deny });
    const reported = findClosure(windows, now);
    expect(reported === undefined, `seed ${seed}`).toBe(isOpen(windows, now));
    if (!reported) continue;
    closed++;
    let minute = now - (now % MINUTE) + MINUTE;
    while (!isOpen(windows, minute)) {
      minute += MINUTE;
      // Windows open every week, and denied periods end within five days: without an opening until now the comparison fails.
      if (minute - now > 20 * 24 * 3_600_000) break;
    }
    // A denied period may end between two full minutes.
    const expectedOpening =
      deny.map(({ to }) => parseTime(to)).find((end) => end > now && end < minute && isOpen(windows, end)) ?? minute;
    expect(reported.opens_at, `seed ${seed}`).toBe(new Date(expectedOpening).toISOString());
  }
  expect(closed).toBeGreaterThan(5);
});
