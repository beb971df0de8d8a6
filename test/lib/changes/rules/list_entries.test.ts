/** The rules that look at what a change sets. */
import { expect, test } from "vitest";
import { findCovered, listEntries, setsNothing } from "../../../../lib/changes/rules/list_entries.ts";

const CHANGE = { tenant_id: "t1", target: "ui.banner", value: null };

test("a change sets one target of its tenant", () => {
  expect(listEntries(CHANGE)).toEqual([CHANGE]);
});

test("a pattern covers a target without regard to case", () => {
  expect(findCovered(CHANGE, { targets: ["billing.*", "UI.*"] })).toBe("ui.banner");
  expect(findCovered(CHANGE, { targets: ["billing.*"] })).toBeUndefined();
});

test("null is a value, and a change without a value sets nothing", () => {
  expect(setsNothing(CHANGE)).toBe(false);
  expect(setsNothing({ tenant_id: "t1", target: "ui.banner" })).toBe(true);
});
