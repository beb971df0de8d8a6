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
const at = (hours: number): string => new Date(NOW + hours * HOUR_MS).toISOString();
const policyOf = (policy: object) => makeIntent({ policy }).intent.policy;

test.each<[unknown, string | undefined]>([
  ["manual", undefined],
  ["approved", "approved"],
  ["2026-01-02T02:00:00+02:00", at(0)],
  ["2026-01-02T00:00:00Z", at(0)],
])("apply_when %j is read as %j", (stated, read) => {
  expect(applyWhenSchema().parse(stated)).toBe(read);
});

test.each(["soon", "2026-01-02", "2026-01-02T00:00:00", "", null])("apply_when %j is rejected", (stated) => {
  expect(applyWhenSchema().safeParse(stated).success).toBe(false);
});

test.each<[string | undefined, object, string | undefined]>([
  [undefined, {}, undefined],
  ["approved", {}, "the intent's policy.apply_when does not list approved"],
  [at(1), { apply_when: ["approved"] }, "the intent's policy.apply_when does not list scheduled"],
  ["approved", { apply_when: ["approved"] }, undefined],
  [at(1), { apply_when: ["scheduled"] }, undefined],
  [at(0), { apply_when: ["scheduled"] }, "must be a time in the future"],
  [at(-1), { apply_when: ["scheduled"] }, "must be a time in the future"],
  [at(9000), { apply_when: ["scheduled"] }, undefined],
  [at(5), { apply_when: ["scheduled"], consent_ttl_hours: 5 }, undefined],
  [at(6), { apply_when: ["scheduled"], consent_ttl_hours: 5 }, `must be at ${at(5)} or earlier`],
  [at(6), { apply_when: ["scheduled"], approval_ttl_hours: 5 }, `must be at ${at(5)} or earlier`],
  [at(8), { apply_when: ["scheduled"], approval_ttl_hours: 5, consent_ttl_hours: 3 }, undefined],
  [at(9), { apply_when: ["scheduled"], approval_ttl_hours: 5, consent_ttl_hours: 3 }, `must be at ${at(8)} or earlier`],
])("a proposal with apply_when %s under %j", (apply_when, policy, problem) => {
  const check = () => requireApplyWhen({ apply_when }, policyOf(policy), NOW);
  if (problem === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(`apply_when ${problem}`);
});

const change = (over: object = {}): Change =>
  ({ status: "approved", apply_when: "approved", created_at: at(-2), decided_at: at(-1), ...over }) as Change;
const automation_stopped = { at: at(0), reason: "" };

test.each<[object, object, string | undefined]>([
  [{}, { apply_when: ["approved"] }, undefined],
  [{ apply_when: at(1) }, { apply_when: ["scheduled"] }, undefined],
  [{ apply_when: undefined }, { apply_when: ["approved"] }, "the change does not apply by itself"],
  [{ automation_stopped }, { apply_when: ["approved"] }, "the change does not apply by itself"],
  [{}, { apply_when: ["scheduled"] }, "does not list approved any more"],
  [{ apply_when: at(1) }, { apply_when: ["approved"] }, "does not list scheduled any more"],
])("an automatic apply of %j under %j", (over, policy, problem) => {
  const check = () => requireAutomation(change(over), policyOf(policy));
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
  [{}, at(-1)],
  [{ decided_at: null }, at(-2)],
  [{ apply_when: at(3) }, at(3)],
  [{ status: "pending_consent" }, undefined],
  [{ status: "applied" }, undefined],
  [{ apply_when: undefined }, undefined],
  [{ automation_stopped }, undefined],
])("the apply of %j is due at %s", (over, due) => {
  expect(findAutomationTime(change(over))).toBe(due);
});

test.each<[object, boolean, boolean, boolean]>([
  [{}, false, false, false],
  [{ apply_when: undefined }, false, false, false],
  [{ apply_when: at(3) }, true, true, true],
  [{ apply_when: at(4) }, true, false, true],
  [{ apply_when: at(3), automation_stopped }, true, false, false],
])("%j is scheduled: %s; a consent at 3 o'clock is too late: %s, at 4: %s", (over, scheduled, three, four) => {
  expect(isScheduled(change(over))).toBe(scheduled);
  expect([isAfterScheduledTime(change(over), at(3)), isAfterScheduledTime(change(over), at(4))]).toEqual([three, four]);
});

test("an automatic apply is postponed for a day at most", () => {
  expect(MAX_POSTPONED_MS).toBe(24 * HOUR_MS);
});
