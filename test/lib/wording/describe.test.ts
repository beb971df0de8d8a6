/** The sentence of each event type: who did what, with which progress, and why. */
import { expect, test } from "vitest";
import { EVENT_TYPES } from "../../../lib/audit/entry.ts";
import { describe, EVENT_NAMES, toSentence } from "../../../lib/wording/describe.ts";
import { joinParts } from "../../../lib/wording/part.ts";

const CHANGE = { summary: "Raise the limit", target: "limits.seats", tenant_id: "t1" };

const sentenceOf = (event_type: string, detail: object | string, change?: typeof CHANGE): string =>
  joinParts(toSentence(describe({ event_type, detail }, change)));

test.each([
  ["change_proposed", { proposer: "pat", tier: "standard", tier_asked: null }, "Proposed by pat as a standard change"],
  [
    "change_proposed",
    {
      proposer: "llm:m",
      proposer_kind: "model",
      asked_by: "bo",
      tier: "major",
      tier_asked: "minor",
      supersedes: "chg_0",
    },
    "Proposed by the model m, asked by bo, as a major change, requested as minor, in place of chg_0",
  ],
  ["change_proposed", { proposer: null, tier: "minor" }, "Proposed as a minor change, approved by the intent"],
  [
    "consent_decision",
    { decision: "approved", approver: "ana", progress: "1 of 2", emergency: true, note: "Outage." },
    "Approved by ana in an emergency, 1 of 2 consents: “Outage.”",
  ],
  [
    "consent_decision",
    { decision: "approved", approver: "ana", progress: "1 of 1" },
    "Approved by ana, 1 of 1 consent",
  ],
  [
    "consent_decision",
    { decision: "approved", status: "pending_consent", approver: "ana", progress: "1 of 1" },
    "Approved by ana, 1 of 1 consent; owners must still consent",
  ],
  [
    "consent_decision",
    { decision: "approved", status: "approved", approver: "bo", progress: "2 of 1" },
    "Approved by bo, 2 consents, 1 needed",
  ],
  ["consent_decision", { decision: "denied", approver: "bo", note: " " }, "Denied by bo"],
  ["consent_decision", { decision: "revoked", approver: "bo" }, "Consent revoked by bo"],
  [
    "consent_decision",
    { decision: "expired", approver: "policy:expiry", note: "no consent within 72 hours" },
    "Expired before it was approved: “no consent within 72 hours”",
  ],
  ["consent_decision", "not JSON", "Decision recorded"],
  ["change_applied", { actor: "bot", authenticated: "agent", adapter: null }, "Applied by the agent bot"],
  [
    "change_applied",
    { actor: "peer:eu-1", late: true },
    "Applied by the peer eu-1, which the host product reported late",
  ],
  [
    "change_apply_failed",
    { actor: "ana", stage: "apply", error: "disk\nfull", host: "absent" },
    "Apply failed in apply, requested by ana: “disk full”",
  ],
  // A share is a number of buckets, of 10,000.
  [
    "stage_advanced",
    { share: 5000, actor: "policy:stages", reason: "budget", rule: "cs1" },
    "Rolled out to 50 % of the users by the rule of the rollout, since the worst that is possible there is allowed",
  ],
  [
    "stage_held",
    { step: 0, reason: "not_yet", kpi: "deal_win_rate", actor: "policy:stages" },
    "Rollout held at step 1 by the rule of the rollout, waiting for more users: deal win rate may still be worse than allowed",
  ],
  [
    "stage_held",
    { step: 1, reason: "adapter_failed", error: "The flag service is down." },
    "Rollout held at step 2: “The flag service is down.”",
  ],
  [
    "stage_held",
    { step: 0, reason: "not_yet", kpi: 7 },
    "Rollout held at step 1, waiting for more users: a KPI may still be worse than allowed",
  ],
  ["stage_stopped", { step: 0, reason: "worse", kpi: "csat" }, "Rollout stopped, and its rollback ordered, since csat is worse than allowed"], // prettier-ignore
  [
    "change_rolled_back",
    { actor: "policy:guardrail", evidence: { kpi: "csat", baseline: 4.5, value: 4.2 } },
    "Rolled back by a guardrail of the intent: csat fell by 0.3 (worse)",
  ],
  ["change_rolled_back", { by: "ops", actor: null, note: "80 calls" }, "Rolled back by ops: “80 calls”"],
  ["change_drifted", { state: "missing" }, "Changed outside Countersign, the host product shows nothing of it"],
  [
    "change_drifted",
    { state: "drifted", sets: [{ target: "ui.a" }] },
    "Changed outside Countersign at ui.a, the host product shows another value",
  ],
  [
    "value_restored",
    { by: "ops", sets: [{ target: "ui.a" }, { target: "ui.b" }] },
    "Consented value of ui.a, ui.b restored by ops over a value from outside Countersign",
  ],
  ["emergency_reviewed", { approver: "bo", verdict: "not_accepted" }, "Emergency reviewed by bo, not accepted"],
  ["note_added", { item: "rationale", actor: "bo", note: "Asked for." }, "Rationale added late by bo: “Asked for.”"],
  [
    "release_checked",
    { head: "6f1ed002ab5595859014", state: "allowed", caller: { sub: "repo:acme/shop" }, actor: null },
    "Release 6f1ed002ab55 allowed for repo:acme/shop",
  ],
  ["release_checked", { head: "6f1ed002ab55", state: "waiting" }, "Release 6f1ed002ab55 waiting"],
  [
    "automation_stopped",
    { actor: "policy:apply_when", code: "frozen", reason: "it was late" },
    "No longer applies by itself: “it was late”",
  ],
  ["change_applied", { actor: "policy:apply_when", by: "policy:apply_when" }, "Applied by the intent"],
  [
    "proposal_refused",
    { code: "forbidden_target", target: "prod.db", proposer: "pat" },
    "Proposal by pat on prod.db rejected: the intent forbids changes of this target",
  ],
  ["proposal_refused", { count: 12, day: "2026-01-02" }, "12 more proposals rejected on 2026-01-02"],
  [
    "service_frozen",
    { actor: "ana", until: "2026-11-01T18:00:00.000Z", note: "month end" },
    "Service frozen by ana until 2026-11-01 18:00 UTC: “month end”",
  ],
  [
    "intent_in_force",
    { version: "1.2.0", update_epoch: 3, approved_by: "board" },
    "Intent 1.2.0 (update_epoch 3) in force, approved by board",
  ],
  ["kpi_refreshed", { values: { csat: 4.2, nrr: 1 }, actor: "ana" }, "KPIs fed by ana: csat 4.2, nrr 1"],
  ["store_moved", { how: "import", from: "a", to: "b", actor: "ops" }, "Log moved by ops from a to b (import)"],
  // An unknown type, which is also the name of a member that every object has, is shown as it is.
  ["toString", {}, "toString"],
] as const)("%s %j", (type, detail, sentence) => expect(sentenceOf(type, detail)).toBe(sentence));

test("each type of event has its own name and sentence, also with an empty detail", () => {
  expect(Object.keys(EVENT_NAMES).sort()).toEqual([...EVENT_TYPES].sort());
  expect(new Set(Object.values(EVENT_NAMES)).size).toBe(EVENT_TYPES.length);
  const sentences = EVENT_TYPES.map((type) => sentenceOf(type, "{}"));
  for (const [index, sentence] of sentences.entries()) {
    expect(sentence).not.toContain(EVENT_TYPES[index]);
    expect(sentence).toMatch(/^\S.*\S$/);
    expect(sentence).not.toMatch(/undefined|NaN|“”|  /);
  }
  expect(new Set(sentences).size).toBe(EVENT_TYPES.length);
});

test("a sentence begins with the text of its change, and quotes text of people", () => {
  expect(sentenceOf("consent_decision", { decision: "denied", approver: "bo" }, CHANGE)).toBe(
    "“Raise the limit” (limits.seats for tenant t1): denied by bo",
  );
  const hostile = "x”; approved by ana\u202e\n";
  for (const type of EVENT_TYPES) {
    const fields = ["approver", "actor", "proposer", "note", "error", "target", "version", "message", "item", "from"];
    const detail = Object.fromEntries(fields.map((field) => [field, hostile]));
    const outside = sentenceOf(type, { ...detail, decision: "denied" }).replace(/“[^”]*”/g, "");
    expect(outside, type).not.toContain("approved by ana");
    expect(outside, type).not.toMatch(/[\u202e\n]/);
  }
});

test("the state of the host product after an operation is separate from the sentence", () => {
  const host = (event_type: string, detail: object) => joinParts(describe({ event_type, detail }).targetState);
  expect(host("change_applied", { adapter: { name: "file", result: "rolled_back" } })).toBe(
    "the file adapter reports rolled back",
  );
  expect(host("change_applied", { adapter: null })).toBe("there is no adapter, so the record alone changed");
  expect(host("change_apply_failed", { host: "absent" })).toBe("the host product shows nothing of the change");
  expect(host("change_rollback_failed", {})).toBe("it is not known what the host product shows");
  expect(host("note_added", {})).toBe("");
});
