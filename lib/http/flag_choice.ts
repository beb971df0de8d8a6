/** Chooses the value of a flag for a user. All users of an arm get the same answer, which is created once. */
import type { Sha256 } from "../kit/platform.ts";
import { PAGE_BYTES } from "../kit/gather.ts";
import { bucketFinder } from "../rollout/bucket.ts";
import { MAX_SHARES, readSplit, type Share, shareFinder, type UserSplit } from "../rollout/split_value.ts";
import {
  EVERY_TENANT,
  type GovernedValue,
  readControl,
  readExposure,
  type WithheldValue,
} from "../operations/values.ts";
import { countTextBytes } from "../store/engine/write_set.ts";
import type { FlagUser, Failure, Success } from "./ofrep_schemas.ts";

type Value = GovernedValue | WithheldValue;

/** The answer for one flag. */
export interface EvaluatedFlag {
  flag: Success | Failure;
  /** Its JSON text. */
  text: string;
}

/** The answer for all flags. */
export interface EvaluatedFlags {
  flags: readonly EvaluatedFlag["flag"][];
  /** The JSON text of the answer. */
  text: string;
  tag: string;
}

/** Chooses among the answers for a flag. */
export interface FlagChoice {
  /** Returns the index of a user's answer in `results`. */
  choose: (user: FlagUser) => number;
  /** Each is created for its first user; undefined if there is no value. */
  results: readonly (EvaluatedFlag | undefined)[];
  /** Attributes by which users are distinguished; nothing else of a request counts. */
  units: readonly string[];
}

/** Returns the answer for all flags; undefined if it is too large. */
export type FlagsChoice = (user: FlagUser) => EvaluatedFlags | undefined;

export const toEvaluatedFlag = (flag: EvaluatedFlag["flag"]): EvaluatedFlag => ({ flag, text: JSON.stringify(flag) });

/** The value of a target for some of the users; null if there is none for them. */
interface Arm {
  value: Value | null;
  /** The rollout that counts them in this arm. */
  counted?: { rollout: GovernedValue; variant: "treated" | "control" };
  split?: { split: UserSplit; findShare: (unit: string) => number } | undefined;
}

/** The arms of a value; `find` returns the index of a user's arm. */
interface Arms {
  arms: readonly Arm[];
  /** The attribute of the user that `find` reads. */
  unit?: string;
  find: (user: FlagUser) => number;
}

/** Returns true for a rollout over a target that had no value: not everybody has one. */
export const canBeAbsent = (value: Value): boolean =>
  value.state === "governed" && readExposure(value) !== undefined && readControl(value) === null;

/**
 * Creates the choice of a flag from its values for the tenant and for all tenants. The protocol has no null: for a null
 * value, a flag that was requested by `key` is answered with an error, and the answer for all flags leaves it out.
 */
export function createFlagChoice(values: readonly Value[], key?: string): FlagChoice {
  const sources = values.map(listArms);
  const results: (EvaluatedFlag | undefined)[] = [];
  // Index of the answer by the combination of arms and share, as one number.
  const indexes = new Map<number, number>();
  const choose = (user: FlagUser): number => {
    // Begins with 1, so that the combination also says how many values were passed.
    let combination = 1;
    let arm: Arm | undefined;
    let counted: Arm["counted"];
    for (const { arms, find } of sources) {
      const position = find(user);
      combination = combination * MAX_ARMS + position;
      arm = arms[position]!;
      counted ??= arm.counted;
      if (arm.value) break;
    }
    const { value = null, split: armSplit } = arm ?? {};
    const unit = armSplit && user.unit(armSplit.split.unit);
    const shareIndex = unit === undefined ? undefined : armSplit!.findShare(unit);
    combination = combination * (MAX_SHARES + 1) + (shareIndex ?? MAX_SHARES);
    let index = indexes.get(combination);
    if (index === undefined) {
      const split = armSplit?.split;
      const share = shareIndex === undefined ? undefined : split!.shares[shareIndex];
      const nullError = key === undefined ? undefined : nullFlag(key);
      const flag = value && (toFlag(key ?? value.target, { value, counted, split, share }) ?? nullError);
      index = results.push(flag ? toEvaluatedFlag(flag) : undefined) - 1;
      indexes.set(combination, index);
    }
    return index;
  };
  const units = sources.flatMap(({ unit, arms }) => [unit, ...arms.map(({ split }) => split?.split.unit)]);
  return { choose, results, units: units.filter((unit) => unit !== undefined) };
}

/** Bytes of a cached user, without the unit. */
const ENTRY_BYTES = 100;

/**
 * Creates the choice of all flags, in the order of their keys. The answer for each combination of flag values is cached while there
 * is memory: `mayCache` reserves the bytes of an answer, and returns false if none are left.
 */
export function createFlagsChoice(
  choices: readonly FlagChoice[],
  { sha256, mayCache }: { sha256: Sha256; mayCache: (bytes: number) => boolean },
): FlagsChoice {
  const combinations = new Map<string, EvaluatedFlags | undefined>();
  const combine: FlagsChoice = (user) => {
    const indexes = choices.map(({ choose }) => choose(user));
    // One character for each flag.
    const combination = String.fromCharCode(...indexes);
    if (combinations.has(combination)) return combinations.get(combination);
    const joined = joinFlags(
      choices.map(({ results }, position) => results[indexes[position]!]),
      sha256,
    );
    if (mayCache((joined?.text.length ?? 0) + combination.length)) combinations.set(combination, joined);
    return joined;
  };
  const [attribute, ...others] = new Set(choices.flatMap(({ units }) => units));
  if (attribute === undefined || others.length > 0) return combine;
  // A single attribute distinguishes users, so its value alone decides on the answer.
  const answers = new Map<string | undefined, EvaluatedFlags>();
  return (user) => {
    const unit = user.unit(attribute);
    const cached = answers.get(unit);
    if (cached) return cached;
    const combined = combine(user);
    if (combined && mayCache(ENTRY_BYTES + (unit?.length ?? 0))) answers.set(unit, combined);
    return combined;
  };
}

function joinFlags(results: readonly (EvaluatedFlag | undefined)[], sha256: Sha256): EvaluatedFlags | undefined {
  const present = results.filter((outcome) => outcome !== undefined);
  present.sort((a, b) => (a.flag.key < b.flag.key ? -1 : 1));
  const list = `[${present.map(({ text }) => text).join()}]`;
  if (countTextBytes(list) > PAGE_BYTES) return undefined;
  return { flags: present.map(({ flag }) => flag), text: `{"flags":${list}}`, tag: `"${sha256(list)}"` };
}

const nullFlag = (key: string): Failure => ({
  key,
  errorCode: "FLAG_NOT_FOUND",
  errorDetails: `the value of ${key} is null, which no flag can be`,
});

/** Arms of a value: treated, control, and users without the unit. */
const MAX_ARMS = 3;

/** Lists the arms of a value: three during a rollout, otherwise one. Users without the unit get the control value, uncounted. */
function listArms(value: Value): Arms {
  const exposure = value.state === "governed" ? readExposure(value) : undefined;
  if (value.state === "withheld" || !exposure) return { arms: [createArm(value)], find: () => 0 };
  const { unit: attribute, salt, share } = exposure;
  const findBucket = bucketFinder(salt);
  const control = createArm(readControl(value));
  return {
    arms: [
      control,
      { ...createArm(value), counted: { rollout: value, variant: "treated" } },
      { ...control, counted: { rollout: value, variant: "control" } },
    ],
    unit: attribute,
    find: (user) => {
      const unit = user.unit(attribute);
      if (unit === undefined) return 0;
      return findBucket(unit) < share ? 1 : 2;
    },
  };
}

function createArm(value: Value | null): Arm {
  const split = value?.state === "governed" ? readSplit(value.value) : undefined;
  return { value, split: split && { split, findShare: shareFinder(split, value!.target) } };
}

/** The value of a flag for a user, with the arm that counts the user, and the user's share of a split value. */
interface ChosenValue {
  value: Value;
  counted: Arm["counted"];
  split: UserSplit | undefined;
  share: Share | undefined;
}

/** Converts a value to a flag; undefined for null. A tenant's own value hides that of all tenants, also if withheld or null. */
function toFlag(key: string, { value, counted, split, share }: ChosenValue): Success | Failure | undefined {
  if (value.state === "withheld")
    return { key, errorCode: "GENERAL", errorDetails: `the value is withheld: ${value.problem}` };
  // A request without a user gets the last share, uncounted.
  const flagValue = split ? (share ?? split.shares.at(-1)!).value : value.value;
  if (flagValue === null) return undefined;
  // Both arms are counted for the change that is rolled out.
  if (counted) {
    const { rollout, variant } = counted;
    const metadata = { ...describeSource(rollout), step: readExposure(rollout)!.step };
    return { key, value: flagValue, reason: "SPLIT", variant, metadata };
  }
  const metadata = describeSource(value);
  if (share) return { key, value: flagValue, reason: "SPLIT", variant: share.variant, metadata };
  const reason = value.tenant_id === EVERY_TENANT ? "STATIC" : "TARGETING_MATCH";
  if (split) return { key, value: flagValue, reason, metadata };
  return { key, value: flagValue, reason, variant: nameVariant(flagValue), metadata };
}

function nameVariant(value: unknown): string {
  if (typeof value !== "boolean") return "value";
  return value ? "on" : "off";
}

const describeSource = ({
  change_id,
  applied_at,
  entry,
  digest,
  kind,
  tenant_id,
}: GovernedValue): Success["metadata"] => ({
  ...{ change_id, applied_at, entry, digest, kind, tenant_id },
  flagSetId: tenant_id,
  version: change_id,
});
