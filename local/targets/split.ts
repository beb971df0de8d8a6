/** A value that is split between users, as the definition of a flag in a target system, and back. */
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import type { Flag } from "./flag_definition.ts";
import { isObject } from "./json_object.ts";
import type { FlagValue } from "./unleash_value.ts";

/** Shares are of 10,000. */
export const ALL_SHARES = 10_000;

/** The name of a variant, its value and its share. */
export type Share = readonly [name: string, value: unknown, share: number];

/**
 * A static split: users keep their share, and a larger first share only adds users. `unit` is the attribute that names the user;
 * who has none gets the value of the last share.
 */
export interface Split {
  unit: string;
  shares: readonly Share[];
}

const UNIT = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Explains why no system can hold a split. */
export function findSplitProblem({ unit, shares }: Split): string | undefined {
  if (!UNIT.test(unit)) return "unit is not the name of an attribute (letters, digits and _, no digit first)";
  if (shares.length < 2) return "shares has fewer than two entries";
  if (new Set(shares.map(([name]) => name)).size < shares.length) return "two shares have the same name";
  if (!shares.every(([, , share]) => Number.isSafeInteger(share) && share >= 0))
    return "a share is not a whole number of 0 or more";
  const sum = shares.reduce((all, [, , share]) => all + share, 0);
  return sum === ALL_SHARES ? undefined : `the shares are ${sum} in all, not ${ALL_SHARES}`;
}

/** Returns the definition of a flagd flag: the salt is the flag's key. */
export function toFlagdDefinition(key: string, { unit, shares }: Split): Flag {
  const last = shares.at(-1)![0];
  const fractional = [{ cat: [key, { var: unit }] }, ...shares.map(([name, , share]) => [name, share])];
  return {
    state: "ENABLED",
    variants: Object.fromEntries(shares.map(([name, value]) => [name, value])),
    defaultVariant: last,
    // Without the attribute every user would be in the bucket of the salt alone.
    targeting: { if: [{ var: unit }, { fractional }, last] },
  };
}

/** Reads the split of a definition; undefined where the definition is anything else. */
export function readFlagdSplit(key: string, flag: Flag): Split | undefined {
  const rule = isObject(flag.targeting) ? flag.targeting["if"] : undefined;
  const [unit, split] = Array.isArray(rule) ? (rule as { var?: unknown; fractional?: unknown }[]) : [];
  if (typeof unit?.var !== "string" || !Array.isArray(split?.fractional)) return undefined;
  const weights = split.fractional.slice(1) as [string, number][];
  const shares = weights.map(([name, share]): Share => [name, flag.variants[name], share]);
  return ifSame({ unit: unit.var, shares }, flag, (one) => toFlagdDefinition(key, one));
}

/** Explains why Unleash cannot hold a split: a flag is on or off, by whole percents. */
export function findUnleashSplitProblem(split: Split): string | undefined {
  const { shares } = split;
  const problem = findSplitProblem(split);
  if (problem !== undefined) return problem;
  const isOnOff = canonicalJson(shares.map(([name, value]) => [name, value])) === '[["on",true],["off",false]]';
  if (!isOnOff) return 'the shares are not ["on", true, …] and ["off", false, …]: Unleash switches a flag only';
  return shares[0]![2] % 100 === 0 ? undefined : "Unleash splits by whole percents: a share is a multiple of 100";
}

/** Returns the value of an Unleash flag: a gradual rollout whose salt is the flag's name. */
export const toUnleashValue = (name: string, { unit, shares }: Split): FlagValue => ({
  enabled: true,
  strategies: [
    {
      name: "flexibleRollout",
      parameters: { rollout: String(shares[0]![2] / 100), stickiness: unit, groupId: name },
    },
  ],
});

/** Reads the split of a flag; undefined where the value is anything else. */
export function readUnleashSplit(name: string, value: FlagValue): Split | undefined {
  const parameters = value.strategies[0]?.["parameters"];
  if (!isObject(parameters)) return undefined;
  const share = Number(parameters["rollout"]) * 100;
  const shares: Share[] = [
    ["on", true, share],
    ["off", false, ALL_SHARES - share],
  ];
  return ifSame({ unit: String(parameters["stickiness"]), shares }, value, (split) => toUnleashValue(name, split));
}

/** A definition that says more than its split is none: setting the split again would lose it. */
function ifSame(split: Split, found: unknown, render: (split: Split) => unknown): Split | undefined {
  if (findSplitProblem(split) !== undefined) return undefined;
  return canonicalJson(render(split)) === canonicalJson(found) ? split : undefined;
}
