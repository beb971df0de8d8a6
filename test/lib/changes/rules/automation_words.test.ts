import { expect, test } from "vitest";
import { describeAutomation } from "../../../../lib/changes/rules/automation_words.ts";

const TIME = "2026-12-01T08:00:00.000Z";
const at = Date.parse(TIME);

test.each([
  ["pending_consent", at - 1, "applies by itself at 2026-12-01 08:00 UTC"],
  [
    "pending_consent",
    at,
    "was to apply by itself at 2026-12-01 08:00 UTC; that time has passed, so a person applies it",
  ],
  ["approved", at + 60_000, "applies by itself at 2026-12-01 08:00 UTC"],
] as const)("a %s change at %i says what becomes of its time", (status, now, words) => {
  expect(describeAutomation({ apply_when: TIME, status }, now)).toBe(words);
});

test("a change that applies once approved has no time, and a stopped one no description", () => {
  expect(describeAutomation({ apply_when: "approved", status: "pending_consent" }, at)).toBe(
    "applies by itself once approved",
  );
  const automation_stopped = { at: TIME, reason: "too late" };
  expect(describeAutomation({ apply_when: TIME, automation_stopped }, at)).toBeUndefined();
});
