/** Proposals that the console derives from a change, and how its messages name changes. */
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import type { AuditEntry, Change, ChangeDetail, Operation, RelatedChange } from "../../local/ui/core/api_types.ts";
import {
  describeFollowUp,
  isRelevantEntry,
  isBlockingDraft,
  isSupersededButOpen,
  listFollowUps,
  findDraftSupersedeProblem,
} from "../../local/ui/domain/follow_ups.ts";
import { draftFromChange, parseDraft, draftCurrentValue, makeProposalFields } from "../../local/ui/domain/draft.ts";
import { readHostValue } from "../../local/ui/domain/plan.ts";
import { KINDS, parseValue, formatValue } from "../../local/ui/domain/kinds.ts";
import { splitMessage, describeGate } from "../../local/ui/domain/messages.ts";
import { statusBadge } from "../../local/ui/domain/statuses.ts";
import { encodeForm } from "../../local/ui/core/api.ts";
import { core } from "../support/core.ts";
import { INTENT } from "./service.ts";

const [A, B] = ["chg_019a8f3e-6c1e-7b44-9d52-3e8a17c0b6f1", "chg_019a8f3e-5a00-7c10-8f21-0d9b3c5e7a42"];
const EPISODE = { change_id: A, target: "t", tenant_id: "t1", state: "drifted", host: "unknown", since: "" } as const;
const TARGET = { tenant_id: "t1", target: "limits.uploads" };
const change = (overrides: object): ChangeDetail =>
  ({ ...TARGET, status: "applied", drift: null, related: [], audit_entries: [], ...overrides }) as never;
const PLAN = { sets: [{ ...TARGET, value: 1 }], value: undefined };
const partialRollback = (result: object) => [
  { event_type: "change_rollback_failed", detail: JSON.stringify({ sets: [{ ...TARGET, ...result }] }) },
];

test.each<[string, object, string[]]>([
  ["waits", { status: "pending_consent" }, ["Revise"]],
  ["is approved", { status: "approved" }, ["Revise"]],
  ["was denied", { status: "denied" }, ["Propose again"]],
  ["was rolled back", { status: "rolled_back" }, ["Propose again"]],
  ["is applied without a value", {}, []],
  ["sets a plan", PLAN, ["Promote"]],
  [
    "sets a plan whose failed rollback changed no target",
    { ...PLAN, audit_entries: partialRollback({ host: "applied" }) },
    ["Promote"],
  ],
  [
    "is partly rolled back",
    { ...PLAN, audit_entries: partialRollback({ host: "rolled_back", target_holds: null }) },
    [],
  ],
  ["drifted", { drift: EPISODE }, ["Propose what it holds now"]],
  ["is gone from the host", { drift: { ...EPISODE, held_digest: null } }, []],
  ["was erased", { status: "denied", erased: { at: "" } }, []],
])("the follow-ups of a change that %s are offered", (_, overrides, labels) => {
  expect(listFollowUps(change(overrides)).map(({ label }) => label)).toEqual(labels);
});

test("the heading of a follow-up depends on the first change's status and on the value taken", () => {
  expect(describeFollowUp(change({ status: "approved" }), undefined)).toBe("Revises");
  expect(describeFollowUp(change({ status: "denied" }), undefined)).toBe("Proposes again");
  expect(describeFollowUp(change({ drift: EPISODE }), undefined)).toBe("Proposes again");
  expect(describeFollowUp(change({ drift: EPISODE }), "held")).toBe("Keeps what the host product holds instead of");
});

test("an open change is superseded but open if a change in its place is open or applied", () => {
  const after = (...statuses: string[]) =>
    statuses.map((status) => ({ change_id: B, status, relations: ["superseded_by"] }));
  expect(isSupersededButOpen(change({ status: "approved", related: after("denied", "applied") }))).toBe(true);
  expect(isSupersededButOpen(change({ status: "pending_consent", related: after("pending_consent") }))).toBe(true);
  expect(isSupersededButOpen(change({ status: "approved", related: after("denied", "rolled_back") }))).toBe(false);
  expect(isSupersededButOpen(change({ status: "denied", related: after("applied") }))).toBe(false);
});

describe("a change that is proposed again", () => {
  test.each([
    [{ value: "25" }],
    [{ value: '{"b": [1, null], "a": "x"}', risk: "high", affected_users: 40, expected_delta_k: 0.25, kpi: "csat" }],
    [{ kind: "feature_flag", value: "true" }],
    [{ kind: "feature_flag", value: '{"enabled":true,"to":5}' }],
    [{ kind: "code_patch", value: '{"patch":"@@ -1 +1 @@\\n-a\\n+b\\n"}' }],
    [{ kind: "code_patch", value: '{"patch":"a","file":"b"}' }],
    [{ kind: "experiment", value: '{"variants":{"control":80,"treatment":20}}' }],
    [{ kind: "experiment", value: '{"variants":{"a":1}}' }],
    [{ kind: "workflow", reversible: false, rationale: "Line one.\nLine two." }],
    [{ value: "null" }],
  ])("has the same content: %j", async (fields) => {
    const api = await core({ intent: INTENT as never });
    const original: Change = await api.propose({ target: "limits.uploads", proposer: "pat", ...fields } as never);
    const draft = draftFromChange(original, "pat");
    const sent = Object.fromEntries(encodeForm({ ...makeProposalFields(draft), supersedes: original.change_id }));
    const again = await api.propose(sent);
    expect(again.digest).toBe(original.digest);
    expect(again.supersedes).toBe(original.change_id);
  });
});

test("any value of any kind can be shown in the form and read back", () => {
  for (const kind of Object.keys(KINDS) as (keyof typeof KINDS)[])
    for (const value of [
      null,
      0,
      "",
      [],
      {},
      "x",
      { patch: 1 },
      { patch: "25" },
      { variants: { control: 99.5, treatment: 0.5 } },
    ]) {
      const { json, fault } = parseValue(kind, formatValue(kind, value));
      expect(fault).toBeUndefined();
      expect(canonicalJson(JSON.parse(json!))).toBe(canonicalJson(value));
    }
});

test("a proposal of the current value does not copy the expected effect", () => {
  const applied = change({
    kind: "config",
    summary: "Ten",
    rationale: "Because",
    expected_delta_k: 3,
    affected_users: null,
    kpi: "csat",
    risk: "low",
    tier: "major",
    reversible: true,
    value: 10,
  });
  expect(draftCurrentValue(applied, { value: 99 }, "ana")).toEqual({
    ...parseDraft(
      new URLSearchParams({ ...TARGET, kpi: "csat", risk: "low", tier: "major", reversible: "true" }),
      "ana",
    ),
    summary: "Keep what the host product holds at limits.uploads",
    value: "99",
  });
  for (const nothing of [null, undefined]) expect(draftCurrentValue(applied, nothing, "").value).toBe("");
});

test("a draft for another tenant cannot supersede, and one for the same target is blocked", () => {
  const draft = (overrides: object) => ({ ...parseDraft(new URLSearchParams(TARGET), ""), ...overrides });
  const waiting = change({ status: "pending_consent" });
  expect(findDraftSupersedeProblem(waiting, draft({}))).toBeUndefined();
  expect(findDraftSupersedeProblem(waiting, draft({ target: "limits.seats" }))).toBeUndefined();
  expect(findDraftSupersedeProblem(change({}), draft({ target: "limits.seats" }))).toContain(
    "applied to limits.uploads",
  );
  expect(findDraftSupersedeProblem(waiting, draft({ tenant_id: "t2" }))).toContain("another tenant");
  expect(isBlockingDraft(waiting, draft({ target: " LIMITS.uploads " }))).toBe(true);
  expect(isBlockingDraft(waiting, draft({ tenant_id: "t2" }))).toBe(false);
  expect(isBlockingDraft(change({}), draft({}))).toBe(false);
});

test("an entry is relevant if it is about the change, a related one or the same target", () => {
  const shown = change({ related: [{ change_id: B } as RelatedChange] });
  const entry = (overrides: Partial<AuditEntry>): AuditEntry =>
    ({ change_id: "chg_x", tenant: "t1", event_type: "consent_decision", detail: "{}", ...overrides }) as AuditEntry;
  const proposed = { event_type: "change_proposed", detail: JSON.stringify({ target: "limits.uploads" }) } as const;
  const isRelevant = (overrides: Partial<AuditEntry>) => isRelevantEntry(entry(overrides), A, shown);
  expect(
    [{ change_id: A }, { change_id: "" }, { change_id: B }, { detail: `{"supersedes":"${A}"}` }, proposed].map(
      isRelevant,
    ),
  ).toEqual(Array(5).fill(true));
  expect(
    [{}, { ...proposed, tenant: "t2" }, { ...proposed, event_type: "consent_decision" as const }].map(isRelevant),
  ).toEqual(Array(3).fill(false));
  expect(isRelevantEntry(entry(proposed), A, undefined)).toBe(false);
});

test("change ids in a message become links, or words where links are not possible", () => {
  expect(splitMessage(`other live changes on this target: ${A}, ${B}`)).toEqual([
    { text: "other live changes on this target: " },
    { text: "another change", id: A },
    { text: ", " },
    { text: "another change", id: B },
  ]);
  expect(splitMessage("0 of 1 consent")).toEqual([{ text: "0 of 1 consent" }]);
  expect(describeGate({ gate: "target_conflict", message: `other live changes on this target: ${A}, ${B}` })).toBe(
    "2 other live changes on this target",
  );
  expect(describeGate({ gate: "target_moved", message: `the target holds ${A} now` })).toBe(
    "the target holds another change now",
  );
});

test("the current value comes from the adapter's answer or its preview", () => {
  const answer = (adapter: object | null): Operation => ({ adapter }) as Operation;
  expect(readHostValue(answer({ holds: { value: 1 }, preview: { before: 3, after: 2 } }))).toEqual({ value: 1 });
  expect(readHostValue(answer({ preview: { before: 3, after: 2 } }))).toEqual({ value: 3 });
  expect(readHostValue(answer({ preview: { before: null, after: 2, present_before: false } }))).toBeNull();
  expect(readHostValue(answer({ holds: null }))).toBeNull();
  for (const silent of [null, {}, { preview: null }, { preview: { would: "change" } }])
    expect(readHostValue(answer(silent))).toBeUndefined();
});

test("only an applied change with drift is shown as drifted", () => {
  expect(statusBadge({ status: "applied", resolution: null, drift: EPISODE })).toMatchObject({
    word: "Changed outside Countersign",
    tone: "bad",
  });
  expect(statusBadge({ status: "applied", resolution: null }).word).toBe("Applied");
  expect(statusBadge({ status: "rolled_back", resolution: null, drift: EPISODE }).word).toBe("Rolled back");
});
