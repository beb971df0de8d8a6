/** The entries of a change, and the patterns and tenants that cover them. */
import { expect, test } from "vitest";
import {
  findCoveredTarget,
  hasTenant,
  isPlan,
  listEntries,
  listGovernedEntries,
  hasNoValue,
} from "../../../../lib/changes/rules/list_entries.ts";

const CHANGE = { tenant_id: "t1", target: "ui.banner", value: null };

test("a change sets one target of its tenant", () => {
  expect(listEntries(CHANGE)).toEqual([CHANGE]);
});

test("a pattern covers a target without regard to case", () => {
  expect(findCoveredTarget(CHANGE, { targets: ["billing.*", "UI.*"] })).toBe("ui.banner");
  expect(findCoveredTarget(CHANGE, { targets: ["billing.*"] })).toBeUndefined();
});

test("null is a value, and a change without a value sets nothing", () => {
  expect(hasNoValue(CHANGE)).toBe(false);
  expect(hasNoValue({ tenant_id: "t1", target: "ui.banner" })).toBe(true);
});

const ENTRIES = [
  { tenant_id: "t1", target: "ui.banner", value: true },
  { tenant_id: "t2", target: "limits.seats", value: 50 },
];
const PLAN = { tenant_id: "*", target: "release.7", sets: ENTRIES };

test("a plan sets its entries, and rules apply also to its name", () => {
  expect(isPlan(PLAN)).toBe(true);
  expect(isPlan(CHANGE)).toBe(false);
  expect(listEntries(PLAN)).toEqual(ENTRIES);
  expect(listGovernedEntries(PLAN)).toEqual([{ tenant_id: "*", target: "release.7" }, ...ENTRIES]);
  expect(listGovernedEntries(CHANGE)).toEqual([CHANGE]);
  expect(hasNoValue(PLAN)).toBe(false);
  // One entry with a value is enough.
  expect(hasNoValue({ ...PLAN, sets: [ENTRIES[0]!, { tenant_id: "t2", target: "limits.seats" }] })).toBe(false);
});

test("a rule covers a plan by its name or by any of its entries, each with its own tenant", () => {
  expect(findCoveredTarget(PLAN, { targets: ["release.*"] })).toBe("release.7");
  expect(findCoveredTarget(PLAN, { targets: ["limits.*"] })).toBe("limits.seats");
  expect(findCoveredTarget(PLAN, { targets: ["limits.*"], tenants: ["t1"] })).toBeUndefined();
});

test.each<[typeof CHANGE | typeof PLAN, string, boolean]>([
  [CHANGE, "t1", true],
  [CHANGE, "t2", false],
  [PLAN, "*", true],
  [PLAN, "t2", true],
  [PLAN, "t3", false],
])("%j concerns tenant %s: %s", (change, tenant, expected) => {
  expect(hasTenant(change, tenant)).toBe(expected);
});
