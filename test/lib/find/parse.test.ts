/** Parsing of queries: their terms, normalised texts, errors and dates. */
import { expect, test } from "vitest";
import { parseSpan } from "../../../lib/find/dates.ts";
import { parseQuery } from "../../../lib/find/parse.ts";

const NOW = Date.parse("2026-11-16T09:30:00.000Z");
const parse = (text: string) => parseQuery(text, { now: NOW, zone: "UTC" });

test.each([
  ["  is:Pending   RISK:high ", "is:pending_consent risk:high"],
  ['tenant:"Acme West" -by:agent', 'tenant:"Acme West" -by:agents'],
  ["“board meeting” 10 euro", '"board meeting" 10 euro'],
  ["rolled-back:2026-w44 applied:2026-10-01T08:00Z..", "rolledback:2026-W44 applied:2026-10-01T08:00Z.."],
  ["is:denied,rolled-back sort:Users_asc", "is:denied,rolled_back sort:users-asc"],
  ['- "" ', ""],
  ["status:pending sort:relevance-asc", "is:pending_consent sort:relevance-asc"],
  ["2026-10-01 sign-in", "2026-10-01 sign-in"],
])("%s is normalised to %s", (text, normalised) => expect(parse(text).text).toBe(normalised));

test.each([
  ['"not closed', "quotation mark"],
  ['tenant:"t1', "quotation mark"],
  ["is:", "needs a value: one of proposed"],
  ["users:many", "must be a number"],
  ["users:>", "must be a number"],
  ["applied:2026-02-30", "must be a date"],
  ["applied:soon", "must be a date"],
  ["applied:>", "needs a date"],
  ["-sort:users", "cannot be negated"],
  ["group:tenant group:kind", "must occur only once"],
  ["sort:time", "needs a time:"],
  ["http://host", "has no field http"],
  // A fullwidth colon counts as a colon.
  ["state：x", "has no field state"],
  ["is:pending OR is:approved", "has no OR and no brackets"],
  ["(is:pending)", "has no OR and no brackets"],
  ["is:constructor", "has no value constructor"],
  ["by:__proto__", "has no value __proto__"],
  ["constructor:x", "has no field constructor"],
  ["proposed:9999-W52", "must be a date"],
  [Array.from({ length: 41 }, (_, index) => `w${index}`).join(" "), "at most 40"],
])("%s is rejected: %s", (text, reason) => expect(() => parse(text)).toThrow(reason));

test("a quoted text is not parsed as a term", () => {
  const { terms, words } = parse('"is:pending" -"why: because"');
  expect(terms).toEqual([]);
  expect(words.map(({ negated }) => negated)).toEqual([false, true]);
});

test("a quoted star is that name, and not any name", () => {
  const { text, terms } = parse('tenant:"*" tenant:*');
  expect(text).toBe('tenant:"*" tenant:*');
  expect(terms.map(({ names }) => names)).toEqual([["*"], undefined]);
});

test("an id among the words selects that change", () => {
  const id = "chg_019a8f3e-6c1e-7b44-9d52-3e8a17c0b6f1";
  expect(parse(`${id} banner`)).toMatchObject({ ids: [{ id, negated: false }], words: [{ terms: ["banner"] }] });
});

test.each([
  ["today", "2026-11-16T00:00Z", "2026-11-17T00:00Z"],
  ["last-week", "2026-11-09T00:00Z", "2026-11-16T00:00Z"],
  ["next-week", "2026-11-23T00:00Z", "2026-11-30T00:00Z"],
  ["this-month", "2026-11-01T00:00Z", "2026-12-01T00:00Z"],
  ["last-year", "2025-01-01T00:00Z", "2026-01-01T00:00Z"],
  ["last-7-days", "2026-11-10T00:00Z", "2026-11-17T00:00Z"],
  ["next-7-days", "2026-11-16T00:00Z", "2026-11-23T00:00Z"],
  ["2026", "2026-01-01T00:00Z", "2027-01-01T00:00Z"],
  ["2026-12", "2026-12-01T00:00Z", "2027-01-01T00:00Z"],
  ["2024-02-29", "2024-02-29T00:00Z", "2024-03-01T00:00Z"],
  ["2026-W01", "2025-12-29T00:00Z", "2026-01-05T00:00Z"],
  ["2026-W53", "2026-12-28T00:00Z", "2027-01-04T00:00Z"],
  ["2025-W53", null, null],
  ["2026-13", null, null],
])("the date %s begins at %s and ends before %s", (text, from, to) => {
  const span = from === null ? undefined : { from: Date.parse(from), to: Date.parse(to!) };
  expect(parseSpan(text, NOW, "UTC")).toEqual(span);
});

test("a day in a time zone has 23 or 25 hours when its clocks change", () => {
  const hours = (day: string) => {
    const { from, to } = parseSpan(day, NOW, "Europe/Berlin")!;
    return (to - from) / 3_600_000;
  };
  expect(new Date(parseSpan("2026-07-01", NOW, "Europe/Berlin")!.from).toISOString()).toBe("2026-06-30T22:00:00.000Z");
  expect([hours("2026-03-29"), hours("2026-10-25"), hours("2026-07-01")]).toEqual([23, 25, 24]);
  expect(parseSpan("today", Date.parse("2026-11-16T23:30Z"), "Asia/Tokyo")!.from).toBe(Date.parse("2026-11-16T15:00Z"));
});
