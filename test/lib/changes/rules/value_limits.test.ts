/** Limits of steps: the allowed ranges, and the members of a value to which a limit applies. */
import { expect, test } from "vitest";
import { listMembers, computeStepRange } from "../../../../lib/changes/rules/value_limits.ts";

// A value must be within a step of every base; no relative step leads away from 0.
test.each<[limit: object, bases: number[], range: object | undefined]>([
  [{ absolute: 5 }, [10], { minimum: 5, maximum: 15 }],
  [{ absolute: 5 }, [10, 12], { minimum: 7, maximum: 15 }],
  [{ absolute: 5 }, [12, 10], { minimum: 7, maximum: 15 }],
  [{ absolute: 5 }, [11, 10, 12], { minimum: 7, maximum: 15 }],
  [{ absolute: 0.1 }, [0.2], { minimum: 0.1, maximum: 0.3 }],
  [{ relative: 0.5 }, [-10], { minimum: -15, maximum: -5 }],
  [{ relative: 0.5 }, [10, 20], { minimum: 10, maximum: 15 }],
  [{ absolute: 5 }, [0], { minimum: -5, maximum: 5 }],
  [{ relative: 0.5 }, [10, 0], undefined],
])("the limit %j from %j allows %j", (limit, bases, range) => {
  expect(computeStepRange({ hours: 24, ...limit }, bases)).toEqual(range);
});

// Null as a member: the value itself. A member is a path of object members: lists and text have none.
test.each<[value: unknown, member: string | null, expected: unknown[]]>([
  [5, null, [5]],
  [null, null, [null]],
  [{ seats: 5 }, "seats", [5]],
  [{ limits: { seats: "5" } }, "limits.seats", ["5"]],
  [{ limits: null }, "limits.seats", []],
  [{ limits: [5] }, "limits.0", []],
  [{ limits: "5" }, "limits.0", []],
  [{ limits: { seats: 5 } }, "limits.length", []],
  [{}, "toString", []],
  [null, "seats", []],
  [[5], "0", []],
  [undefined, "seats", []],
])("in %j the member %s is %j", (value, member, expected) => {
  expect(listMembers(value, member)).toEqual(expected);
});
