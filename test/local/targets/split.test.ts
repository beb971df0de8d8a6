/** Tests splits of a value between users: their definitions in flagd and Unleash, and their evaluation by flagd's reader. */
import { describe, expect, test } from "vitest";
import { findDefinitionProblem, type Flag } from "../../../local/targets/flag_definition.ts";
import type { Share, UserSplit } from "../../../lib/rollout/split_value.ts";
import {
  findUnitProblem,
  findUnleashSplitProblem,
  toFlagdDefinition,
  toUnleashValue,
} from "../../../local/targets/split.ts";
import { findValueProblem } from "../../../local/targets/unleash_value.ts";
import { loadFlagdReader } from "../../support/flagd_core.ts";

const KEY = "ui/banner";
const splitFor = (share: number): UserSplit => ({
  unit: "userId",
  shares: [
    { variant: "on", value: true, share },
    { variant: "off", value: false, share: 10_000 - share },
  ],
});
const reader = await loadFlagdReader().catch((error: Error) => error.message);
if (typeof reader === "string") process.stdout.write(`flagd reader: skipped, ${reader}\n`);

describe.skipIf(typeof reader === "string")("the stock reader of flagd files", () => {
  /** Returns for each user whether the definition evaluates to true. */
  function evaluate(definition: Flag, users: readonly object[]): boolean[] {
    if (typeof reader === "string") throw new Error(reader);
    const core = new reader();
    core.setConfigurations(JSON.stringify({ flags: { [KEY]: definition } }));
    return users.map((user) => core.resolveBooleanEvaluation(KEY, false, user).value);
  }
  const users = Array.from({ length: 2000 }, (_, index) => ({ userId: `user-${index}`, targetingKey: "t1" }));
  const isOn = (share: number, user: object) => evaluate(toFlagdDefinition(KEY, splitFor(share)), [user])[0];

  test("a user gets the value once the share exceeds their bucket, exact to 1 in 10,000", () => {
    // Buckets of the salt ui/banner: user-1 3524, t1 3964.
    expect([isOn(3524, { userId: "user-1" }), isOn(3525, { userId: "user-1" })]).toEqual([false, true]);
    expect([isOn(3964, { userId: "t1" }), isOn(3965, { userId: "t1" })]).toEqual([false, true]);
  });

  test("a larger first share only adds users, and has the requested size", () => {
    const treatedByShare = [0, 1000, 5000, 10_000].map((share) =>
      evaluate(toFlagdDefinition(KEY, splitFor(share)), users),
    );
    const counts = treatedByShare.map((treated) => treated.filter(Boolean).length);
    expect([counts[0], counts[3]]).toEqual([0, 2000]);
    // The tolerances are some four standard deviations.
    expect(Math.abs(counts[1]! - 200)).toBeLessThan(50);
    expect(Math.abs(counts[2]! - 1000)).toBeLessThan(90);
    for (const [index, treated] of treatedByShare[1]!.entries())
      if (treated) expect(treatedByShare[2]![index]).toBe(true);
  });

  test("a user without the unit gets the value of the last share", () => {
    for (const user of [{ targetingKey: "user-1" }, { userId: "", targetingKey: "user-1" }, {}])
      expect(isOn(9999, user)).toBe(false);
  });

  test("a definition that names the targeting key instead is another split", () => {
    const split = splitFor(5000);
    const other = evaluate(toFlagdDefinition(KEY, { ...split, unit: "targetingKey" }), users);
    expect(new Set(other).size).toBe(1);
    expect(evaluate(toFlagdDefinition(KEY, split), users)).not.toEqual(other);
  });
});

test("a split definition of flagd is valid", () => {
  const shares: Share[] = [
    { variant: "blue", value: { color: "blue" }, share: 1 },
    { variant: "none", value: null, share: 9999 },
  ];
  for (const split of [splitFor(0), splitFor(10_000), { unit: "account", shares }])
    expect(findDefinitionProblem(toFlagdDefinition(KEY, split))).toBeUndefined();
});

test("a split value of Unleash is valid", () => {
  for (const share of [0, 100, 5000, 10_000]) {
    const value = toUnleashValue("new-checkout", splitFor(share));
    expect([findUnleashSplitProblem(splitFor(share)), findValueProblem(value)]).toEqual([undefined, undefined]);
  }
});

test("an error explains a unit that is not the name of an attribute", () => {
  for (const find of [findUnitProblem, findUnleashSplitProblem])
    expect(find({ ...splitFor(100), unit: "a.b" })).toContain("unit is not the name of an attribute");
});

test("Unleash accepts only whole percents of on and off", () => {
  expect(findUnleashSplitProblem(splitFor(150))).toContain("whole percents");
  expect(findUnleashSplitProblem({ unit: "userId", shares: [...splitFor(5000).shares].reverse() })).toContain(
    "switches a flag only",
  );
});
