/** Mandates that an intent allows, their effective bounds, and the syntax of bounds. */
import { expect, test } from "vitest";
import * as z from "zod";
import { boundSchemas, narrowSchema } from "../../../../lib/changes/rules/mandate.ts";
import { effectiveBounds, requireAllowedMandate } from "../../../../lib/changes/rules/mandate_allowed.ts";
import { mandatesRule } from "../../../../lib/changes/rules/mandates_rule.ts";

const NOW = Date.parse("2026-11-20T00:00:00.000Z");
const RULE = mandatesRule().parse({ targets: ["price.*"], max_days: 30, max_per_day: 50, max_open: 20 });
// A literal within a literal (`...{ }`) only puts short fields on one line.
const BOUNDS = {
  ...{ agent: "agent:pricing", targets: ["price.a", "price.b.*"], kinds: ["config"], tenants: ["t1"] },
  ...{ max_per_day: 50, max_open: 20, until: "2026-12-20T00:00:00.000Z" },
};
const OWNERS = [{ targets: ["price.b.x"], approvers: ["fin"], required: 1 }];

test.each<[string, object, object, string | undefined]>([
  ["at each of its limits", {}, {}, undefined],
  ["without policy.mandates", {}, { mandates: undefined }, "the intent allows no mandates: it has no policy.mandates"],
  [
    "of a target that the policy does not cover",
    { targets: ["price.a", "plan.*"] },
    {},
    "plan.* is not within policy.mandates.targets: price.*",
  ],
  ["of more changes a day", { max_per_day: 51 }, {}, "max_per_day is above 50 of policy.mandates"],
  ["of more open changes", { max_open: 21 }, {}, "max_open is above 20 of policy.mandates"],
  [
    "for a longer time",
    { until: "2026-12-20T00:00:00.001Z" },
    {},
    "until is more than 30 days from now, the max_days of policy.mandates",
  ],
  [
    "of a pattern that is owned in part",
    {},
    { owners: OWNERS },
    "price.b.* is owned in part, by the owners of price.b.x; use patterns that they own wholly or not at all",
  ],
])("a mandate %s is allowed or rejected by the policy", (_, overrides, policy, message) => {
  const check = () =>
    requireAllowedMandate(
      { ...BOUNDS, ...overrides } as never,
      { mandates: RULE, owners: [], ...policy } as never,
      NOW,
    );
  if (message === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code: "mandate_not_allowed", message }));
});

const CREATED = "2026-11-01T00:00:00.000Z";
const SIGNED = "2026-11-03T00:00:00.000Z";

test.each<[string, object, object, object]>([
  ["its last signature", {}, {}, { from: SIGNED }],
  ["its draft, if it is not signed yet", {}, { signed_at: null }, { from: CREATED }],
  ["a later moment that it states", { from: "2026-11-05T00:00:00.000Z" }, {}, { from: "2026-11-05T00:00:00.000Z" }],
  ["its last signature, after the moment that it states", { from: CREATED }, {}, { from: SIGNED }],
])("a mandate begins with %s", (_, bounds, record, expected) => {
  const effective = effectiveBounds(
    { bounds: { ...BOUNDS, ...bounds }, created_at: CREATED, signed_at: SIGNED, ...record } as never,
    RULE,
  );
  expect(effective).toMatchObject(expected);
});

test.each<[string, object, object]>([
  ["those of the policy", { max_per_day: 60, max_open: 30 }, { max_per_day: 50, max_open: 20 }],
  ["its own", { max_per_day: 5, max_open: 2 }, { max_per_day: 5, max_open: 2 }],
  // The 30 days of `max_days` count from the draft, not from the signature.
  ["the days of the policy", { until: "2026-12-02T00:00:00.000Z" }, { until: "2026-12-01T00:00:00.000Z" }],
  ["its own end", { until: "2026-11-30T00:00:00.000Z" }, { until: "2026-11-30T00:00:00.000Z" }],
])("of the bounds of mandate and policy the smaller ones apply: %s", (_, bounds, expected) => {
  const record = { bounds: { ...BOUNDS, ...bounds }, created_at: CREATED, signed_at: SIGNED };
  expect(effectiveBounds(record as never, RULE)).toMatchObject(expected);
});

const BOUNDS_INPUT = { targets: ["price.*"], kinds: ["config"], tenants: "all", until: "2026-12-20T01:00:00+01:00" };
const parseBounds = (overrides: object) => z.strictObject(boundSchemas()).safeParse({ ...BOUNDS_INPUT, ...overrides });

test("the bounds of a mandate are read unchanged, with times in UTC", () => {
  expect(parseBounds({ tenants: ["t1"] }).data).toEqual({
    ...BOUNDS_INPUT,
    tenants: ["t1"],
    until: "2026-12-20T00:00:00.000Z",
  });
  expect(parseBounds({ limits: { schema: { type: "number" } } }).success).toBe(true);
  expect(parseBounds({ limits: { max_step: { absolute: 1 } } }).success).toBe(true);
  expect(parseBounds({ targets: Array.from({ length: 50 }, (_, index) => `price.${index}`) }).success).toBe(true);
  expect(narrowSchema().safeParse({ max_open: 1 }).data).toEqual({ max_open: 1 });
});

test.each<[string, object, string]>([
  ["no target", { targets: [] }, "must name a target"],
  ["too many targets", { targets: Array.from({ length: 51 }, (_, index) => `price.${index}`) }, "too_big"],
  ["no kind", { kinds: [] }, "must name a kind"],
  ["an unknown kind", { kinds: ["patch"] }, "must be one of config"],
  ["a text for tenants", { tenants: "some" }, "must be a list of tenants, or all"],
  ["limits without a limit", { limits: { unit: "EUR" } }, "must have schema or max_step"],
  ["an unknown limit", { limits: { schema: { type: "number" }, steps: 1 } }, "steps"],
  ["a day", { until: "2026-12-20" }, "must be a time such as 2026-12-24T08:00:00Z"],
  ["a time without its zone", { until: "2026-12-20T08:00:00" }, "must be a time such as 2026-12-24T08:00:00Z"],
  ["nothing open", { max_open: 0 }, "max_open"],
  ["an agent", { agent: "agent:other" }, "agent"],
])("bounds with %s are rejected", (_, overrides, message) => {
  expect(JSON.stringify(parseBounds(overrides).error?.issues)).toContain(message);
});
