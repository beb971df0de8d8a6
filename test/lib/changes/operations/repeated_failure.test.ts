/**
 * The search for an earlier entry of the same failure, so that automatic rollbacks record a failure once a day. It reads the newest
 * 50 entries of the change.
 */
import { expect, test } from "vitest";
import { findSameFailure } from "../../../../lib/changes/operations/repeated_failure.ts";
import { DAY_MS } from "../../../../lib/kit/days.ts";

const NOW = Date.UTC(2026, 5, 2);
const FAILURE = { stage: "rollback", error: "down", host: "unknown" } as const;
const REQUEST = { operation: "rollback", actor: "policy:stages", authenticated: null };

/**
 * Returns the index of the entry that records the same failure as `FAILURE`; entries are oldest first, `age` in milliseconds. An
 * entry without own fields is a second old and records exactly this failure.
 */
async function findSameIndex(entries: { age?: number; type?: string; detail?: object }[], request: object = {}) {
  const stored = entries.map(({ age = 1000, type = "change_rollback_failed", detail = {} }, id) => ({
    id,
    event_type: type,
    timestamp: new Date(NOW - age).toISOString(),
    detail: JSON.stringify({ by: "policy:stages", ...FAILURE, ...detail }),
  }));
  const found = await findSameFailure(
    { now: NOW, evidence: { storedEntry: async (id: number) => stored[id] } } as never,
    { audit: stored.map(({ id }) => id) } as never,
    { ...REQUEST, ...request } as never,
    FAILURE as never,
  );
  return found && (found.value as { id: number }).id;
}

const otherEntries = (count: number) => Array.from({ length: count }, () => ({ type: "stage_held" }));

test.each([
  ["the same failure a second ago", [{}], 0],
  ["the newest of two such failures", [{}, {}], 1],
  ["the failure before entries of other types", [{}, { type: "stage_held" }], 0],
  ["a failure a millisecond younger than a day", [{ age: DAY_MS - 1 }], 0],
  ["a failure that is a day old", [{ age: DAY_MS }], undefined],
  ["another type of entry", [{ type: "change_apply_failed" }], undefined],
  ["another actor", [{ detail: { by: "policy:guardrail" } }], undefined],
  ["another stage", [{ detail: { stage: "verify" } }], undefined],
  ["another reason", [{ detail: { error: "full" } }], undefined],
  ["another state of the host", [{ detail: { host: "applied" } }], undefined],
  ["a failure before fifty other entries", [{}, ...otherEntries(50)], undefined],
  ["a failure before 49 other entries", [{}, ...otherEntries(49)], 0],
])("the same failure of an automatic rollback is recorded once a day: %s", async (_, entries, expected) => {
  expect(await findSameIndex(entries)).toBe(expected);
});

test.each([
  ["an apply", { operation: "apply" }],
  ["a person", { actor: "ana" }],
  ["a caller under the name of the policy", { authenticated: "proxy" }],
])("each failure of %s is recorded", async (_, request) => {
  // The stored failure has the same actor as the request.
  const by = (request as { actor?: string }).actor ?? "policy:stages";
  expect(await findSameIndex([{ detail: { by } }], request)).toBeUndefined();
});
