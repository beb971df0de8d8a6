/** Rules for decided changes: erasure, late notes, superseding and guardrails. */
import { expect, test } from "vitest";
import type { Change, LateItem } from "../../../../lib/changes/rules/change.ts";
import { requireErasable, redactContent } from "../../../../lib/changes/rules/erasure.ts";
import { checkGuardrail } from "../../../../lib/changes/rules/guardrail.ts";
import type { Intent } from "../../../../lib/changes/rules/intent.ts";
import { isItemMissing } from "../../../../lib/changes/rules/late_items.ts";
import { makeLateNote } from "../../../../lib/changes/rules/late_note.ts";
import { findSupersedeProblem } from "../../../../lib/changes/rules/supersede.ts";

const INTENT = { kpis: {}, principals: {} } as unknown as Intent;
const changeWith = (overrides: Partial<Change> = {}): Change =>
  ({
    ...{ change_id: "chg_1", tenant_id: "t1", target: "ui.a", status: "denied", approvals: [] },
    ...{ rationale: "", approval_note: null, value: "1", summary: "More" },
    ...overrides,
  }) as unknown as Change;

test.each<[title: string, overrides: Partial<Change>, owner: string | null, reason: string | undefined]>([
  ["a denied change", {}, null, undefined],
  ["a change that was rolled back", { status: "rolled_back" }, null, undefined],
  ["a change that sets nothing and was replaced", { status: "applied", value: undefined }, "chg_2", undefined],
  ["an erased change", { erased: { at: "2026-01-01", actor: "ana" } as never }, null, "was erased on 2026-01-01"],
  ["a proposed change", { status: "proposed" }, null, "it is proposed, and what is decided on must be there"],
  ["a pending change", { status: "pending_consent" }, null, "possible now: approve, deny, withdraw"],
  ["the change in force on its target", { status: "applied", value: undefined }, "chg_1", "roll it back first"],
  ["a change that a rollback restores", { status: "applied" }, "chg_2", "a rollback of a later change brings"],
])("an erasure of %s is allowed or rejected", (_, overrides, owner, reason) => {
  const erase = () => requireErasable(changeWith(overrides), { target_owner: owner }, INTENT);
  if (reason === undefined) expect(erase).not.toThrow();
  else expect(erase).toThrow(reason);
});

test("an erasure deletes all texts and numbers, and still shows if there was a rationale", () => {
  const content = { target: "ui.a", value: 1, summary: "More", rationale: "why", affected_users: 4 } as never;
  const redacted = { target: "ui.a", summary: "erased", affected_users: null };
  expect(redactContent(content)).toEqual({ ...redacted, rationale: "erased" });
  expect(redactContent({ ...(content as object), rationale: " \n" } as never)).toEqual({ ...redacted, rationale: "" });
});

test.each<[title: string, overrides: Partial<Change>, item: LateItem, reason: string | undefined]>([
  ["of a denied change without a rationale", {}, "rationale", undefined],
  ["of an applied change", { status: "applied" }, "note", undefined],
  ["of a change that was rolled back", { status: "rolled_back", rationale: " " }, "rationale", undefined],
  ["of a pending change", { status: "pending_consent" }, "note", "it is pending_consent, and what is decided on stays"],
  ["where the change has a rationale", { rationale: "why" }, "rationale", "it has one"],
  ["where the decision has a note", { approval_note: "no" }, "note", "it has one"],
  ["where a consent has a note", { approvals: [{ note: "yes" }] as never }, "note", "it has one"],
  ["where one was added", { late_notes: [{ item: "note" }] as never }, "note", "one was added already"],
  ["where another item was added", { late_notes: [{ item: "note" }] as never }, "rationale", undefined],
])("a late note %s is allowed or rejected", (_, overrides, item, reason) => {
  const change = changeWith(overrides);
  const add = () => makeLateNote(change, { item, note: "late" }, INTENT);
  expect(isItemMissing(change, item)).toBe(reason === undefined);
  if (reason === undefined) expect(add()).toEqual({ status: change.status, item, note: "late", late: true });
  else expect(add).toThrow(`cannot add a late ${item} to chg_1: ${reason}`);
});

test.each<[title: string, overrides: Partial<Change>, reason: string | undefined]>([
  ["a change of another tenant", { tenant_id: "t2" }, "names a change of another tenant"],
  [
    "an applied change of another target",
    { status: "applied", target: "ui.b" },
    "names a change that is applied to ui.b",
  ],
  ["an applied change of the same target in capitals", { status: "applied", target: "UI.A" }, undefined],
  ["a denied change of another target", { target: "ui.b" }, undefined],
])("superseding %s is allowed or rejected", (_, overrides, reason) => {
  const problem = findSupersedeProblem(changeWith(overrides), { tenant_id: "t1", target: "ui.a" });
  expect(problem?.slice(0, reason?.length)).toBe(reason);
});

test.each<[title: string, baseline: number, value: number, regression: number | undefined]>([
  ["a KPI that fell by more than allowed", 10, 7, 3],
  ["a KPI that fell by as much as allowed", 10, 8, undefined],
  ["a KPI that rose", 10, 13, undefined],
])("a guardrail is tripped only by a KPI that got worse by more than allowed: %s", (_, baseline, value, regression) => {
  const guardrail = { kpi: "k", action: "rollback", max_regression: 2, hours: 24 } as const;
  const evidence = checkGuardrail(guardrail, baseline, value, { kpis: {} } as Intent, "now");
  const facts = { kpi: "k", action: "rollback", baseline, value, regression, max_regression: 2, at: "now" };
  expect(evidence).toEqual(regression === undefined ? undefined : facts);
});
