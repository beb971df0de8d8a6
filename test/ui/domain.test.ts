/** Functions of the console without its pages: checks of entries, sentences, allowed actions, values, drafts and formats. */
import { expect, test } from "vitest";
import { entryHash, FIRST_PREVIOUS_HASH } from "../../lib/audit/entry_hash.ts";
import { sha256 } from "../../local/node_ports.ts";
import type { AuditEntry, Change, ChangeDetail } from "../../local/ui/core/api_types.ts";
import { formatInputTime, formatNumber, formatPeople, formatSigned } from "../../local/ui/core/format.ts";
import { checkEntries, hasOwnHash } from "../../local/ui/domain/audit_check.ts";
import { listCautions, omitDescribed } from "../../local/ui/domain/cautions.ts";
import { draftFromChange } from "../../local/ui/domain/draft.ts";
import { describeValue, isSwitchValue, parseValue } from "../../local/ui/domain/kinds.ts";
import { findJsonFault } from "../../local/ui/domain/json_fault.ts";
import { isMatch } from "../../local/ui/domain/log_search.ts";
import { listOfferedKpis } from "../../local/ui/domain/kpi_series.ts";
import { RESTRICTIONS } from "../../local/ui/domain/mandates.ts";
import { listObstacles, listAllowedActions } from "../../local/ui/domain/change_actions.ts";
import { describeMeasuredEffect, formatExpectedGain } from "../../local/ui/domain/rollout.ts";
import { toIsolatedText, describeRequest, describeStatus } from "../../local/ui/domain/sentences.ts";
import { makeSteps } from "../../local/ui/domain/timeline.ts";
import { listValueRules } from "../../local/ui/domain/value_rules.ts";

/** A test vector: an entry and its known hash. */
const FIRST: AuditEntry = {
  origin: "acme-crm/audit/0f",
  id: 1,
  timestamp: "2026-01-02T03:04:05.678Z",
  event_type: "change_proposed",
  change_id: "chg_1",
  tenant: "t1",
  detail: "é",
  previous_hash: FIRST_PREVIOUS_HASH,
  current_hash: "3cea597796c018493b524b1395eba040221149459234f34c711aaa83b648a906",
};
const SECOND: AuditEntry = {
  ...FIRST,
  id: 2,
  timestamp: "2026-01-02T03:04:06.000Z",
  event_type: "consent_decision",
  detail: "",
  previous_hash: FIRST.current_hash,
  current_hash: "a38b13eb82043cb8ba1308f58bd6aaaffd466766dba8bf762e66ba9160b64f6e",
};

test.each<[string, AuditEntry[], number | undefined]>([
  ["intact entries", [FIRST, SECOND], undefined],
  ["entries from the second one on", [SECOND], undefined],
  ["an altered text", [FIRST, { ...SECOND, detail: "x" }], 2],
  ["an entry left out", [FIRST, { ...SECOND, id: 3 }], 3],
  ["another order", [SECOND, FIRST], 1],
  ["a first entry that names an earlier one", [{ ...FIRST, previous_hash: SECOND.current_hash }], 1],
])("the check of %s finds the first fault", (_name, entries, faulty) => {
  const { fault, count } = checkEntries(entries, undefined);
  expect(fault?.id).toBe(faulty);
  expect(count).toBe(faulty === undefined ? entries.length : entries.findIndex(({ id }) => id === faulty));
});

test("an entry forged with a new hash does not link to the entries checked before", () => {
  const forged = { ...SECOND, previous_hash: "f".repeat(64) };
  forged.current_hash = entryHash(forged, sha256);
  const { last } = checkEntries([FIRST], undefined);
  expect(checkEntries([forged], last).fault).toEqual({ id: 2, reason: "its previous hash is not the hash of entry 1" });
  const fromOtherLog = { ...SECOND, origin: "acme-crm/audit/ff" };
  fromOtherLog.current_hash = entryHash(fromOtherLog, sha256);
  expect(checkEntries([fromOtherLog], last).fault?.reason).toBe("it comes from another log");
  expect([FIRST, { ...SECOND, tenant: "t2" }].map(hasOwnHash)).toEqual([true, false]);
});

test.each(["é", "null", '"ana"', ""])("a search passes over the detail %j, which names no person", (detail) => {
  const entry = { ...FIRST, detail };
  expect(isMatch(entry, { person: "ana", text: "" })).toBe(false);
  expect(isMatch(entry, { person: "", text: "chg_1" })).toBe(true);
  expect(isMatch({ ...FIRST, detail: '{"proposer":"Ana"}' }, { person: "ana", text: "CHG_1" })).toBe(true);
});

const CHANGE: ChangeDetail = {
  change_id: "chg_1",
  tenant_id: "t1",
  kind: "workflow",
  target: "crm.followup",
  value: { enabled: true },
  summary: "Follow up",
  rationale: "",
  expected_delta_k: null,
  affected_users: 40,
  reversible: true,
  tier: "major",
  risk: "low",
  kpi: null,
  proposer: "Ana",
  proposer_kind: "person",
  status: "pending_consent",
  resolution: null,
  created_at: "2026-01-01T00:00:00.000Z",
  approver: null,
  approval_note: null,
  approvals: [],
  required_approvers: 2,
  decided_at: null,
  applied_at: null,
  rolled_back_at: null,
  digest: "",
  revision: 1,
  audit_entries: [],
  outcome: null,
  allowed_actions: ["approve", "deny", "withdraw"],
  missing: [],
  signers: [],
  gates: [],
  drift: null,
  related: [],
};
const plain = (parts: Parameters<typeof toIsolatedText>[0]): string =>
  toIsolatedText(parts).replace(/[\u2068\u2069]/g, "");

test.each<[Partial<Change>, string]>([
  [{}, "Ana asks to set crm.followup for tenant t1; 40 people are affected; it can be undone."],
  [{ affected_users: 1, reversible: false, status: "denied" }, "Ana asked to set crm.followup for tenant t1; 1 person is affected; it cannot be undone."],
  [{ kind: "feature_flag", value: false }, "Ana asks to switch crm.followup off for tenant t1; 40 people are affected; it can be undone."],
  [{ proposer: "llm:small", value: undefined, affected_users: null }, "The model small asks to change crm.followup for tenant t1; how many people are affected was not stated; it can be undone."],
  [{ proposer: "llm:small", asked_by: "Ana" }, "The model small, asked by Ana, asks to set crm.followup for tenant t1; 40 people are affected; it can be undone."],
  [{ value: undefined, affected_users: null, status: "denied", erased: { at: "2026-01-02T00:00:00.000Z", entry: 4, digest: "" } }, "Ana asked to change crm.followup for tenant t1; how many people are affected was erased; it can be undone."],
  [{ proposer: null, kind: "code_patch" }, "An unnamed person asks to patch crm.followup for tenant t1; 40 people are affected; it can be undone."],
])("a change as a sentence: %j", (overrides, sentence) => {
  expect(plain(describeRequest({ ...CHANGE, ...overrides } as Change))).toBe(sentence);
}); // prettier-ignore

const quorum = (count: number) => ({ rule: "required_approvers", count, of: [] });

test("the status sentence says what a change waits for", () => {
  const now = Date.parse("2026-01-01T05:00:00.000Z");
  const approval = (approver: string) => ({ approver, note: "", at: CHANGE.created_at });
  const owners = { rule: "owners crm.*", count: 1, of: ["cy", "di"] };
  const describeWait = (...missing: ChangeDetail["missing"]) => plain(describeStatus({ ...CHANGE, missing }, now));
  expect(describeWait(quorum(2))).toBe("It has waited 5 h and needs 2 more consents.");
  expect(describeWait(quorum(1))).toBe("It has waited 5 h and needs 1 more consent (1 of 2).");
  expect(describeWait(quorum(3)), "the intent in force needs more").toBe(
    "It has waited 5 h and needs 3 more consents.",
  );
  expect(describeWait(quorum(1), owners)).toBe(
    "It has waited 5 h and needs 1 more consent (1 of 2); of the owners of crm.*, 1 more must consent: cy, di.",
  );
  expect(describeWait(owners), "only an owner's consent is missing").toBe(
    "It has waited 5 h; of the owners of crm.*, 1 more must consent: cy, di.",
  );
  expect(describeWait({ ...owners, of: [] })).toContain("1 more must consent: no person is left who may.");
  const approved = { ...CHANGE, status: "approved" as const, decided_at: CHANGE.created_at };
  expect(plain(describeStatus({ ...approved, approvals: [approval("bo"), approval("cy")] }, now))).toBe(
    "Approved by bo and cy 5 h ago; nothing has been applied yet.",
  );
  expect(plain(describeStatus({ ...approved, approver: "policy:minor" }, now))).toContain("Approved by the intent");
});

const consent = (approver: string, overrides = {}) => ({ approver, note: "", at: "", ...overrides });

test("actions are listed as the service allows them, and others with their reasons", () => {
  const caller = {
    name: "eve",
    may: ["review" as const, "deny" as const, "restore" as const],
    may_not: [
      { action: "approve" as const, reasons: ["eve is not among the intent's approvers"] },
      { action: "withdraw" as const, reasons: ["only Ana, who proposed this change, may withdraw it"] },
      { action: "apply" as const, reasons: ["0 of 2 consents", "apply is for bo, and eve is not one of them"] },
    ],
  };
  const change = { ...CHANGE, caller, missing: [{ ...quorum(2), of: ["ana", "bo"] }], approvals: [consent("cy")] };
  // A review has two verdicts; a restore is offered next to the drift instead.
  expect(listAllowedActions(change as ChangeDetail)).toEqual(["accept_emergency", "reject_emergency", "deny"]);
  expect(listObstacles(change as ChangeDetail)).toEqual([
    ["Can't approve", "eve is not among the intent's approvers. It can be approved by ana or bo."],
    ["Can't apply yet", "0 of 2 consents; apply is for bo, and eve is not one of them."],
    // The approval of cy: both of the two required ones are still missing.
    ["Not counted", "1 approval does not count under the intent in force."],
  ]);
});

test("the rules for a value are described in short sentences", () => {
  const schema = { type: "object", required: ["seats"], properties: { seats: { type: "integer", minimum: 1, maximum: 500 }, plan: { enum: ["a", "b"] } } };
  const limits = [{ path: "value.seats", base: [40], minimum: 38, maximum: 42, problem: null }, { path: "value", base: [], minimum: null, maximum: null, problem: "it held no number" }];
  expect(listValueRules({ rules: [{ match: ["limits.*"], schema, unit: "seats", kpi_required: true }], limits })).toEqual([
    "Value: object, with seats.",
    "seats: integer, at least 1, at most 500.",
    'plan: one of "a", "b".',
    "Unit: seats.",
    "seats now: 38 to 42.",
    "Value: it held no number.",
    "Name the KPI that it is to move.",
  ]);
}); // prettier-ignore

test.each([
  ["config", "25", "25", undefined],
  ["config", " ", undefined, undefined],
  ["config", "on", undefined, "Line 1, column 1: text needs double quotes."],
  ["feature_flag", "false", "false", undefined],
  ["code_patch", "- a\n+ b", '{"patch":"- a\\n+ b"}', undefined],
  ["code_patch", '{"file":"a"}', '{"file":"a"}', undefined],
] as const)("the value of a %s is parsed from %j", (kind, typed, json, fault) => {
  const value = parseValue(kind, typed);
  expect([value.json, value.fault]).toEqual([json, fault]);
});

test("a timeline step with an unreadable detail is still shown", () => {
  const [step] = makeSteps([{ ...SECOND, detail: "not JSON" }]);
  expect(plain(step!.sentence)).toBe("Decision recorded");
  const failed = { error: "disk full", stage: "apply", host: "absent" };
  const [failure] = makeSteps([{ ...SECOND, event_type: "change_apply_failed", detail: JSON.stringify(failed) }]);
  expect([plain(failure!.sentence), failure!.note]).toEqual([
    "Apply failed in apply; the host product shows nothing of the change",
    "disk full",
  ]);
});

test.each([
  [{ by: "policy:guardrail", actor: "policy:guardrail" }, "Rolled back by a guardrail of the intent"],
  [{ actor: "ana", note: "as agreed" }, "Rolled back by ana"],
  [{ by: "ops" }, "Rolled back by ops"],
  [{ actor: null }, "Rolled back"],
])("the timeline names who rolled a change back: %o", (facts, sentence) => {
  const detail = JSON.stringify({ adapter: null, ...facts });
  const [step] = makeSteps([{ ...SECOND, event_type: "change_rolled_back", detail }]);
  expect(plain(step!.sentence)).toBe(`${sentence}; there is no adapter, so the record alone changed`);
  expect(step!.note).toBe("note" in facts ? facts.note : "");
});

test("a count is shown with all digits, a fraction with six", () => {
  expect([
    formatPeople(123_456_789),
    formatNumber(1_000_001),
    formatNumber(1_234_567.891),
    formatNumber(1.050123456),
    formatSigned(-0.0001),
  ]).toEqual(["123,456,789 people", "1,000,001", "1,234,567.89", "1.05012", "−0.0001"]);
});

const cautioned = (overrides: Partial<ChangeDetail>): string[] =>
  listCautions({ target: "ui.banner", ...overrides }).map((parts) => toIsolatedText(parts));

test("a missing value, unstated fields and a doubtful value are pointed out", () => {
  expect(cautioned({ unstated: [] })).toEqual([]);
  expect(cautioned({ sets_nothing: true })).toEqual(["No value set. Applying it won't change \u2068ui.banner\u2069."]);
  expect(cautioned({ unstated: ["reversible"] })).toEqual(["Not stated: whether it can be undone."]);
  expect(cautioned({ unstated: ["risk", "reversible", "affected_users"], value_hint: "The value is text." })).toEqual([
    "Not stated: the risk, whether it can be undone and how many people are affected.",
    "The value is text.",
  ]);
  const erased = { at: "2026-01-02T00:00:00.000Z", entry: 4, digest: "" };
  expect(cautioned({ sets_nothing: true, erased } as Partial<ChangeDetail>)).toEqual([]);
});

test("a dialog does not repeat an unstated field that its sentence already names", () => {
  expect(cautioned(omitDescribed({ unstated: ["risk", "reversible", "affected_users"] }))).toEqual([
    "Not stated: the risk.",
  ]);
  expect(cautioned(omitDescribed({ unstated: ["reversible"] }))).toEqual([]);
});

test("a flag is shown as on or off, any other value as JSON", () => {
  expect([true, false, { enabled: true }].map((value) => describeValue("feature_flag", value))).toEqual(["on", "off", '{"enabled":true}']); // prettier-ignore
  expect(describeValue("config", true)).toBe("true");
  expect(["", "true", "25"].map((text) => isSwitchValue("feature_flag", text))).toEqual([true, true, false]);
  expect(isSwitchValue("config", "true")).toBe(false);
});

test("a share that a rollout watches is shown in points, both expected and measured", () => {
  const watch = [{ kpi: "conversion", kind: "binary", good: "up", allowed: 0.05 }];
  const measured = { kpi: "conversion", step: 0, treated: 0.21, control: 0.2, treated_n: 900, control_n: 900, worse_at_least: -0.03, worse_at_most: 0.012 }; // prettier-ignore
  const change = { kpi: "conversion", expected_delta_k: 0.02, stages: { watch }, rollout: { measured: [measured] } };
  expect(formatExpectedGain(change as never)).toBe("+2 points");
  expect(formatExpectedGain({ ...change, kpi: "latency" } as never)).toBe("+0.02");
  expect(describeMeasuredEffect(change as never)).toBe(
    "Measured against users without it: Conversion is worse by at least −3 points, at most 1.2 points; 5 points allowed.",
  );
  expect(describeMeasuredEffect({ stages: undefined, rollout: undefined } as never)).toBeUndefined();
});

test("a draft mandate can only be revoked, and an ended one cannot be changed", () => {
  expect(RESTRICTIONS).toMatchObject({ draft: ["revoke"], active: ["narrow", "revoke"], ended: [] });
});

test("a proposal derived from another leaves unstated fields unstated", () => {
  const change = { kind: "config", tier: "standard", expected_delta_k: null, affected_users: null } as Change;
  const draftAgain = (unstated: Change["unstated"]) =>
    draftFromChange({ ...change, risk: "medium", reversible: true, ...(unstated && { unstated }) }, "bo");
  expect(draftAgain(["risk", "reversible"])).toMatchObject({ risk: "", reversible: "" });
  expect(draftAgain([])).toMatchObject({ risk: "medium", reversible: "true" });
});

test.each([
  ['{"a": 1,}', "Line 1, column 8: unexpected comma before the end."],
  ['{"a": [1 2]}', "Line 1, column 10: a comma or ] is expected."],
  ['{\n  "a": 1\n  "b": 2}', "Line 3, column 3: a comma or } is expected."],
  ['{"a" 1}', "Line 1, column 6: a colon is expected after the name."],
  ["{a: 1}", "Line 1, column 2: a name in double quotes is expected."],
  ['["x]', "Line 1, column 2: this text has no closing quote, or a character that needs a backslash."],
  ["1 2", "Line 1, column 3: unexpected 2 after the value."],
  ["[01]", "Line 1, column 2: unexpected 0."],
  ["[", "Line 1, column 2: unexpected end."],
])("the position at which %s stops being JSON is reported", (text, message) => {
  expect(() => JSON.parse(text)).toThrow();
  expect(findJsonFault(text)).toBe(message);
});

test("valid JSON has no fault", () => {
  for (const text of ['{"a": [1, -2.5e3, true, null, "\\u00e9\\n"], "b": {}}', " [] ", '"x"', "0"]) {
    JSON.parse(text);
    expect(findJsonFault(text)).toBeUndefined();
  }
});

test("forms offer the product's KPIs, or the standard ones if it has none", () => {
  expect(listOfferedKpis(["lead_time"])).toEqual(["lead_time"]);
  expect(listOfferedKpis([])).toContain("nrr_quarterly");
});

test("the time in a field is that of the reader's time zone", () => {
  const zone = process.env["TZ"];
  const at = Date.parse("2026-11-20T23:30:00Z");
  try {
    for (const [name, text] of [
      ["UTC", "2026-11-20T23:30"],
      ["Asia/Tokyo", "2026-11-21T08:30"],
      ["America/New_York", "2026-11-20T18:30"],
    ] as const) {
      process.env["TZ"] = name;
      expect(formatInputTime(at)).toBe(text);
      // The form sends what the field shows.
      expect(new Date(formatInputTime(at)).getTime()).toBe(at);
    }
  } finally {
    if (zone === undefined) delete process.env["TZ"];
    else process.env["TZ"] = zone;
  }
});
