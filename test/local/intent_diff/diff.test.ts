import { describe, expect, test } from "vitest";
import { diffIntents } from "../../../local/intent_diff/diff.ts";
import { makeIntent, type Manifest } from "../../support/intents.ts";
import { passkey } from "../../support/passkeys.ts";
import { person } from "../../support/signed.ts";

const SIGN = { wider: "+", narrower: "-", other: "~" };

/** Lists the differences as lines, the second intent with a higher epoch. */
const lines = (old: Manifest, next: Manifest): string[] =>
  diffIntents(makeIntent(old).intent, makeIntent({ update_epoch: 4, ...next }).intent).map(
    ({ effect, text }) => `${SIGN[effect]} ${text}`,
  );

const policy = (old: object, next: object) => lines({ policy: old }, { policy: next });

const MINOR = { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50 };
const agent = (may?: object) => ({ kind: "agent", token_sha256: "ab".repeat(32), ...(may && { may }) });
const agents = (old: object, next: object) => lines({ principals: old }, { principals: next });
const ANA = person(passkey());

/** A rule, and another one: what the second allows beyond the first. */
const WIDER: [rule: string, found: () => string[], expected: string[]][] = [
  [
    "forbidden_targets",
    () => policy({ forbidden_targets: ["billing.*"] }, { forbidden_targets: ["billing.eu.*"] }),
    ["+ Changes of billing.* except billing.eu.* may now be proposed and applied; nobody could."],
  ],
  [
    "required_approvers",
    () => policy({ required_approvers: { standard: 2, major: 3 } }, { required_approvers: { standard: 1, major: 3 } }),
    ["+ A standard change now needs 1 consent; it needed 2."],
  ],
  [
    "approvers",
    () => policy({ approvers: ["ana"] }, { approvers: ["ana", "bo"] }),
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
      policy(
        { approvers: ["ana"], owners: [{ targets: ["price.*"], tenants: ["t1"], approvers: ["fin"] }] },
        { approvers: ["ana"] },
      ),
    [
      '+ A change of price.* for tenant "t1" no longer needs 1 consent of "fin".',
      '- Changes of price.* for tenant "t1" may no longer be approved and denied by "fin".',
    ],
  ],
  ["self_approval", () => policy({ self_approval: false }, {}), ["+ Proposers may now approve their own changes."]],
  [
    "signed_only",
    () => lines({ principals: { ana: ANA } }, { principals: { ana: ANA }, policy: { signed_only: false } }),
    [
      "+ Changes of any target may now be approved and denied by everybody else.",
      "+ Decisions of everybody else need no longer be signed.",
    ],
  ],
  [
    "minor",
    () => policy({}, { minor: MINOR }),
    ["+ Changes of ui.* of the kind config may now be minor, which needs no consent."],
  ],
  [
    "minor.max_affected_users",
    () => policy({ minor: MINOR }, { minor: { ...MINOR, max_affected_users: 100 } }),
    ["+ Changes of ui.* of the kind config may now reach 100 users and be minor; it was 50."],
  ],
  [
    "minor.max_risk",
    () => policy({ minor: MINOR }, { minor: { ...MINOR, max_risk: "medium" } }),
    ["+ Changes of ui.* of the kind config may now be minor with a risk of medium at most; it was low."],
  ],
  [
    "minor.max_per_day",
    () => policy({ minor: { ...MINOR, max_per_day: 5 } }, { minor: MINOR }),
    ["+ Changes of ui.* of the kind config may now be minor any number of times a day; it was 5."],
  ],
  [
    "minor.apply_when",
    () => {
      const minor = (apply_when: boolean) => ({ apply_when: ["manual", "approved"], minor: { ...MINOR, apply_when } });
      return policy(minor(false), minor(true));
    },
    ["+ Changes of ui.* of the kind config may now be minor and apply by themselves."],
  ],
  [
    "minor.agents",
    () => policy({ minor: MINOR }, { minor: { ...MINOR, agents: true } }),
    ["+ An agent's proposal may now be minor, which needs no consent."],
  ],
  [
    "permissions",
    () => policy({ permissions: { apply: ["ana"] } }, { permissions: { apply: ["ana", "bo"] } }),
    ['+ Changes are applied now also by "bo".'],
  ],
  [
    "permissions that are no more",
    () => policy({ permissions: { apply: ["ana"] } }, {}),
    ["+ Changes are applied now also by everybody else."],
  ],
  [
    "windows.deny",
    () => {
      const from = "2026-12-18T00:00:00+01:00";
      const deny = (to: string) => ({ windows: { deny: [{ from, to, targets: ["price.*"] }] } });
      return policy(deny("2027-01-04T00:00:00+01:00"), deny("2026-12-31T00:00:00+01:00"));
    },
    ["+ Changes of price.* may now be applied from 2026-12-30T23:00Z to 2027-01-03T23:00Z."],
  ],
  [
    "windows.allow",
    () => {
      const hours = (to: string) => ({ windows: { allow: [{ days: ["mon"], from: "09:00", to, tz: "UTC" }] } });
      return policy(hours("17:00"), hours("18:00"));
    },
    ["+ Changes may now be applied on mon 17:00 to mon 18:00 UTC, as in January."],
  ],
  [
    "break_glass",
    () =>
      policy({ break_glass: { approvers: ["ana", "bo"], required: 2 } }, { break_glass: { approvers: ["ana", "bo"] } }),
    ["+ An emergency now needs consents of 1; it needed 2."],
  ],
  [
    "consent_ttl_hours",
    () => policy({ consent_ttl_hours: 72 }, {}),
    ["+ A change without consent now waits as long as it takes; it was 72 hours."],
  ],
  [
    "approval_ttl_hours",
    () => policy({ approval_ttl_hours: 24 }, { approval_ttl_hours: 48 }),
    ["+ An approved change that is not applied now waits 48 hours; it was 24 hours."],
  ],
  [
    "on_conflict",
    () => policy({ on_conflict: "block" }, {}),
    ["+ A proposal on a target that has another live change is now reported only; it was rejected."],
  ],
  [
    "on_stale",
    () => policy({ on_stale: "block" }, {}),
    ["+ An apply after another change of its target was applied is now reported only; it was rejected."],
  ],
  [
    "on_moved",
    () => policy({ on_moved: "block" }, {}),
    ["+ An apply over another value than its approvers saw is now reported only; it was rejected."],
  ],
  [
    "guardrails",
    () => policy({ guardrails: [{ kpi: "csat", max_regression: 1, action: "alert" }] }, {}),
    [expect.stringMatching(/^\+ There is no longer a guardrail: the newest applied change that names csat is watched/)],
  ],
  [
    "apply_when",
    () => policy({}, { apply_when: ["manual", "approved", "scheduled"] }),
    [
      "+ Changes may now apply by themselves as soon as they are approved, where their proposal says so.",
      "+ Changes may now apply by themselves at a time, where their proposal says so.",
    ],
  ],
  [
    "targets",
    () => {
      const step = (relative: number) => ({ targets: [{ match: ["price.*"], max_step: { relative } }] });
      return policy(step(0.05), step(0.1));
    },
    [
      expect.stringMatching(/^\+ There is no longer a rule for values: a value of price\.\* may differ by 0\.05 /),
      expect.stringMatching(/^- There is now a rule for values: a value of price\.\* may differ by 0\.1 /),
    ],
  ],
  [
    "an agent",
    () => agents({}, { "agent:pricing": agent({ targets: ["price.*"], kinds: ["config"], max_per_day: 5 }) }),
    [
      '+ The agent "agent:pricing" may now propose changes of price.* of the kind config.',
      '+ The agent "agent:pricing" is new; it may read every change, have 100 open changes and propose 5 a day at most.',
    ],
  ],
  [
    "what an agent reads",
    () => agents({ "agent:a": agent({ read: "own" }) }, { "agent:a": agent({ max_open: 100 }) }),
    ['+ The agent "agent:a" may now read every change.'],
  ],
  [
    "an agent's scope",
    () =>
      agents(
        { "agent:a": agent({ targets: ["price.*"], tenants: ["t1"] }) },
        { "agent:a": agent({ targets: ["price.*"] }) },
      ),
    ['+ The agent "agent:a" may now propose changes of price.* for tenants every tenant that no rule names.'],
  ],
  [
    "an agent's number of open changes",
    () => agents({ "agent:a": agent({ max_open: 5 }) }, { "agent:a": agent({ max_open: 6 }) }),
    ['+ The agent "agent:a" may now have open changes, 6 at most; it was 5.'],
  ],
];

test.each(WIDER)("a wider rule is reported in one sentence: %s", (_, found, expected) => {
  expect(found()).toEqual(expected);
});

test("exchanging the two intents exchanges what is newly allowed and newly forbidden", () => {
  const [old, next] = [
    { approvers: ["ana"], minor: MINOR },
    { approvers: ["ana", "bo"], forbidden_targets: ["ui.x"] },
  ];
  const signs = (found: string[]) => found.map((line) => line[0]).toSorted();
  const back = signs(policy(next, old));
  expect(
    signs(policy(old, next))
      .map((sign) => (sign === "+" ? "-" : "+"))
      .toSorted(),
  ).toEqual(back);
});

test("no other rule is compared for a target that one of the intents forbids", () => {
  const owners = [{ targets: ["billing.*"], approvers: ["fin"] }];
  const differences = policy({ forbidden_targets: ["billing.*"] }, { owners });
  expect(differences).toContain("+ Changes of billing.* may now be proposed and applied; nobody could.");
  expect(differences).not.toContainEqual(expect.stringContaining("fin"));
});

test("the same rules in another order or with renamed groups are no difference", () => {
  const old = { approvers: ["ana", "bo"], forbidden_targets: ["a.*", "b.*"], groups: { g: ["ana"] } };
  const next = { approvers: ["group:both"], forbidden_targets: ["b.*", "a.*", "a.x"], groups: { both: ["bo", "ana"] } };
  expect(policy(old, next)).toEqual([
    "~ policy.approvers is written differently, and has the same effect.",
    "~ policy.forbidden_targets is written differently, and has the same effect.",
  ]);
});

test("newly allowed actions come first, the most serious of them first", () => {
  const found = policy(
    { consent_ttl_hours: 1, required_approvers: { standard: 2 }, on_conflict: "report" },
    { minor: MINOR, on_conflict: "block" },
  );
  expect(found.map((line) => line.slice(0, 14))).toEqual([
    "+ Changes of u",
    "+ A standard c",
    "+ A major chan",
    "+ A change wit",
    "- A proposal o",
  ]);
});

describe("differences other than rules", () => {
  test("an epoch that is not higher and another product are named", () => {
    const found = lines({ update_epoch: 5 }, { product_id: "other" });
    expect(found).toEqual([
      "~ The product is now other; it was acme-crm.",
      "~ update_epoch is 4 after 5: raise it, or the service rejects the new intent.",
    ]);
  });

  test("keys, secrets and goals are named", () => {
    const [ana, bo] = [person(passkey()), person(passkey())];
    const secrets = { a: agent(), b: { ...agent(), token_sha256: "cd".repeat(32) } };
    const goal = (target: number) => ({ csat: { baseline: 4, target } });
    expect(
      lines(
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
