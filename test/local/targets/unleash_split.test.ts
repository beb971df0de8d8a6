/** Shares of the users in Unleash flags: which strategies are set, and which shares strategies cannot express. */
import { expect, test } from "vitest";
import type { TargetValue } from "../../../lib/targets/port.ts";
import { unleashTarget } from "../../../local/targets/unleash.ts";
import { findValueProblem, type FlagValue } from "../../../local/targets/unleash_value.ts";

const SALT = "chg_01a1fc07-5b3e-7b44-9d52-3e8a17c0b6f1";
const target = unleashTarget({
  url: "https://unleash.acme.example/",
  project: "default",
  environment: "production",
  token: "user:secret",
});
const entry = (value: unknown) => ({ tenant_id: "t1", target: "new-checkout", kind: "config" as const, value });
const by = (share: number, unit = "account") => ({ unit, salt: SALT, share });

const rollout = (share: string, over: object = {}) => ({
  name: "flexibleRollout",
  parameters: { rollout: share, stickiness: "default", groupId: "g" },
  ...over,
});
const staff = { constraints: [{ contextName: "team", operator: "IN", values: ["staff"] }] };
const on = (...strategies: FlagValue["strategies"]): FlagValue => ({ enabled: true, strategies });
const off = (...strategies: FlagValue["strategies"]): FlagValue => ({ enabled: false, strategies });
/** A flag as a read of a definition, or of a switch, returns it. */
const held = (value: FlagValue): TargetValue => ({ value, version: "7" });
const switched = (value: FlagValue): TargetValue => ({
  value: value.enabled,
  raw: JSON.stringify(value),
  version: "7",
});
const shareOf = (share: string, over: object = {}) => ({
  name: "flexibleRollout",
  parameters: { rollout: share, stickiness: "account", groupId: SALT },
  ...over,
});

test.each<[string, unknown, TargetValue, FlagValue]>([
  ["a switch of a flag that is off", true, switched(off({ name: "default" })), on(shareOf("10"))],
  ["a switch with constraints", true, switched(off(rollout("100", staff))), on(shareOf("10", staff))],
  [
    "a switch leaves out what is disabled",
    true,
    switched(off({ name: "default", disabled: true }, rollout("100"))),
    on(shareOf("10")),
  ],
  ["a definition over a flag that is off", on(rollout("100")), held(off(rollout("30"))), on(shareOf("10"))],
  [
    "a definition over a flag that is on for some",
    on(rollout("100")),
    held(on(rollout("30", staff), { name: "userWithId", parameters: { userIds: "ana" } })),
    on(shareOf("10"), rollout("30", staff), { name: "userWithId", parameters: { userIds: "ana" } }),
  ],
])("%s gets a strategy for the share before those for everybody else", (_, value, before, expected) => {
  expect(target.findSplitProblem!(entry(value), by(1000), before)).toBeUndefined();
  const next = target.split!(entry(value), by(1000), before);
  expect([next.value, findValueProblem(next.value)]).toEqual([
    { ...expected, strategies: expected.strategies.map((one) => ({ parameters: {}, ...one })) },
    undefined,
  ]);
  expect(target.split!(entry(value), by(10_000), before).value).toEqual(value);
});

test.each<[string, unknown, TargetValue | undefined, ReturnType<typeof by>, string]>([
  ["a part of a percent", true, undefined, by(150), "whole percents"],
  ["the unit random", true, undefined, by(100, "random"), "at random"],
  ["the unit default", true, undefined, by(100, "default"), "at random"],
  ["the path of an attribute", true, undefined, by(100, "a.b"), "not the name of an attribute"],
  [
    "a split value",
    {
      $split: {
        shares: [
          ["on", true, 100],
          ["off", false, 9900],
        ],
      },
    },
    undefined,
    by(100),
    "not a split",
  ],
  ["a flag that does not exist", on({ name: "default" }), { version: "0" }, by(100), "does not exist"],
  ["a switch to off", false, switched(on({ name: "default" })), by(100), "only add users"],
  ["a value for some users", true, switched(off(rollout("50"))), by(100), "not for everybody"],
  ["a strategy by lists", on({ name: "userWithId", parameters: {} }), held(off()), by(100), "not for everybody"],
  [
    "another unit",
    on(rollout("100", { parameters: { rollout: "100", stickiness: "sessionId", groupId: "g" } })),
    held(off()),
    by(100),
    "not for everybody",
  ],
  [
    "a value for fewer than now",
    on(rollout("100", staff)),
    held(on(rollout("30"))),
    by(100),
    "is not on for everybody",
  ],
  [
    "a value for a segment",
    on(rollout("100", { segments: [1] })),
    held(on(rollout("30"))),
    by(100),
    "is not on for everybody",
  ],
  ["a flag that is on without a strategy", on(rollout("100")), held(on()), by(100), "without a strategy"],
])("%s is explained", (_, value, before, share, problem) => {
  expect(target.findSplitProblem!(entry(value), share, before)).toContain(problem);
});

test("a static split by a unit that Unleash chooses at random is rejected", () => {
  const shares = [
    ["on", true, 1000],
    ["off", false, 9000],
  ];
  expect(target.check(entry({ $split: { unit: "random", shares } }))).toContain("at random");
  expect(target.check(entry({ $split: { unit: "account", shares } }))).toBeUndefined();
});
