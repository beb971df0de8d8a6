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
/** Returns a split whose share is that of 10,000 users; Unleash has whole percents. */
const splitBy = (share: number, unit = "account") => ({ unit, salt: SALT, share });

const rollout = (share: string, overrides: object = {}) => ({
  name: "flexibleRollout",
  parameters: { rollout: share, stickiness: "default", groupId: "g" },
  ...overrides,
});
const staff = { constraints: [{ contextName: "team", operator: "IN", values: ["staff"] }] };
const enabledFlag = (...strategies: FlagValue["strategies"]): FlagValue => ({ enabled: true, strategies });
const disabledFlag = (...strategies: FlagValue["strategies"]): FlagValue => ({ enabled: false, strategies });
/** Returns a flag as a read for a definition returns it. */
const definitionOf = (value: FlagValue): TargetValue => ({ value, version: "7" });
/** Returns a flag as a read for a switch returns it. */
const switchOf = (value: FlagValue): TargetValue => ({
  value: value.enabled,
  raw: JSON.stringify(value),
  version: "7",
});
/** Returns the strategy that a split sets; `share` in percent. */
const shareStrategy = (share: string, overrides: object = {}) => ({
  name: "flexibleRollout",
  parameters: { rollout: share, stickiness: "account", groupId: SALT },
  ...overrides,
});

test.each<[string, unknown, TargetValue, FlagValue]>([
  [
    "a switch of a flag that is off",
    true,
    switchOf(disabledFlag({ name: "default" })),
    enabledFlag(shareStrategy("10")),
  ],
  [
    "a switch with constraints",
    true,
    switchOf(disabledFlag(rollout("100", staff))),
    enabledFlag(shareStrategy("10", staff)),
  ],
  [
    "a switch of a flag with a disabled strategy, which is left out,",
    true,
    switchOf(disabledFlag({ name: "default", disabled: true }, rollout("100"))),
    enabledFlag(shareStrategy("10")),
  ],
  [
    "a definition over a flag that is off",
    enabledFlag(rollout("100")),
    definitionOf(disabledFlag(rollout("30"))),
    enabledFlag(shareStrategy("10")),
  ],
  [
    "a definition over a flag that is on for some",
    enabledFlag(rollout("100")),
    definitionOf(enabledFlag(rollout("30", staff), { name: "userWithId", parameters: { userIds: "ana" } })),
    enabledFlag(shareStrategy("10"), rollout("30", staff), { name: "userWithId", parameters: { userIds: "ana" } }),
  ],
])("%s gets a strategy for the share before the strategies for other users", (_, value, before, expected) => {
  expect(target.findSplitProblem!(entry(value), splitBy(1000), before)).toBeUndefined();
  const next = target.split!(entry(value), splitBy(1000), before);
  expect([next.value, findValueProblem(next.value)]).toEqual([
    { ...expected, strategies: expected.strategies.map((strategy) => ({ parameters: {}, ...strategy })) },
    undefined,
  ]);
  expect(target.split!(entry(value), splitBy(10_000), before).value).toEqual(value);
});

test.each<[string, unknown, TargetValue | undefined, ReturnType<typeof splitBy>, string]>([
  ["a part of a percent", true, undefined, splitBy(150), "whole percents"],
  ["the unit random", true, undefined, splitBy(100, "random"), "at random"],
  ["the unit default", true, undefined, splitBy(100, "default"), "at random"],
  ["the path of an attribute", true, undefined, splitBy(100, "a.b"), "not the name of an attribute"],
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
    splitBy(100),
    "not a split",
  ],
  ["a flag that does not exist", enabledFlag({ name: "default" }), { version: "0" }, splitBy(100), "does not exist"],
  ["a switch to off", false, switchOf(enabledFlag({ name: "default" })), splitBy(100), "only add users"],
  ["a value for some users", true, switchOf(disabledFlag(rollout("50"))), splitBy(100), "not for everybody"],
  [
    "a strategy by lists",
    enabledFlag({ name: "userWithId", parameters: {} }),
    definitionOf(disabledFlag()),
    splitBy(100),
    "not for everybody",
  ],
  [
    "another unit",
    enabledFlag(rollout("100", { parameters: { rollout: "100", stickiness: "sessionId", groupId: "g" } })),
    definitionOf(disabledFlag()),
    splitBy(100),
    "not for everybody",
  ],
  [
    "a value for fewer users than now",
    enabledFlag(rollout("100", staff)),
    definitionOf(enabledFlag(rollout("30"))),
    splitBy(100),
    "is not on for everybody",
  ],
  [
    "a value for a segment",
    enabledFlag(rollout("100", { segments: [1] })),
    definitionOf(enabledFlag(rollout("30"))),
    splitBy(100),
    "is not on for everybody",
  ],
  [
    "a flag that is on without a strategy",
    enabledFlag(rollout("100")),
    definitionOf(enabledFlag()),
    splitBy(100),
    "without a strategy",
  ],
])("%s is rejected with an explanation", (_, value, before, share, problem) => {
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
