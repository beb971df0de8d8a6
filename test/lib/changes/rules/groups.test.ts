/** Groups of people, rules for some tenants, and denied periods. */
import { describe, expect, test } from "vitest";
import { IntentInvalid } from "../../../../lib/changes/rules/intent.ts";
import { findContradictions } from "../../../../lib/changes/rules/contradictions.ts";
import { describeRules } from "../../../../lib/changes/rules/describe_rules.ts";
import { findClosure, selectWindows } from "../../../../lib/changes/rules/windows.ts";
import { explainNotMinor } from "../../../../lib/changes/rules/policy.ts";
import { makeIntent } from "../../../support/intents.ts";
import { core } from "../../../support/core.ts";

const makePolicy = (policy: object) => makeIntent({ policy }).intent.policy;
const FINANCE = { finance: ["fin", "Bo "], oncall: ["cy", "bo"] };

describe("a group in a list of names", () => {
  test("is replaced by its people, once each, in any spelling of its name", () => {
    const policy = makePolicy({
      groups: FINANCE,
      approvers: ["ana", "group:finance", " GROUP:OnCall"],
      owners: [{ targets: ["*"], approvers: ["group:finance"], required: 2 }],
      break_glass: { approvers: ["group:oncall"], required: 2 },
    });
    expect(policy.approvers).toEqual(["ana", "fin", "bo", "cy"]);
    expect(policy.owners[0]!.approvers).toEqual(["fin", "bo"]);
    expect(policy.break_glass!.approvers).toEqual(["cy", "bo"]);
  });

  test.each<[string, object, string]>([
    [
      "a group that does not exist",
      { groups: FINANCE, approvers: ["ana", "group:finanse"] },
      "policy.approvers.1 is no group of policy.groups: did you mean finance?",
    ],
    [
      "a group in an intent without groups",
      { owners: [{ targets: ["*"], approvers: ["group:x"] }] },
      "policy.owners.0.approvers.0 is no group of policy.groups: there is none",
    ],
    [
      "a group named like a member of every object",
      { groups: FINANCE, approvers: ["group:constructor"] },
      "is no group of policy.groups",
    ],
    ["a group in a group", { groups: { a: ["ana"], b: ["group:a"] } }, "policy.groups.b.0 is a group"],
    ["an empty group", { groups: { a: [] } }, "policy.groups.a must name somebody"],
    [
      "a group with a capital letter",
      { groups: { A: ["ana"] } },
      "policy.groups.A: the name must be a lower-case word",
    ],
    ["an identity provider's group", { approvers: ["IDP:release"] }, "policy.approvers.0 begins with idp:"],
    [
      "an identity provider's group in a group",
      { groups: { a: ["idp:release"] } },
      "policy.groups.a.0 begins with idp:",
    ],
    [
      "a quorum that the people of the groups cannot reach",
      {
        groups: { a: ["ana", "bo"], b: ["Bo"] },
        approvers: ["group:a", "group:b"],
        required_approvers: { standard: 3 },
      },
      "standard asks for 3, and policy.approvers names 2",
    ],
  ])("is rejected: %s", (_, policy, message) => {
    expect(() => makePolicy(policy)).toThrow(IntentInvalid);
    expect(() => makePolicy(policy)).toThrow(message);
  });

  test("is rejected with an agent in it", () => {
    const principals = { robo: { kind: "agent", token_sha256: "a".repeat(64) } };
    expect(() => makeIntent({ principals, policy: { groups: { a: ["ana", "Robo"] } } })).toThrow(
      "policy.groups.a.1 is an agent",
    );
  });

  test("is described with its people", () => {
    const { intent } = makeIntent({ policy: { groups: FINANCE, approvers: ["group:finance"] } });
    expect(describeRules(intent)).toContain('only "fin", "bo" may approve or deny');
    expect(describeRules(intent)).toContain('group:finance stands for "fin", "bo"');
  });
});

describe("a rule for some tenants", () => {
  test.each([
    ["no tenant", [], "must name a tenant"],
    ["a wildcard", ["t*"], "holds *"],
    ["two tenants in one text", ["t1,t2"], "holds a comma"],
    ["an invisible character", ["t\u200b1"], "holds a control or invisible character"],
  ])("is rejected with %s", (_, tenants, message) => {
    const rules = [
      { owners: [{ targets: ["*"], approvers: ["ana"], tenants }] },
      { minor: { kinds: ["config"], targets: ["*"], tenants } },
      { windows: { deny: [{ from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z", tenants }] } },
    ];
    for (const policy of rules) expect(() => makePolicy(policy)).toThrow(message);
  });

  test("owners consent only to changes of their own tenants, whose names are case-sensitive", async () => {
    const owners = [{ targets: ["price.*"], tenants: ["t1", "*"], approvers: ["fin"] }];
    const api = await core({ intent: { policy: { approvers: ["ana"], owners } } });
    const ownerRule = "owners price.* for t1, *";
    for (const [tenant_id, isOwned] of [
      ["t1", true],
      ["*", true],
      ["T1", false],
      ["t2", false],
    ] as const) {
      const { change_id } = await api.propose({ tenant_id, target: "price.list" });
      const { missing } = await api.change(change_id);
      expect(missing.map(({ rule }: { rule: string }) => rule)).toEqual([
        "required_approvers",
        ...(isOwned ? [ownerRule] : []),
      ]);
      const reply = await api.post("deny", { change_id, approver: "fin" });
      expect([reply.status, reply.body.code]).toEqual(isOwned ? [200, undefined] : [403, "not_an_approver"]);
    }
  });

  test("minor applies to its tenants only, and owners of other tenants do not prevent it", () => {
    const policy = makePolicy({
      minor: { kinds: ["config"], targets: ["ui.*"], tenants: ["t1", "t2"] },
      owners: [{ targets: ["*"], tenants: ["t2"], approvers: ["fin"] }],
    });
    const minorToday = 0;
    const explain = (tenant_id: string) =>
      explainNotMinor(
        { kind: "config", target: "ui.x", tenant_id, affected_users: 1, risk: "low", reversible: true },
        policy,
        minorToday,
      );
    expect(explain("t1")).toBeUndefined();
    expect(explain("t2")).toBe("It is not minor: ui.x has owners, who must consent.");
    expect(explain("t3")).toBe("It is not minor: the intent lets no change of ui.x for tenant t3 be minor.");
  });

  test("contradicts another rule only if the other rule applies to all of its tenants", () => {
    const now = 0;
    const countContradictions = (ownerTenants?: string[], tenants?: string[]) =>
      findContradictions(
        {
          policy: makePolicy({
            minor: { kinds: ["config"], targets: ["ui.*"], tenants },
            owners: [{ targets: ["ui.*"], tenants: ownerTenants, approvers: ["ana"] }],
          }),
        } as Parameters<typeof findContradictions>[0],
        now,
      ).length;
    expect([
      countContradictions(),
      countContradictions(undefined, ["t1"]),
      countContradictions(["t1", "t2"], ["t1"]),
    ]).toEqual([1, 1, 1]);
    expect([countContradictions(["t1"]), countContradictions(["t1"], ["t1", "t2"])]).toEqual([0, 0]);
  });

  test("is described with its tenants", () => {
    const { intent } = makeIntent({
      policy: {
        minor: { kinds: ["config"], targets: ["ui.*"], tenants: ["t1"] },
        owners: [{ targets: ["price.*"], tenants: ["t1", "t2"], approvers: ["fin"] }],
        windows: {
          deny: [
            {
              from: "2026-12-18T00:00:00Z",
              to: "2027-01-04T00:00:00Z",
              reason: "year end",
              targets: ["price.*"],
              tenants: ["t1"],
              yearly: true,
            },
          ],
        },
      },
    });
    const rules = describeRules(intent).join("\n");
    expect(rules).toContain('a change of config on ui.* for tenant "t1" may be minor');
    expect(rules).toContain('a change of price.* for tenants "t1", "t2" must be 1 of "fin"');
    expect(rules).toContain(
      'no change of price.* for tenant "t1" is applied from 2026-12-18T00:00:00Z to 2027-01-04T00:00:00Z and on these days of every later year: year end',
    );
  });
});

describe("a denied period", () => {
  // By UTC it begins and ends an hour earlier, at 23:00 of the day before.
  const DENIED = { from: "2026-12-18T00:00:00+01:00", to: "2027-01-04T00:00:00+01:00" };
  const makeWindows = (deny: object[], allow: object[] = []) => makePolicy({ windows: { deny, allow } }).windows;
  const findOpening = (deny: object[], at: string) => findClosure(makeWindows(deny), Date.parse(at))?.opens_at;

  test("for some targets and tenants blocks only their changes", async () => {
    const deny = [
      {
        from: "2020-01-01T00:00:00Z",
        to: "9999-01-01T00:00:00Z",
        targets: ["price.*"],
        tenants: ["t1"],
        reason: "sale",
      },
    ];
    const api = await core({ intent: { policy: { windows: { deny } } } });
    const apply = async (fields: object) => {
      const { change_id } = await api.propose(fields as Record<string, string>);
      await api.must("approve", change_id);
      const gate = (await api.change(change_id)).gates.find(({ gate }: { gate: string }) => gate === "window");
      const { status, body } = await api.act("apply", change_id);
      expect(gate?.state).toBe(status === 200 ? undefined : "block");
      return body.code ?? status;
    };
    expect(await apply({ target: "price.list", tenant_id: "t1" })).toBe("outside_window");
    expect(await apply({ target: "Price.List", tenant_id: "t1" })).toBe("outside_window");
    expect(await apply({ target: "price.list", tenant_id: "t2" })).toBe(200);
    expect(await apply({ target: "ui.list", tenant_id: "t1" })).toBe(200);
  });

  test("for some targets does not block changes of other targets", () => {
    const windows = makeWindows([{ ...DENIED, targets: ["price.*"] }]);
    const at = Date.parse("2026-12-20T00:00:00Z");
    expect(findClosure(selectWindows(windows), at)).toBeUndefined();
    expect(findClosure(selectWindows(windows, { tenant_id: "t1", target: "ui.x" }), at)).toBeUndefined();
    expect(findClosure(selectWindows(windows, { tenant_id: "t1", target: "price.x" }), at)).toBeDefined();
  });

  test.each([
    ["before its first year", "2025-12-20T00:00:00Z", undefined],
    ["in its first year", "2026-12-20T00:00:00Z", "2027-01-03T23:00:00.000Z"],
    ["at its first moment in a later year", "2031-12-17T23:00:00Z", "2032-01-03T23:00:00.000Z"],
    ["a moment before it begins in a later year", "2031-12-17T22:59:59.999Z", undefined],
    ["after New Year of a later year", "2032-01-03T22:59:59.999Z", "2032-01-03T23:00:00.000Z"],
    ["at its end in a later year", "2032-01-03T23:00:00Z", undefined],
  ])("that is yearly: %s", (_, at, opens) => {
    expect(findOpening([{ ...DENIED, yearly: true }], at)).toBe(opens);
  });

  test("that begins on 29 February begins on 1 March in other years", () => {
    const leap = [{ from: "2028-02-29T00:00:00Z", to: "2028-03-02T00:00:00Z", yearly: true }];
    expect(findOpening(leap, "2029-02-28T23:59:59Z")).toBeUndefined();
    expect(findOpening(leap, "2029-03-01T00:00:00Z")).toBe("2029-03-02T00:00:00.000Z");
    expect(findOpening(leap, "2032-02-29T00:00:00Z")).toBe("2032-03-02T00:00:00.000Z");
  });

  test("across New Year in its own offset falls in the right year", () => {
    const eve = [{ from: "2026-12-31T20:00:00-05:00", to: "2027-01-01T02:00:00-05:00", yearly: true }];
    expect(findOpening(eve, "2028-01-01T01:00:00Z")).toBe("2028-01-01T07:00:00.000Z");
    expect(findOpening(eve, "2028-01-01T00:59:59Z")).toBeUndefined();
    expect(findOpening(eve, "2026-01-01T01:00:00Z")).toBeUndefined();
  });

  test("that is yearly and lasts a year is rejected", () => {
    const yearly = (to: string) => () => makeWindows([{ from: "2026-03-01T00:00:00Z", to, yearly: true }]);
    expect(yearly("2027-03-01T00:00:00Z")).toThrow("policy.windows.deny.0.to must be within a year of from");
    expect(yearly("2027-02-28T23:59:59Z")).not.toThrow();
  });

  test("for each half of the year leaves no opening", () => {
    const halves = [
      { from: "2026-01-01T00:00:00Z", to: "2026-07-01T00:00:00Z", yearly: true },
      { from: "2026-07-01T00:00:00Z", to: "2027-01-01T00:00:00Z", yearly: true },
    ];
    expect(findOpening(halves, "2030-05-01T00:00:00Z")).toBeNull();
  });
});
