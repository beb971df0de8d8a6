/** Converts a value that is split between users to the definition of a flag. */
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import type { UserSplit } from "../../lib/rollout/split_value.ts";
import type { Flag } from "./flag_definition.ts";
import type { FlagValue } from "./unleash_value.ts";

const UNIT = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Explains why neither flagd nor Unleash can hold a split: both read the unit as the path of an attribute. */
export const findUnitProblem = ({ unit }: Pick<UserSplit, "unit">): string | undefined =>
  UNIT.test(unit) ? undefined : "unit is not the name of an attribute (letters, digits and _, no digit first)";

/** Returns the definition of a flagd flag: the salt is the flag's key. */
export function toFlagdDefinition(key: string, { unit, shares }: UserSplit): Flag {
  const last = shares.at(-1)!.variant;
  const fractional = [{ cat: [key, { var: unit }] }, ...shares.map(({ variant, share }) => [variant, share])];
  return {
    state: "ENABLED",
    variants: Object.fromEntries(shares.map(({ variant, value }) => [variant, value])),
    defaultVariant: last,
    // Without the attribute every user would be in the bucket of the salt alone.
    targeting: { if: [{ var: unit }, { fractional }, last] },
  };
}

/** Explains why Unleash cannot distinguish users by a unit: it assigns at random for its own names `default` and `random`. */
export const findStickinessProblem = (by: Pick<UserSplit, "unit">): string | undefined =>
  findUnitProblem(by) ??
  (by.unit === "default" || by.unit === "random"
    ? `Unleash assigns users at random where the unit is ${by.unit}; name an attribute`
    : undefined);

/** Explains why Unleash cannot hold a split: a flag is on or off, by whole percents. */
export function findUnleashSplitProblem(split: UserSplit): string | undefined {
  const problem = findStickinessProblem(split);
  if (problem !== undefined) return problem;
  const isOnOff =
    canonicalJson(split.shares.map(({ variant, value }) => [variant, value])) === '[["on",true],["off",false]]';
  if (!isOnOff) return 'the shares are not ["on", true, …] and ["off", false, …]: Unleash switches a flag only';
  return split.shares[0]!.share % 100 === 0
    ? undefined
    : "Unleash splits by whole percents: a share is a multiple of 100";
}

/** Returns the value of an Unleash flag: a gradual rollout whose salt is the flag's name. */
export const toUnleashValue = (name: string, { unit, shares }: UserSplit): FlagValue => ({
  enabled: true,
  strategies: [
    {
      name: "flexibleRollout",
      parameters: { rollout: String(shares[0]!.share / 100), stickiness: unit, groupId: name },
    },
  ],
});
