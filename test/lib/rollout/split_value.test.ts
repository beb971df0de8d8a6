import { describe, expect, test } from "vitest";
import { describeSplitProblem, readSplit, shareFinder } from "../../../lib/rollout/split_value.ts";

const ON_OFF = (on: number) => ({
  $split: {
    unit: "userId",
    shares: [
      ["on", true, on],
      ["off", false, 10_000 - on],
    ],
  },
});
const USERS = Array.from({ length: 5000 }, (_, index) => `user-${index}`);
const listVariants = (value: unknown, salt = "ui.banner") => {
  const split = readSplit(value)!;
  const findShare = shareFinder(split, salt);
  return USERS.map((user) => split.shares[findShare(user)]!.variant);
};

test.each([[100], [1000], [5000], [9900]])("a share of %i of 10,000 is given to so many users", (share) => {
  const size = listVariants(ON_OFF(share)).filter((variant) => variant === "on").length;
  const expected = (USERS.length * share) / 10_000;
  // Six standard deviations; the users are the same in every run.
  expect(Math.abs(size - expected)).toBeLessThan(6 * Math.sqrt((expected * (10_000 - share)) / 10_000));
});

test("a first share that grows only adds users", () => {
  const [small, large] = [listVariants(ON_OFF(1000)), listVariants(ON_OFF(3000))];
  const left = USERS.filter((_, index) => small[index] === "on" && large[index] === "off");
  expect(left).toEqual([]);
});

test("a user's share of one flag says nothing of the share of another", () => {
  const [one, other] = [listVariants(ON_OFF(5000)), listVariants(ON_OFF(5000), "ui.footer")];
  const both = USERS.filter((_, index) => one[index] === "on" && other[index] === "on").length;
  expect(Math.abs(both - USERS.length / 4)).toBeLessThan(6 * Math.sqrt((USERS.length * 3) / 16));
});

test("shares of 0 are given to nobody, the whole to everybody", () => {
  expect(new Set(listVariants(ON_OFF(0)))).toEqual(new Set(["off"]));
  expect(new Set(listVariants(ON_OFF(10_000)))).toEqual(new Set(["on"]));
});

test("the unit is userId where none is named", () => {
  expect(
    readSplit({
      $split: {
        shares: [
          ["a", 1, 5000],
          ["b", 2, 5000],
        ],
      },
    }),
  ).toEqual({
    unit: "userId",
    shares: [
      { variant: "a", value: 1, share: 5000 },
      { variant: "b", value: 2, share: 5000 },
    ],
  });
});

test.each([null, true, "$split", [], {}, { split: 1 }, ["$split"]])("%j is the same for everybody", (value) => {
  expect(readSplit(value)).toBeUndefined();
  expect(describeSplitProblem(value)).toBeUndefined();
});

describe("a split of a wrong form is described", () => {
  const shares = (...list: unknown[]) => ({ $split: { shares: list } });
  test.each([
    ["not an object", { $split: 1 }, /^\$split: /],
    ["no shares", { $split: { unit: "userId" } }, /^\$split\.shares: /],
    ["one share", shares(["on", true, 10_000]), /^\$split\.shares: /],
    ["a sum of 9,999", shares(["on", true, 1000], ["off", false, 8999]), /^\$split\.shares: must have 10000 in sum$/],
    ["a name twice", shares(["on", true, 1000], ["on", false, 9000]), /must name each variant once/],
    ["a part of a share", shares(["on", true, 0.5], ["off", false, 9999.5]), /^\$split\.shares\.0\.2: /],
    ["a share below 0", shares(["on", true, -1], ["off", false, 10_001]), /^\$split\.shares\.0\.2: /],
    ["a share as text", shares(["on", true, "1000"], ["off", false, 9000]), /^\$split\.shares\.0\.2: /],
    ["a share without a value", shares(["on", 1000], ["off", false, 9000]), /^\$split\.shares\.0/],
    ["a name of no text", shares(["", true, 1000], ["off", false, 9000]), /^\$split\.shares\.0\.0: /],
    ["a member next to it", { ...ON_OFF(1), other: 1 }, /other/],
    ["a member in it", { $split: { ...ON_OFF(1).$split, salt: "s" } }, /salt/],
  ])("%s", (_, value, problem) => {
    expect(readSplit(value)).toBeUndefined();
    expect(describeSplitProblem(value)).toMatch(problem);
  });
});
