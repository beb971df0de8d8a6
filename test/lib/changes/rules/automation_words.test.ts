/** The text about the automatic apply of a change. */
import { expect, test } from "vitest";
import { describeAutomation } from "../../../../lib/changes/rules/automation_words.ts";

const TIME = "2026-12-01T08:00:00.000Z";
const TIME_MS = Date.parse(TIME);

test.each([
  ["pending_consent", TIME_MS - 1, "applies by itself at 2026-12-01 08:00 UTC"],
  [
    "pending_consent",
    TIME_MS,
    "was to apply by itself at 2026-12-01 08:00 UTC; that time has passed, so a person applies it",
  ],
  ["approved", TIME_MS + 60_000, "applies by itself at 2026-12-01 08:00 UTC"],
] as const)("the text about a change that is %s at %i states its time", (status, now, text) => {
  expect(describeAutomation({ apply_when: TIME, status }, now)).toBe(text);
});

test("a change that applies once approved has no time, and a stopped one no description", () => {
  expect(describeAutomation({ apply_when: "approved", status: "pending_consent" }, TIME_MS)).toBe(
    "applies by itself once approved",
  );
  const automation_stopped = { at: TIME, reason: "too late" };
  expect(describeAutomation({ apply_when: TIME, automation_stopped }, TIME_MS)).toBeUndefined();
});
