/** ISO weeks and windows of days, in UTC. */
import { expect, test } from "vitest";
import { listDays, lastDays, isoWeek } from "../../../lib/kit/days.ts";

test.each([
  ["2026-01-05T00:00:00.000Z", "2026-W02", "2026-01-05", "2026-01-11"],
  ["2026-01-11T23:59:59.999Z", "2026-W02", "2026-01-05", "2026-01-11"],
  ["2026-01-01T12:00:00.000Z", "2026-W01", "2025-12-29", "2026-01-04"],
  ["2025-12-31T12:00:00.000Z", "2026-W01", "2025-12-29", "2026-01-04"],
  ["2021-01-03T12:00:00.000Z", "2020-W53", "2020-12-28", "2021-01-03"],
  ["2024-12-30T00:00:00.000Z", "2025-W01", "2024-12-30", "2025-01-05"],
])("the date %s is in %s", (moment, name, from, to) => {
  expect(isoWeek(Date.parse(moment))).toEqual({ name, from, to });
});

test("a window of n days ends today, also across the end of a month or of February", () => {
  const window = lastDays(Date.parse("2024-03-01T00:00:00.000Z"), 3);
  expect(window).toEqual({ from: "2024-02-28", to: "2024-03-01" });
  expect(listDays(window)).toEqual(["2024-02-28", "2024-02-29", "2024-03-01"]);
});
