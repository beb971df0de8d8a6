import { expect, test } from "vitest";
import { numberSet } from "../../../lib/kit/number_set.ts";

test("a set holds the numbers that were added, however far apart, and no other", () => {
  const set = numberSet();
  const added = [0, 1, 7, 8, 4095, 4096, 9000, 1_000_003];
  for (const number of added) set.add(number);
  set.add(7);
  for (const number of added)
    for (const near of [number - 1, number, number + 1]) expect(set.has(near), String(near)).toBe(added.includes(near));
  expect(set.has(2 ** 40)).toBe(false);
});
