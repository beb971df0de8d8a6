/** Chooses the value of a flag for a user. What the users of an arm are answered is the same, and is made once. */
import type { Sha256 } from "../kit/platform.ts";
import { PAGE_BYTES } from "../kit/gather.ts";
import { findBucket } from "../rollout/bucket.ts";
import { findShare, readSplit, type Share, type Split } from "../rollout/split_value.ts";
import { EVERY_TENANT, type Governed, readControl, readExposure, type Withheld } from "../operations/values.ts";
import { bytesOfText } from "../store/engine/write_set.ts";
import type { Evaluated, Failure, Success } from "./ofrep_schemas.ts";

type Value = Governed | Withheld;

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

/** Returns the outcome of a flag for a user; undefined where there is no value for them. */
export type FlagChoice = (asked: Evaluated) => Outcome | undefined;

/** Returns the outcomes of all flags; undefined where they are more bytes than may be answered at once. */
export type FlagsChoice = (asked: Evaluated) => Outcomes | undefined;

export const toOutcome = (flag: Outcome["flag"]): Outcome => ({ flag, text: JSON.stringify(flag) });

/** The value of a target for a user, null where it has none for them; `rollout` and `variant` say in which arm they are counted. */
interface Arm {
  value: Value | null;
  rollout?: Governed;
  variant?: "treated" | "control";
}

/** Returns true for a rollout over a target that had no value: not everybody has one. */
export const mayBeAbsent = (value: Value): boolean =>
  value.state === "governed" && readExposure(value) !== undefined && readControl(value) === null;

/**
 * Makes the choice of a flag from the values of its tenants, first that of the tenant itself. The protocol has no null: where
 * the flag was requested by its `key` the outcome says so, and among all flags there is none.
 */
export function flagChoice(values: readonly Value[], key?: string): FlagChoice {
  const outcomes = new Map<string, Outcome | undefined>();
  const splits = new Map<Value, Split | undefined>();
  const splitOf = (value: Value): Split | undefined => {
    if (!splits.has(value)) splits.set(value, value.state === "governed" ? readSplit(value.value) : undefined);
    return splits.get(value);
  };
  return (asked) => {
    const arms: Arm[] = [];
    // Users whose choices are the same have the same outcome.
    let path = "";
    for (const value of values) {
      const arm = chooseArm(value, asked);
      arms.push(arm);
      path += `${arm.variant ?? ""}${arm.value === value ? "+" : "-"}`;
      if (arm.value) break;
    }
    const value = arms.at(-1)?.value;
    if (!value) return undefined;
    const split = splitOf(value);
    const unit = split && asked.unit(split.unit);
    const share = unit === undefined ? undefined : findShare(split!, value.target, unit);
    if (share) path += `/${share.variant}`;
    if (!outcomes.has(path)) {
      const flag = flagOf(key ?? value.target, { value, arms, split, share });
      const shown = flag ?? (key === undefined ? undefined : nullFlag(key));
      outcomes.set(path, shown && toOutcome(shown));
    }
    return outcomes.get(path);
  };
}

/**
 * Makes the choice of all flags, in the order of their keys. An answer is made once for each combination of outcomes, while
 * `mayKeep` says that there is room for its bytes.
 */
export function flagsChoice(
  choices: readonly FlagChoice[],
  { sha256, mayKeep }: { sha256: Sha256; mayKeep: (bytes: number) => boolean },
): FlagsChoice {
  const numbers = new Map<Outcome | undefined, number>();
  const combinations = new Map<string, Outcomes | undefined>();
  const numberOf = (outcome: Outcome | undefined): number => {
    let number = numbers.get(outcome);
    if (number === undefined) numbers.set(outcome, (number = numbers.size));
    return number;
  };
  return (asked) => {
    const outcomes = choices.map((choose) => choose(asked));
    const combination = outcomes.map(numberOf).join();
    if (combinations.has(combination)) return combinations.get(combination);
    const joined = joinOutcomes(outcomes, sha256);
    if (mayKeep((joined?.text.length ?? 0) + combination.length)) combinations.set(combination, joined);
    return joined;
  };
}

function joinOutcomes(outcomes: readonly (Outcome | undefined)[], sha256: Sha256): Outcomes | undefined {
  const shown = outcomes.filter((outcome) => outcome !== undefined);
  shown.sort((a, b) => (a.flag.key < b.flag.key ? -1 : 1));
  const list = `[${shown.map(({ text }) => text).join()}]`;
  if (bytesOfText(list) > PAGE_BYTES) return undefined;
  return { flags: shown.map(({ flag }) => flag), text: `{"flags":${list}}`, tag: `"${sha256(list)}"` };
}

const nullFlag = (key: string): Failure => ({
  key,
  errorCode: "FLAG_NOT_FOUND",
  errorDetails: `the value of ${key} is null, which no flag can be`,
});

/** Chooses between the value of a rollout and the one before it. A user without the unit gets that one, uncounted. */
function chooseArm(value: Value, asked: Evaluated): Arm {
  const exposure = value.state === "governed" ? readExposure(value) : undefined;
  if (value.state === "withheld" || !exposure) return { value };
  const { unit: attribute, salt, share } = exposure;
  const unit = asked.unit(attribute);
  if (unit === undefined) return { value: readControl(value) };
  return findBucket(salt, unit) < share
    ? { value, rollout: value, variant: "treated" }
    : { value: readControl(value), rollout: value, variant: "control" };
}

/** A choice of a flag's value: the arms up to the one that has it, and of a split value the user's share. */
interface Chosen {
  value: Value;
  arms: readonly Arm[];
  split: Split | undefined;
  share: Share | undefined;
}

/** Returns a value as a flag, undefined for null. A tenant's own value hides the one for all, also when it is withheld or null. */
function flagOf(key: string, { value, arms, split, share }: Chosen): Success | Failure | undefined {
  if (value.state === "withheld")
    return { key, errorCode: "GENERAL", errorDetails: `the value is withheld: ${value.problem}` };
  // Who names no user gets the last share, uncounted.
  const own = split ? (share ?? split.shares.at(-1)!).value : value.value;
  if (own === null) return undefined;
  const { rollout, variant } = arms.find((arm) => arm.rollout) ?? {};
  // Both arms are counted for the change that is rolled out.
  if (rollout && variant) {
    const metadata = { ...describeSource(rollout), step: readExposure(rollout)!.step };
    return { key, value: own, reason: "SPLIT", variant, metadata };
  }
  const metadata = describeSource(value);
  if (share) return { key, value: own, reason: "SPLIT", variant: share.variant, metadata };
  const reason = value.tenant_id === EVERY_TENANT ? "STATIC" : "TARGETING_MATCH";
  if (split) return { key, value: own, reason, metadata };
  return { key, value: own, reason, variant: own === true ? "on" : own === false ? "off" : "value", metadata };
}

const describeSource = ({ change_id, applied_at, entry, digest, kind, tenant_id }: Governed): Success["metadata"] => ({
  ...{ change_id, applied_at, entry, digest, kind, tenant_id },
  flagSetId: tenant_id,
  version: change_id,
});
