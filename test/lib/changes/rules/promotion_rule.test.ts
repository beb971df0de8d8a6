/** `policy.promotion`: the rules that apply to a change, their description, and unknown systems. */
import { expect, test } from "vitest";
import {
  describePromotion,
  findUnknownSystem,
  promotionRules,
  selectPromotionRules,
} from "../../../../lib/changes/rules/promotion_rule.ts";

const rules = (...input: object[]) => promotionRules().parse(input);
const RULE = { to: ["tenant:production"], from: ["tenant:staging"] };

test.each<[object, string]>([
  [{}, "the same value must be applied in tenant:staging"],
  [{ soak_hours: 1 }, "the same value must be applied in tenant:staging for 1 hour"],
  [{ soak_hours: 24 }, "the same value must be applied in tenant:staging for 24 hours"],
  [{ from: ["tenant:a", "system:b"] }, "the same value must be applied in tenant:a or system:b"],
  [
    { soak_hours: 0.5, verdict_not: ["regressed", "missed"] },
    "the same value must be applied in tenant:staging for 0.5 hours by a change whose outcome is not regressed or missed",
  ],
])("the description of the rule %j", (overrides, text) => {
  expect(describePromotion(rules({ ...RULE, ...overrides })[0]!)).toBe(text);
});

test.each<[{ tenant_id: string; system: string | undefined }, number[]]>([
  [{ tenant_id: "production", system: undefined }, [0]],
  [{ tenant_id: "production", system: "flags" }, [0, 1]],
  [{ tenant_id: "staging", system: "flags" }, [1]],
  [{ tenant_id: "flags", system: "production" }, []],
  [{ tenant_id: "eu", system: undefined }, [1]],
])("the rules that apply to a change in %j are %j", (change, indexes) => {
  const all = rules(RULE, { to: ["tenant:eu", "system:flags"], from: ["tenant:staging"] });
  expect(selectPromotionRules(all, change)).toEqual(indexes.map((index) => all[index]));
});

test("a rule for a system named undefined does not apply to a value that is only recorded", () => {
  const all = rules({ to: ["system:undefined"], from: ["tenant:staging"] });
  expect(selectPromotionRules(all, { tenant_id: "eu", system: undefined })).toEqual([]);
});

test.each<[string[], string[], string | undefined]>([
  [["tenant:flags"], ["tenant:prices"], undefined],
  [["system:flags"], ["system:prices"], undefined],
  [["system:flagz"], ["system:prices"], "flagz"],
  [["system:flags"], ["tenant:t", "system:price"], "price"],
])("the unknown system in to %j and from %j is %j", (to, from, unknown) => {
  expect(findUnknownSystem(rules({ to, from }), ["flags", "prices"])).toBe(unknown);
});
