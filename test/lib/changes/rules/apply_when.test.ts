/** Automatic applies: valid values of apply_when, the due time, and rules that leave the change to a person. */
import { expect, test } from "vitest";
import { HOUR_MS } from "../../../../lib/kit/days.ts";
import { AppError } from "../../../../lib/kit/errors.ts";
import {
  applyWhenSchema,
  findAutomationTime,
  isAfterScheduledTime,
  isScheduled,
  MAX_POSTPONED_MS,
  requireApplyWhen,
  requireAutomation,
} from "../../../../lib/changes/rules/apply_when.ts";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import { makeIntent } from "../../../support/intents.ts";

const NOW = Date.UTC(2026, 0, 2);
const atHour = (hours: number): string => new Date(NOW + hours * HOUR_MS).toISOString();
const makePolicy = (policy: object) => makeIntent({ policy }).intent.policy;

test.each<[unknown, string | undefined]>([
  ["manual", undefined],
  ["approved", "approved"],
  ["2026-01-02T02:00:00+02:00", atHour(0)],
  ["2026-01-02T00:00:00Z", atHour(0)],
])("apply_when %j is read as %j", (input, expected) => {
  expect(applyWhenSchema().parse(input)).toBe(expected);
});

test.each(["soon", "2026-01-02", "2026-01-02T00:00:00", "", null])("apply_when %j is rejected", (input) => {
  const messages = applyWhenSchema()
    .safeParse(input)
    .error?.issues.map(({ message }) => message);
  expect(messages).toEqual(["must be manual, approved, or a time such as 2026-12-24T08:00:00Z"]);
});

test.each<[string | undefined, object, string | undefined]>([
  [undefined, {}, undefined],
  ["approved", {}, "approved is not listed in the intent's policy.apply_when"],
  [atHour(1), { apply_when: ["approved"] }, "scheduled is not listed in the intent's policy.apply_when"],
  ["approved", { apply_when: ["approved"] }, undefined],
  [atHour(1), { apply_when: ["scheduled"] }, undefined],
  [atHour(0), { apply_when: ["scheduled"] }, "must be a time in the future"],
  [atHour(-1), { apply_when: ["scheduled"] }, "must be a time in the future"],
  [atHour(9000), { apply_when: ["scheduled"] }, undefined],
  [atHour(5), { apply_when: ["scheduled"], consent_ttl_hours: 5 }, undefined],
  [atHour(6), { apply_when: ["scheduled"], consent_ttl_hours: 5 }, `must be at ${atHour(5)} or earlier`],
  [atHour(6), { apply_when: ["scheduled"], approval_ttl_hours: 5 }, `must be at ${atHour(5)} or earlier`],
  // Consents may take three hours, and then the apply five.
  [atHour(8), { apply_when: ["scheduled"], approval_ttl_hours: 5, consent_ttl_hours: 3 }, undefined],
  [
    atHour(9),
    { apply_when: ["scheduled"], approval_ttl_hours: 5, consent_ttl_hours: 3 },
    `must be at ${atHour(8)} or earlier`,
  ],
])("a proposal with apply_when %s under %j is allowed or rejected", (apply_when, policy, problem) => {
  const check = () => requireApplyWhen({ apply_when }, makePolicy(policy), NOW);
  if (problem === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(`apply_when ${problem}`);
});

const change = (fields: object = {}): Change =>
  ({
    status: "approved",
    apply_when: "approved",
    created_at: atHour(-2),
    decided_at: atHour(-1),
    ...fields,
  }) as Change;
const automation_stopped = { at: atHour(0), reason: "" };

test.each<[object, object, string | undefined]>([
  [{}, { apply_when: ["approved"] }, undefined],
  [{ apply_when: atHour(1) }, { apply_when: ["scheduled"] }, undefined],
  [{ apply_when: undefined }, { apply_when: ["approved"] }, "the change does not apply by itself"],
  [{ automation_stopped }, { apply_when: ["approved"] }, "the change does not apply by itself"],
  [{}, { apply_when: ["scheduled"] }, "does not list approved any more"],
  [{ apply_when: atHour(1) }, { apply_when: ["approved"] }, "does not list scheduled any more"],
])("an automatic apply of %j under %j is allowed or rejected", (fields, policy, problem) => {
  const check = () => requireAutomation(change(fields), makePolicy(policy));
  if (problem === undefined) expect(check).not.toThrow();
  else
    expect(check).toThrow(
      expect.objectContaining({
        code: "not_permitted",
        message: expect.stringContaining(problem),
        details: { action: "apply" },
      } satisfies Partial<AppError>),
    );
});

test.each<[object, string | undefined]>([
  [{}, atHour(-1)],
  [{ decided_at: null }, atHour(-2)],
  [{ apply_when: atHour(3) }, atHour(3)],
  [{ status: "pending_consent" }, undefined],
  [{ status: "applied" }, undefined],
  [{ apply_when: undefined }, undefined],
  [{ automation_stopped }, undefined],
])("the apply of %j is due at %s", (fields, due) => {
  expect(findAutomationTime(change(fields))).toBe(due);
});

test.each<[object, boolean, boolean, boolean]>([
  [{}, false, false, false],
  [{ apply_when: undefined }, false, false, false],
  [{ apply_when: atHour(3) }, true, true, true],
  [{ apply_when: atHour(4) }, true, false, true],
  [{ apply_when: atHour(3), automation_stopped }, true, false, false],
])("%j is scheduled: %s; a consent at 3 o'clock is too late: %s, at 4: %s", (fields, isExpected, lateAt3, lateAt4) => {
  expect(isScheduled(change(fields))).toBe(isExpected);
  expect([isAfterScheduledTime(change(fields), atHour(3)), isAfterScheduledTime(change(fields), atHour(4))]).toEqual([
    lateAt3,
    lateAt4,
  ]);
});

test("an automatic apply is postponed for a day at most", () => {
  expect(MAX_POSTPONED_MS).toBe(24 * HOUR_MS);
});
