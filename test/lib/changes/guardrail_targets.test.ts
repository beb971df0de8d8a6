/** Guardrails with targets watch the changes of these targets, under any KPI, for the hours of the intent. */
import { expect, test } from "vitest";
import { loadIntent } from "../../../lib/changes/rules/intent.ts";
import { describeRules } from "../../../lib/changes/rules/describe_rules.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { HOUR } from "../../support/clock.ts";
import { core } from "../../support/core.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";

const GUARDRAIL = { kpi: "incident_rate", max_regression: 0.02, action: "rollback", targets: ["checkout.*"] };

/** Opens a service with GUARDRAIL, changed by `guardrail`, while incident_rate is 0.03; so a rate above 0.05 trips it. */
async function openWithGuardrail(guardrail: object = {}) {
  const policy = { guardrails: [{ ...GUARDRAIL, ...guardrail }] };
  const api = await core({ adapter: scriptedAdapter(), intent: { policy } });
  await api.post("kpi", { incident_rate: 0.03 });
  const rolledBack = async () => (await api.cycle()).rolled_back;
  return { ...api, feed: (incident_rate: number) => api.post("kpi", { incident_rate }), rolledBack };
}

test.each([
  ["names no KPI", {}],
  ["names another KPI", { kpi: "csat", expected_delta_k: 1 }],
  ["names the KPI", { kpi: "incident_rate" }],
])("a change of a watched target that %s is rolled back", async (_, fields) => {
  const api = await openWithGuardrail();
  const change_id = await api.bring("applied", { target: "Checkout.button", ...fields });
  await api.feed(0.09);
  expect(await api.rolledBack()).toBe(change_id);
});

test.each([
  ["of another target", { target: "ui.banner", kpi: "incident_rate" }],
  ["that cannot be undone", { target: "checkout.button", reversible: false }],
])("a change %s is not watched", async (_, fields) => {
  const api = await openWithGuardrail();
  await api.bring("applied", fields);
  await api.feed(0.09);
  expect(await api.rolledBack()).toBeNull();
});

test("a newer change of another target does not hide the newest change of the watched targets", async () => {
  const api = await openWithGuardrail();
  const change_id = await api.bring("applied", { target: "checkout.button" });
  for (let index = 0; index < 25; index++) await api.bring("applied", { target: `ui.x${index}` });
  await api.feed(0.09);
  expect(await api.rolledBack()).toBe(change_id);
});

test("the change before a rolled back one is rolled back only by a later feed above the limit", async () => {
  const api = await openWithGuardrail();
  const older = await api.bring("applied", { target: "checkout.button" });
  const newer = await api.bring("applied", { target: "checkout.label", kpi: "csat" });
  await api.feed(0.09);
  await api.feed(0.1);
  expect([await api.rolledBack(), await api.rolledBack()]).toEqual([newer, null]);
  await api.feed(0.04);
  expect(await api.rolledBack()).toBeNull();
  await api.feed(0.09);
  expect(await api.rolledBack()).toBe(older);
});

test.each([
  [undefined, 24],
  [48, 48],
  [0.5, 0.5],
])("with hours %s a change is watched for %f hours after its apply", async (hours, watchedHours) => {
  for (const [extraMs, isRolledBack] of [
    [0, true],
    [1, false],
  ] as const) {
    const api = await openWithGuardrail(hours === undefined ? {} : { hours });
    const change_id = await api.bring("applied", { target: "checkout.button" });
    api.deps.clock.advance(watchedHours * HOUR + extraMs);
    await api.feed(0.09);
    expect(await api.rolledBack()).toBe(isRolledBack ? change_id : null);
  }
});

test("hours also limit a guardrail without targets", async () => {
  const api = await openWithGuardrail({ targets: undefined, hours: 1 });
  await api.bring("applied", { kpi: "incident_rate" });
  api.deps.clock.advance(HOUR + 1);
  await api.feed(0.09);
  expect(await api.rolledBack()).toBeNull();
});

test.each([
  [{}, "the newest applied change of checkout.*, whatever KPI it names, is watched for 24 hours if it is reversible"],
  [{ hours: 1 }, "is watched for 1 hour if it is reversible"],
  [{ targets: undefined, hours: 48 }, "the newest applied change that names incident_rate is watched for 48 hours"],
])("the described rules state the changes that a guardrail with %j watches, and the hours", (overrides, sentence) => {
  const requiredFields = { product_id: "acme-crm", version: "1", approved_by: "ana", update_epoch: 1 };
  const text = JSON.stringify({ ...requiredFields, policy: { guardrails: [{ ...GUARDRAIL, ...overrides }] } });
  expect(describeRules(loadIntent(text, portableSha256).intent).join("\n")).toContain(sentence);
});
