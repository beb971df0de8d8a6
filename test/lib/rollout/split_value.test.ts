/** Values that are split between users by shares: who gets which, and the problems of invalid splits. */
import { describe, expect, test } from "vitest";
import { describeSplitProblem, readSplit, shareFinder } from "../../../lib/rollout/split_value.ts";

const onOffSplit = (on: number) => ({
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

test.each([[100], [1000], [5000], [9900]])("a share of %i of 10,000 is the share of users who get it", (share) => {
  const size = listVariants(onOffSplit(share)).filter((variant) => variant === "on").length;
  const expected = (USERS.length * share) / 10_000;
  // Six standard deviations; the users are the same in every run.
  expect(Math.abs(size - expected)).toBeLessThan(6 * Math.sqrt((expected * (10_000 - share)) / 10_000));
});

test("a first share that grows only adds users", () => {
  const [small, large] = [listVariants(onOffSplit(1000)), listVariants(onOffSplit(3000))];
  const removed = USERS.filter((_, index) => small[index] === "on" && large[index] === "off");
  expect(removed).toEqual([]);
});

test("a user's shares of two flags are independent", () => {
  const [banner, footer] = [listVariants(onOffSplit(5000)), listVariants(onOffSplit(5000), "ui.footer")];
  const both = USERS.filter((_, index) => banner[index] === "on" && footer[index] === "on").length;
  // A quarter of the users, within six standard deviations.
  expect(Math.abs(both - USERS.length / 4)).toBeLessThan(6 * Math.sqrt((USERS.length * 3) / 16));
});

test("a share of 0 goes to no user, and a share of 10,000 to all users", () => {
  expect(new Set(listVariants(onOffSplit(0)))).toEqual(new Set(["off"]));
  expect(new Set(listVariants(onOffSplit(10_000)))).toEqual(new Set(["on"]));
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

test.each([null, true, "$split", [], {}, { split: 1 }, ["$split"]])(
  "%j is not a split, so all users get it",
  (value) => {
    expect(readSplit(value)).toBeUndefined();
    expect(describeSplitProblem(value)).toBeUndefined();
  },
);

describe("the problem of an invalid split is described", () => {
  const shares = (...list: unknown[]) => ({ $split: { shares: list } });
  test.each([
    ["not an object", { $split: 1 }, /^\$split: /],
    ["no shares", { $split: { unit: "userId" } }, /^\$split\.shares: /],
    ["one share", shares(["on", true, 10_000]), /^\$split\.shares: /],
    ["a sum of 9,999", shares(["on", true, 1000], ["off", false, 8999]), /^\$split\.shares: must have 10000 in sum$/],
    ["a name twice", shares(["on", true, 1000], ["on", false, 9000]), /must name each variant once/],
    ["a fractional share", shares(["on", true, 0.5], ["off", false, 9999.5]), /^\$split\.shares\.0\.2: /],
    ["a share below 0", shares(["on", true, -1], ["off", false, 10_001]), /^\$split\.shares\.0\.2: /],
    ["a share as text", shares(["on", true, "1000"], ["off", false, 9000]), /^\$split\.shares\.0\.2: /],
    ["a share without a value", shares(["on", 1000], ["off", false, 9000]), /^\$split\.shares\.0/],
    ["an empty name", shares(["", true, 1000], ["off", false, 9000]), /^\$split\.shares\.0\.0: /],
    ["a member next to the split", { ...onOffSplit(1), other: 1 }, /other/],
    ["an unknown member in the split", { $split: { ...onOffSplit(1).$split, salt: "s" } }, /salt/],
  ])("%s", (_, value, problem) => {
    expect(readSplit(value)).toBeUndefined();
    expect(describeSplitProblem(value)).toMatch(problem);
  });
});
