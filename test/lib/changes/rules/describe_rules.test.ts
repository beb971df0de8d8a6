/** The sentences that describe an intent: the start and the command line print them, and agents read them. */
import { expect, test } from "vitest";
import { describeRules } from "../../../../lib/changes/rules/describe_rules.ts";
import { makeIntent } from "../../../support/intents.ts";
import { passkey } from "../../../support/passkeys.ts";
import { person } from "../../../support/signed.ts";

const SMALLEST_INTENT_RULES = describeRules(makeIntent().intent);
const MINOR = { kinds: ["config"], targets: ["ui.*"] };
const SIGNER = person(passkey());
const AGENT = { kind: "agent", token_sha256: "0".repeat(64) };

/** Lists the sentences of an intent that the smallest intent does not have. */
const describeFields = (fields: object): string[] =>
  describeRules(makeIntent({ ...fields }).intent).filter((sentence) => !SMALLEST_INTENT_RULES.includes(sentence));

test("the rules of the smallest intent are described as unrestricted", () => {
  expect(SMALLEST_INTENT_RULES).toEqual([
    "no change is minor",
    "a standard change needs 1 consent, a major one 1 consent",
    "anybody may approve or deny",
    "no consent needs a signature",
    "a proposer may approve their own change",
    "a change waits for consent as long as it takes",
    "several live changes on one target are reported only",
    "no target is forbidden",
    "no KPI has a goal",
    "any authorised caller may: apply, roll back, freeze, restore values that were set elsewhere, feed KPIs, add late notes, lift a freeze, erase contents, accept a clock, accept a loss",
    "the intent names nobody: names are taken at their word",
  ]);
});

test.each<[string, object, string[]]>([
  ["rollouts without limits", { policy: { stages: {} } }, ["a change of any target may be rolled out in steps"]],
  [
    "rollouts with limits",
    {
      policy: {
        stages: {
          watch: ["csat"],
          fed_by: ["bo"],
          targets: ["ui.*"],
          max_allowed: { csat: 1 },
          replaces_guardrails: true,
        },
      },
    },
    [
      'a change of ui.* may be rolled out in steps; it must watch csat; only "bo" may feed it; it may allow a loss of csat by 1 at most; guardrails do not act on it for a KPI that it watches and whose loss max_allowed limits',
    ],
  ],
  [
    "minor changes",
    { policy: { minor: MINOR } },
    [
      "a change of config on ui.* may be minor, which needs no consent, where the proposal asks for it and states affected_users, risk and reversible=true: any number of people, low risk, any number a day, no agent's proposal",
    ],
  ],
  [
    "minor changes with all bounds",
    {
      policy: {
        minor: { ...MINOR, max_risk: "medium", max_per_day: 3, max_affected_users: 5, agents: true, apply_when: true },
      },
    },
    [
      "a change of config on ui.* may be minor, which needs no consent, where the proposal asks for it and states affected_users, risk and reversible=true: at most 5 people, medium risk at most, at most 3 a day, an agent's proposal too, also where it applies by itself",
    ],
  ],
  [
    "minor changes without a kind",
    { policy: { minor: { ...MINOR, kinds: [] } } },
    ["no change is minor: policy.minor names no kind or no target"],
  ],
  [
    "minor changes without a target",
    { policy: { minor: { ...MINOR, targets: [] } } },
    ["no change is minor: policy.minor names no kind or no target"],
  ],
  [
    "minor changes of forbidden targets",
    { policy: { minor: MINOR, forbidden_targets: ["ui.*"] } },
    ["no change is minor: every target of policy.minor has owners or is forbidden", "nobody may change ui.*"],
  ],
  [
    "owners who may approve all changes",
    { policy: { minor: MINOR, owners: [{ targets: ["ui.a"], approvers: ["bo"], required: 1 }] } },
    [
      "a change of config on ui.* may be minor, which needs no consent, where the proposal asks for it and states affected_users, risk and reversible=true: any number of people, low risk, any number a day, no agent's proposal, no target that has owners",
      'among the consents to a change of ui.a must be 1 of "bo"; the consent of an owner who may approve any change counts for this and for the tier\'s number',
    ],
  ],
  [
    "owners who may approve only changes of their own targets",
    { policy: { approvers: ["ana"], owners: [{ targets: ["ui.a"], approvers: ["bo", "cy"], required: 2 }] } },
    [
      'only "ana" may approve or deny; owners may also approve or deny changes of their own targets',
      'among the consents to a change of ui.a must be 2 of "bo", "cy"; these do not count for the tier\'s number',
      "any authorised caller may: apply, roll back, freeze, restore values that were set elsewhere, feed KPIs, add late notes",
      'only "ana" may: lift a freeze, erase contents, accept a clock, accept a loss',
    ],
  ],
  [
    "an owner among the approvers",
    { policy: { approvers: ["ana", "bo"], owners: [{ targets: ["ui.a"], approvers: ["bo", "cy"], required: 2 }] } },
    [
      'only "ana", "bo" may approve or deny; owners may also approve or deny changes of their own targets',
      'among the consents to a change of ui.a must be 2 of "bo", "cy"; the consent of an owner who may approve any change counts for this and for the tier\'s number',
      "any authorised caller may: apply, roll back, freeze, restore values that were set elsewhere, feed KPIs, add late notes",
      'only "ana", "bo" may: lift a freeze, erase contents, accept a clock, accept a loss',
    ],
  ],
  [
    "owners of forbidden targets",
    { policy: { owners: [{ targets: ["ui.a"], approvers: ["bo"], required: 1 }], forbidden_targets: ["ui.*"] } },
    ["nobody may change ui.*"],
  ],
  ["people", { principals: { ana: { kind: "person" } } }, ['known as people are "ana"', "there are no agents"]],
  [
    "agents",
    { principals: { bot: AGENT } },
    [
      'agents with a secret of their own, which propose and withdraw only, are "bot" (100 open changes and 1000 proposals a UTC day at most)',
    ],
  ],
  [
    "an agent with limits",
    {
      principals: {
        bot: {
          ...AGENT,
          may: { kinds: ["config"], targets: ["ui.*"], tenants: ["t1"], read: "own", max_open: 2, max_per_day: 3 },
        },
      },
    },
    [
      'agents with a secret of their own, which propose and withdraw only, are "bot" (only config, only on ui.*, only for tenant "t1", 2 open changes and 3 proposals a UTC day at most, reads only what it proposed, where reads are protected)',
    ],
  ],
  [
    "minor changes by known proposers",
    { principals: { ana: { kind: "person" } }, policy: { minor: MINOR } },
    [
      "a change of config on ui.* may be minor, which needs no consent, where the proposal asks for it and states affected_users, risk and reversible=true: any number of people, low risk, any number a day, no agent's proposal, only of a proposer who is known by a signature, the proxy or a secret",
      'known as people are "ana"',
      "there are no agents",
    ],
  ],
  [
    "permissions of known people",
    { principals: { ana: { kind: "person" } }, policy: { permissions: { apply: ["ana"] } } },
    [
      'only "ana" may: apply',
      "any authorised caller may: roll back, freeze, restore values that were set elsewhere, feed KPIs, add late notes, lift a freeze, erase contents, accept a clock, accept a loss",
      "a name that is only claimed satisfies no list of policy.permissions",
      'known as people are "ana"',
      "there are no agents",
    ],
  ],
  [
    "permissions of claimed names",
    { policy: { permissions: { apply: ["ana"] } } },
    [
      'only "ana" may: apply',
      "any authorised caller may: roll back, freeze, restore values that were set elsewhere, feed KPIs, add late notes, lift a freeze, erase contents, accept a clock, accept a loss",
    ],
  ],
  [
    "signatures",
    { principals: { ana: SIGNER } },
    [
      'only "ana" may approve or deny',
      '"ana" must sign what they decide, and only signed consents count',
      'known as people are "ana"',
      "there are no agents",
    ],
  ],
  [
    "signatures only",
    { principals: { ana: SIGNER }, policy: { signed_only: true, approvers: ["ana", "bo"] } },
    [
      'only "ana" may approve or deny; "bo" without a key cannot',
      '"ana" must sign what they decide, and only signed consents count',
      "any authorised caller may: apply, roll back, freeze, restore values that were set elsewhere, feed KPIs, add late notes",
      'only "ana", "bo" may: lift a freeze, erase contents, accept a clock, accept a loss',
      'known as people are "ana"',
      "there are no agents",
    ],
  ],
  [
    "automatic applies",
    { policy: { apply_when: ["approved", "scheduled"] } },
    [
      "a proposal may ask to be applied by itself once it is approved or at a time, which a window, a freeze or a busy target postpones for at most 24 hours",
    ],
  ],
  [
    "automatic applies at a time",
    { policy: { apply_when: ["scheduled"] } },
    [
      "a proposal may ask to be applied by itself at a time, which a window, a freeze or a busy target postpones for at most 24 hours",
    ],
  ],
  [
    "an absolute step",
    { policy: { targets: [{ match: ["a"], unit: "EUR", max_step: { absolute: 2, hours: 1 } }] } },
    ["a value of a may differ by 2 EUR at most from what the target held 1 hour before; a first value is not minor"],
  ],
  [
    "a relative step of members",
    { policy: { targets: [{ match: ["a"], max_step: { relative: 0.1, hours: 2, members: ["/x"] } }] } },
    [
      "each of /x in a value of a may differ by 0.1 of it at most from what the target held 2 hours before; a first value is not minor",
    ],
  ],
  [
    "a schema",
    { policy: { targets: [{ match: ["a"], schema: { type: "number" }, kpi_required: true }] } },
    ['a value of a must match {"type":"number"}', "a change of a must name the KPI that it is to move"],
  ],
  [
    "a long schema",
    { policy: { targets: [{ match: ["a"], schema: { type: "string", enum: ["x".repeat(300)] } }] } },
    ["a value of a must match its schema in policy.targets"],
  ],
  [
    "conflicts",
    { policy: { on_stale: "block", on_moved: "block", on_drift: "restore", on_conflict: "block" } },
    [
      "an apply is rejected when another change was applied on its target since the last consent",
      "an apply is rejected when a target holds another value than a consent saw, and each consent must say what it saw",
      "a value that was changed outside Countersign is restored by the next cycle, three times an hour at most",
      "a proposal on a target that has a live change is rejected",
    ],
  ],
  [
    "time limits",
    {
      policy: {
        consent_ttl_hours: 2,
        approval_ttl_hours: 3,
        self_approval: false,
        required_approvers: { standard: 2 },
      },
    },
    [
      "a standard change needs 2 consents, a major one 2 consents",
      "nobody may approve their own change",
      "a change that waits for consent longer than 2 hours expires",
      "an approved change that is not applied within 3 hours lapses",
    ],
  ],
  [
    "emergencies",
    { policy: { approvers: ["ana"], break_glass: { approvers: ["sam"], required: 1, review_hours: 4 } } },
    [
      'only "ana" may approve or deny',
      'in an emergency 1 consent of "sam" suffices and passes windows and a freeze, to be reviewed within 4 hours',
      "any authorised caller may: apply, roll back, freeze, restore values that were set elsewhere, feed KPIs, add late notes",
      'only "ana", "sam" may: lift a freeze, erase contents, accept a clock, accept a loss',
    ],
  ],
  [
    "denied periods",
    {
      policy: {
        windows: {
          deny: [
            { from: "2026-12-20T00:00:00Z", to: "2026-12-27T00:00:00Z", reason: "holidays", yearly: true },
            { from: "2026-12-01T00:00:00Z", to: "2026-12-02T00:00:00Z", targets: ["ui.*"], tenants: ["t1", "t2"] },
          ],
        },
      },
    },
    [
      "nothing is applied from 2026-12-20T00:00:00Z to 2026-12-27T00:00:00Z and on these days of every later year: holidays",
      'no change of ui.* for tenants "t1", "t2" is applied from 2026-12-01T00:00:00Z to 2026-12-02T00:00:00Z',
    ],
  ],
  [
    "allowed hours",
    { policy: { windows: { allow: [{ days: ["mon", "tue"], from: "09:00", to: "17:00", tz: "Europe/Berlin" }] } } },
    ["changes are applied on mon, tue from 09:00 to 17:00 in Europe/Berlin"],
  ],
  [
    "guardrails",
    {
      kpis: { csat: { baseline: 3, target: 4 } },
      policy: {
        guardrails: [
          { kpi: "csat", max_regression: 1, action: "rollback", hours: 1 },
          { kpi: "csat", max_regression: 2, action: "alert", hours: 2, targets: ["ui.*"] },
        ],
      },
    },
    [
      "the newest applied change that names csat is watched for 1 hour if it is reversible: when a feed shows csat worse by more than 1 than at its apply, it is rolled back",
      "the newest applied change of ui.*, whatever KPI it names, is watched for 2 hours if it is reversible: when a feed shows csat worse by more than 2 than at its apply, it is flagged",
      "goals are set for csat",
    ],
  ],
  ["groups", { policy: { groups: { ops: ["ana", "bo"] } } }, ['group:ops stands for "ana", "bo"']],
])("%s are described in sentences", (_, fields, sentences) => {
  expect(describeFields(fields)).toEqual(sentences);
});
