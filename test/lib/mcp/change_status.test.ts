/** The sentence about the next step of a change for agents. */
import { expect, test } from "vitest";
import { describeNext } from "../../../lib/mcp/change_status.ts";

const APPROVED = { status: "approved" as const, resolution: null, missing: [], change_id: "chg_1" };
const APPLIED = { ...APPROVED, status: "applied" as const };
/** A step of a rollout; `share` is a number of 10,000 users. */
const STEP = { step: 0, share: 1000, since: "2026-01-02T03:04:05.000Z" };

test.each([
  ["A person with permission applies it", APPROVED],
  ["the service applies it by itself;", { ...APPROVED, apply_when: "approved" }],
  [
    "the service applies it by itself from 2026-01-03T00:00:00Z on;",
    { ...APPROVED, apply_when: "2026-01-03T00:00:00Z" },
  ],
  [
    "A person with permission applies it",
    { ...APPROVED, apply_when: "approved", automation_stopped: { at: STEP.since, reason: "too_late" } },
  ],
  ["nothing left to do", APPLIED],
  [
    "10 % of the users have it, and the next step waits for not_yet",
    { ...APPLIED, exposure: { ...STEP, waits_for: "not_yet" } },
  ],
  ["nothing left to do", { ...APPLIED, exposure: { ...STEP, share: 10_000, waits_for: null } }],
])("the sentence contains “%s” for %j", (words, change) => {
  expect(describeNext(change, null)).toContain(words);
});
