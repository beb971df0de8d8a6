/** Tests the sentences about what a new intent allows or forbids, compared with the old one. */
import { describe, expect, test } from "vitest";
import { diffIntents } from "../../../local/intent_diff/diff.ts";
import { makeIntent, type Manifest } from "../../support/intents.ts";
import { passkey } from "../../support/passkeys.ts";
import { person } from "../../support/signed.ts";

const SIGN = { wider: "+", narrower: "-", other: "~" };

/** Lists the differences as lines, the second intent with a higher epoch. */
const listDifferences = (old: Manifest, next: Manifest): string[] =>
  diffIntents(makeIntent(old).intent, makeIntent({ update_epoch: 4, ...next }).intent).map(
    ({ effect, text }) => `${SIGN[effect]} ${text}`,
  );

const comparePolicies = (old: object, next: object) => listDifferences({ policy: old }, { policy: next });

const MINOR = { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50 };
const agent = (may?: object) => ({ kind: "agent", token_sha256: "ab".repeat(32), ...(may && { may }) });
const compareAgents = (old: object, next: object) => listDifferences({ principals: old }, { principals: next });
const ANA = person(passkey());

/** For each rule, two intents of which the second allows more, and the expected differences. */
const WIDER_RULES: [rule: string, differences: () => string[], expected: string[]][] = [
  [
    "forbidden_targets",
    () => comparePolicies({ forbidden_targets: ["billing.*"] }, { forbidden_targets: ["billing.eu.*"] }),
    ["+ Changes of billing.* except billing.eu.* may now be proposed and applied; nobody could."],
  ],
  [
    "required_approvers",
    () =>
      comparePolicies(
        { required_approvers: { standard: 2, major: 3 } },
        { required_approvers: { standard: 1, major: 3 } },
      ),
    ["+ A standard change now needs 1 consent; it needed 2."],
  ],
  [
    "approvers",
    () => comparePolicies({ approvers: ["ana"] }, { approvers: ["ana", "bo"] }),
    [
      '+ A freeze is lifted now also by "bo".',
      '+ Contents are erased now also by "bo".',
      '+ A clock is accepted now also by "bo".',
      '+ A loss is accepted now also by "bo".',
      '+ Changes of any target may now be approved and denied by "bo".',
    ],
  ],
  [
    "owners",
    () =>
      comparePolicies(
        { approvers: ["ana"], owners: [{ targets: ["price.*"], tenants: ["t1"], approvers: ["fin"] }] },
        { approvers: ["ana"] },
      ),
    [
      '+ A change of price.* for tenant "t1" no longer needs 1 consent of "fin".',
      '- Changes of price.* for tenant "t1" may no longer be approved and denied by "fin".',
    ],
  ],
  [
    "self_approval",
    () => comparePolicies({ self_approval: false }, {}),
    ["+ Proposers may now approve their own changes."],
  ],
  [
    "signed_only",
    () => listDifferences({ principals: { ana: ANA } }, { principals: { ana: ANA }, policy: { signed_only: false } }),
    [
      "+ Changes of any target may now be approved and denied by everybody else.",
      "+ Decisions of everybody else need no longer be signed.",
    ],
  ],
  [
    "minor",
    () => comparePolicies({}, { minor: MINOR }),
    ["+ Changes of ui.* of the kind config may now be minor, which needs no consent."],
  ],
  [
    "minor.max_affected_users",
    () => comparePolicies({ minor: MINOR }, { minor: { ...MINOR, max_affected_users: 100 } }),
    ["+ Changes of ui.* of the kind config may now reach 100 users and be minor; it was 50."],
  ],
  [
    "minor.max_risk",
    () => comparePolicies({ minor: MINOR }, { minor: { ...MINOR, max_risk: "medium" } }),
    ["+ Changes of ui.* of the kind config may now be minor with a risk of medium at most; it was low."],
  ],
  [
    "minor.max_per_day",
    () => comparePolicies({ minor: { ...MINOR, max_per_day: 5 } }, { minor: MINOR }),
    ["+ Changes of ui.* of the kind config may now be minor any number of times a day; it was 5."],
  ],
  [
    "minor.apply_when",
    () => {
      const minor = (apply_when: boolean) => ({ apply_when: ["manual", "approved"], minor: { ...MINOR, apply_when } });
      return comparePolicies(minor(false), minor(true));
    },
    ["+ Changes of ui.* of the kind config may now be minor and apply by themselves."],
  ],
  [
    "minor.agents",
    () => comparePolicies({ minor: MINOR }, { minor: { ...MINOR, agents: true } }),
    ["+ An agent's proposal may now be minor, which needs no consent."],
  ],
  [
    "permissions",
    () => comparePolicies({ permissions: { apply: ["ana"] } }, { permissions: { apply: ["ana", "bo"] } }),
    ['+ Changes are applied now also by "bo".'],
  ],
  [
    "removed permissions",
    () => comparePolicies({ permissions: { apply: ["ana"] } }, {}),
    ["+ Changes are applied now also by everybody else."],
  ],
  [
    "windows.deny",
    () => {
      const from = "2026-12-18T00:00:00+01:00";
      const deny = (to: string) => ({ windows: { deny: [{ from, to, targets: ["price.*"] }] } });
      return comparePolicies(deny("2027-01-04T00:00:00+01:00"), deny("2026-12-31T00:00:00+01:00"));
    },
    ["+ Changes of price.* may now be applied from 2026-12-30T23:00Z to 2027-01-03T23:00Z."],
  ],
  [
    "windows.allow",
    () => {
      const hours = (to: string) => ({ windows: { allow: [{ days: ["mon"], from: "09:00", to, tz: "UTC" }] } });
      return comparePolicies(hours("17:00"), hours("18:00"));
    },
    ["+ Changes may now be applied on mon 17:00 to mon 18:00 UTC, as in January."],
  ],
  [
    "break_glass",
    () =>
      comparePolicies(
        { break_glass: { approvers: ["ana", "bo"], required: 2 } },
        { break_glass: { approvers: ["ana", "bo"] } },
      ),
    ["+ An emergency now needs 1 consent; it needed 2."],
  ],
  [
    "consent_ttl_hours",
    () => comparePolicies({ consent_ttl_hours: 72 }, {}),
    ["+ A change without consent now waits as long as it takes; it was 72 hours."],
  ],
  [
    "approval_ttl_hours",
    () => comparePolicies({ approval_ttl_hours: 24 }, { approval_ttl_hours: 48 }),
    ["+ An approved change that is not applied now waits 48 hours; it was 24 hours."],
  ],
  [
    "on_conflict",
    () => comparePolicies({ on_conflict: "block" }, {}),
    ["+ A proposal on a target that has another live change is now reported only; it was rejected."],
  ],
  [
    "on_stale",
    () => comparePolicies({ on_stale: "block" }, {}),
    ["+ An apply after another change of its target was applied is now reported only; it was rejected."],
  ],
  [
    "on_moved",
    () => comparePolicies({ on_moved: "block" }, {}),
    ["+ An apply over another value than its approvers saw is now reported only; it was rejected."],
  ],
  [
    "guardrails",
    () => comparePolicies({ guardrails: [{ kpi: "csat", max_regression: 1, action: "alert" }] }, {}),
    [expect.stringMatching(/^\+ There is no longer a guardrail: the newest applied change that names csat is watched/)],
  ],
  [
    "apply_when",
    () => comparePolicies({}, { apply_when: ["manual", "approved", "scheduled"] }),
    [
      "+ Changes may now apply by themselves as soon as they are approved, where their proposal says so.",
      "+ Changes may now apply by themselves at a time, where their proposal says so.",
    ],
  ],
  [
    "targets",
    () => {
      const step = (relative: number) => ({ targets: [{ match: ["price.*"], max_step: { relative } }] });
      return comparePolicies(step(0.05), step(0.1));
    },
    [
      expect.stringMatching(/^\+ There is no longer a rule for values: a value of price\.\* may differ by 0\.05 /),
      expect.stringMatching(/^- There is now a rule for values: a value of price\.\* may differ by 0\.1 /),
    ],
  ],
  [
    "an agent",
    () => compareAgents({}, { "agent:pricing": agent({ targets: ["price.*"], kinds: ["config"], max_per_day: 5 }) }),
    [
      '+ The agent "agent:pricing" may now propose changes of price.* of the kind config.',
      '+ The agent "agent:pricing" is new; it may read every change, have 100 open changes and propose 5 a day at most.',
    ],
  ],
  [
    "what an agent reads",
    // 100 open changes are the default, so that only the reads differ.
    () => compareAgents({ "agent:a": agent({ read: "own" }) }, { "agent:a": agent({ max_open: 100 }) }),
    ['+ The agent "agent:a" may now read every change.'],
  ],
  [
    "an agent's scope",
    () =>
      compareAgents(
        { "agent:a": agent({ targets: ["price.*"], tenants: ["t1"] }) },
        { "agent:a": agent({ targets: ["price.*"] }) },
      ),
    ['+ The agent "agent:a" may now propose changes of price.* for every tenant that no rule names.'],
  ],
  [
    "an agent's number of open changes",
    () => compareAgents({ "agent:a": agent({ max_open: 5 }) }, { "agent:a": agent({ max_open: 6 }) }),
    ['+ The agent "agent:a" may now have open changes, 6 at most; it was 5.'],
  ],
];

test.each(WIDER_RULES)("a wider rule is reported in one sentence: %s", (_, differences, expected) => {
  expect(differences()).toEqual(expected);
});

test("exchanging the two intents exchanges what is newly allowed and newly forbidden", () => {
  const [old, next] = [
    { approvers: ["ana"], minor: MINOR },
    { approvers: ["ana", "bo"], forbidden_targets: ["ui.x"] },
  ];
  const signs = (differences: string[]) => differences.map((line) => line[0]).toSorted();
  const reversed = signs(comparePolicies(next, old));
  expect(
    signs(comparePolicies(old, next))
      .map((sign) => (sign === "+" ? "-" : "+"))
      .toSorted(),
  ).toEqual(reversed);
});

test("a target that one of the intents forbids is compared in no other rule", () => {
  const owners = [{ targets: ["billing.*"], approvers: ["fin"] }];
  const differences = comparePolicies({ forbidden_targets: ["billing.*"] }, { owners });
  expect(differences).toContain("+ Changes of billing.* may now be proposed and applied; nobody could.");
  expect(differences).not.toContainEqual(expect.stringContaining("fin"));
});

test("the same rules in another order or with renamed groups are no difference", () => {
  const old = { approvers: ["ana", "bo"], forbidden_targets: ["a.*", "b.*"], groups: { g: ["ana"] } };
  const next = { approvers: ["group:both"], forbidden_targets: ["b.*", "a.*", "a.x"], groups: { both: ["bo", "ana"] } };
  expect(comparePolicies(old, next)).toEqual([
    "~ policy.approvers is written differently, and has the same effect.",
    "~ policy.forbidden_targets is written differently, and has the same effect.",
  ]);
});

test("newly allowed actions come first, the most serious of them first", () => {
  const differences = comparePolicies(
    { consent_ttl_hours: 1, required_approvers: { standard: 2 }, on_conflict: "report" },
    { minor: MINOR, on_conflict: "block" },
  );
  expect(differences.map((line) => line.slice(0, 14))).toEqual([
    "+ Changes of u",
    "+ A standard c",
    "+ A major chan",
    "+ A change wit",
    "- A proposal o",
  ]);
});

describe("differences other than rules", () => {
  test("an epoch that is not higher and another product are named", () => {
    const differences = listDifferences({ update_epoch: 5 }, { product_id: "other" });
    expect(differences).toEqual([
      "~ The product is now other; it was acme-crm.",
      "~ update_epoch is 4 after 5: raise it, or the service rejects the new intent.",
    ]);
  });

  test("keys, secrets and goals are named", () => {
    const [ana, bo] = [person(passkey()), person(passkey())];
    const secrets = { a: agent(), b: { ...agent(), token_sha256: "cd".repeat(32) } };
    const goal = (target: number) => ({ csat: { baseline: 4, target } });
    expect(
      listDifferences(
        { principals: { ana, "agent:a": secrets.a }, kpis: goal(5) },
        { principals: { ana: bo, "agent:a": secrets.b }, kpis: goal(4.5) },
      ),
    ).toEqual([
      expect.stringMatching(/^\+ "ana" may now sign with /),
      expect.stringMatching(/^- "ana" may no longer sign with /),
      '~ The agent "agent:a" has another secret.',
      "~ csat has another goal.",
    ]);
  });
});
