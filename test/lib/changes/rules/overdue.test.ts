/** Time limits of open changes. */
import { expect, test } from "vitest";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import {
  explainOverdue,
  findOverdueStep,
  listAllowedInTime,
  requireInTime,
} from "../../../../lib/changes/rules/overdue.ts";
import { makeIntent } from "../../../support/intents.ts";

const CREATED = Date.UTC(2026, 0, 2);
const HOUR_MS = 3_600_000;
const { intent } = makeIntent({ policy: { consent_ttl_hours: 1, approval_ttl_hours: 2 } });

/** Creates a change with only the fields that these rules read; it was approved an hour after its proposal. */
const createChange = (status: Change["status"]): Change =>
  ({
    change_id: "chg_1",
    status,
    tier: "standard",
    tenant_id: "t1",
    target: "a",
    approvals: status === "pending_consent" ? [] : [{ approver: "ana", note: "", at: "" }],
    created_at: new Date(CREATED).toISOString(),
    decided_at: status === "approved" ? new Date(CREATED + HOUR_MS).toISOString() : null,
    required_approvers: 1,
  }) as never;

test.each<[Change["status"], afterMs: number, "expire" | "lapse" | undefined, string[]]>([
  ["pending_consent", HOUR_MS, undefined, ["approve", "deny", "withdraw"]],
  ["pending_consent", HOUR_MS + 1, "expire", ["deny", "withdraw"]],
  ["approved", 3 * HOUR_MS, undefined, ["apply", "revoke"]],
  ["approved", 3 * HOUR_MS + 1, "lapse", ["revoke"]],
  ["applied", 99 * HOUR_MS, undefined, ["rollback"]],
])("a change that is %s, %d ms after its proposal, has the overdue step %s", (status, afterMs, step, allowed) => {
  const change = createChange(status);
  const context = { intent, now: CREATED + afterMs };
  expect(findOverdueStep(change, intent.policy, context.now)).toBe(step);
  expect(listAllowedInTime(change, context)).toEqual(allowed);
  const check = () => requireInTime(change, context);
  if (step === undefined) {
    expect(explainOverdue(change, context)).toBeUndefined();
    expect(check).not.toThrow();
  } else
    expect(check).toThrow(
      expect.objectContaining({
        code: "illegal_transition",
        details: { change_id: "chg_1", current_status: status, allowed },
      }),
    );
});

test("without limits no change is overdue", () => {
  const unlimited = makeIntent().intent;
  expect(findOverdueStep(createChange("pending_consent"), unlimited.policy, Infinity)).toBeUndefined();
});
