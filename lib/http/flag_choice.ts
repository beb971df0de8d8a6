/** Chooses the value of a flag for a user. What the users of an arm are answered is the same, and is made once. */
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

/** A flag as it is answered. */
export interface Outcome {
  flag: Success | Failure;
  /** Its JSON text. */
  text: string;
}

/** All flags as they are answered. */
export interface Outcomes {
  flags: readonly Outcome["flag"][];
  /** The JSON text of the answer. */
  text: string;
  tag: string;
}

/** The choice of a flag's outcome. */
export interface FlagChoice {
  /** Returns the number of a user's outcome. */
  choose: (user: FlagUser) => number;
  /** Each made when a user first has it; undefined where there is no value. */
  outcomes: readonly (Outcome | undefined)[];
  /** Attributes by which users are distinguished; nothing else of a request is looked at. */
  units: readonly string[];
}

/** Returns the outcomes of all flags; undefined where they are more bytes than may be answered at once. */
export type FlagsChoice = (user: FlagUser) => Outcomes | undefined;

export const toOutcome = (flag: Outcome["flag"]): Outcome => ({ flag, text: JSON.stringify(flag) });

/** The value of a target for some users, null where it has none for them. */
interface Arm {
  value: Value | null;
  /** The rollout that counts them in this arm. */
  counted?: { rollout: GovernedValue; variant: "treated" | "control" };
  split?: { split: UserSplit; findShare: (unit: string) => number } | undefined;
}

/** The arms of a value, and what finds a user's. */
interface Arms {
  arms: readonly Arm[];
  /** The attribute that `find` reads. */
  unit?: string;
  find: (user: FlagUser) => number;
}

/** Returns true for a rollout over a target that had no value: not everybody has one. */
export const canBeAbsent = (value: Value): boolean =>
  value.state === "governed" && readExposure(value) !== undefined && readControl(value) === null;

/**
 * Makes the choice of a flag from the values of its tenants, first that of the tenant itself. The protocol has no null: where
 * the flag was requested by its `key` the outcome says so, and among all flags there is none.
 */
export function createFlagChoice(values: readonly Value[], key?: string): FlagChoice {
  const sources = values.map(listArms);
  const outcomes: (Outcome | undefined)[] = [];
  // Users whose arms and share are the same have the same outcome.
  const numbers = new Map<number, number>();
  const choose = (user: FlagUser): number => {
    let path = 1;
    let arm: Arm | undefined;
    let counted: Arm["counted"];
    for (const { arms, find } of sources) {
      const position = find(user);
      path = path * MAX_ARMS + position;
      arm = arms[position]!;
      counted ??= arm.counted;
      if (arm.value) break;
    }
    const { value = null, split: parts } = arm ?? {};
    const unit = parts && user.unit(parts.split.unit);
    const share = unit === undefined ? undefined : parts!.findShare(unit);
    path = path * (MAX_SHARES + 1) + (share ?? MAX_SHARES);
    let number = numbers.get(path);
    if (number === undefined) {
      const { split } = parts ?? {};
      const chosen = value && { value, counted, split, share: share === undefined ? undefined : split!.shares[share] };
      const flag = chosen && (toFlag(key ?? value.target, chosen) ?? (key === undefined ? undefined : nullFlag(key)));
      number = outcomes.push(flag ? toOutcome(flag) : undefined) - 1;
      numbers.set(path, number);
    }
    return number;
  };
  const units = sources.flatMap(({ unit, arms }) => [unit, ...arms.map(({ split }) => split?.split.unit)]);
  return { choose, outcomes, units: units.filter((unit) => unit !== undefined) };
}

/** Bytes of a remembered user, without the unit. */
const ENTRY_BYTES = 100;

/**
 * Makes the choice of all flags, in the order of their keys. An answer is made once for each combination of outcomes, while
 * `mayKeep` says that there is room for its bytes.
 */
export function createFlagsChoice(
  choices: readonly FlagChoice[],
  { sha256, mayKeep }: { sha256: Sha256; mayKeep: (bytes: number) => boolean },
): FlagsChoice {
  const combinations = new Map<string, Outcomes | undefined>();
  const combine: FlagsChoice = (user) => {
    const numbers = choices.map(({ choose }) => choose(user));
    const combination = String.fromCharCode(...numbers);
    if (combinations.has(combination)) return combinations.get(combination);
    const joined = joinOutcomes(
      choices.map(({ outcomes }, index) => outcomes[numbers[index]!]),
      sha256,
    );
    if (mayKeep((joined?.text.length ?? 0) + combination.length)) combinations.set(combination, joined);
    return joined;
  };
  const [attribute, ...others] = new Set(choices.flatMap(({ units }) => units));
  if (attribute === undefined || others.length > 0) return combine;
  // Users who ask again get the answer that they had.
  const known = new Map<string | undefined, Outcomes>();
  return (user) => {
    const unit = user.unit(attribute);
    const last = known.get(unit);
    if (last) return last;
    const found = combine(user);
    if (found && mayKeep(ENTRY_BYTES + (unit?.length ?? 0))) known.set(unit, found);
    return found;
  };
}

function joinOutcomes(outcomes: readonly (Outcome | undefined)[], sha256: Sha256): Outcomes | undefined {
  const shown = outcomes.filter((outcome) => outcome !== undefined);
  shown.sort((a, b) => (a.flag.key < b.flag.key ? -1 : 1));
  const list = `[${shown.map(({ text }) => text).join()}]`;
  if (countTextBytes(list) > PAGE_BYTES) return undefined;
  return { flags: shown.map(({ flag }) => flag), text: `{"flags":${list}}`, tag: `"${sha256(list)}"` };
}

const nullFlag = (key: string): Failure => ({
  key,
  errorCode: "FLAG_NOT_FOUND",
  errorDetails: `the value of ${key} is null, which no flag can be`,
});

/** Maximum number of arms of a value: treated, control, and that of users without the unit. */
const MAX_ARMS = 3;

/** Lists the arms of a value: those of a rollout, or one. A user without the unit gets the value before it, uncounted. */
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
      return unit === undefined ? 0 : findBucket(unit) < share ? 1 : 2;
    },
  };
}

function createArm(value: Value | null): Arm {
  const split = value?.state === "governed" ? readSplit(value.value) : undefined;
  return { value, split: split && { split, findShare: shareFinder(split, value!.target) } };
}

/** A choice of a flag's value: the arm that counts its user, and of a split value the user's share. */
interface ChosenValue {
  value: Value;
  counted: Arm["counted"];
  split: UserSplit | undefined;
  share: Share | undefined;
}

/** Returns a value as a flag, undefined for null. A tenant's own value hides the one for all, also when it is withheld or null. */
function toFlag(key: string, { value, counted, split, share }: ChosenValue): Success | Failure | undefined {
  if (value.state === "withheld")
    return { key, errorCode: "GENERAL", errorDetails: `the value is withheld: ${value.problem}` };
  // Who names no user gets the last share, uncounted.
  const own = split ? (share ?? split.shares.at(-1)!).value : value.value;
  if (own === null) return undefined;
  // Both arms are counted for the change that is rolled out.
  if (counted) {
    const { rollout, variant } = counted;
    const metadata = { ...describeSource(rollout), step: readExposure(rollout)!.step };
    return { key, value: own, reason: "SPLIT", variant, metadata };
  }
  const metadata = describeSource(value);
  if (share) return { key, value: own, reason: "SPLIT", variant: share.variant, metadata };
  const reason = value.tenant_id === EVERY_TENANT ? "STATIC" : "TARGETING_MATCH";
  if (split) return { key, value: own, reason, metadata };
  return { key, value: own, reason, variant: own === true ? "on" : own === false ? "off" : "value", metadata };
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
