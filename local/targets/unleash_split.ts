/**
 * Gives a share of the users another value of an Unleash flag: adds strategies before the present ones. A share is a
 * number of `BUCKETS` (10,000); the `rollout` of a strategy is in percent.
 */
import { BUCKETS } from "../../lib/rollout/bucket.ts";
import { readSplit } from "../../lib/rollout/split_value.ts";
import type { TargetSystem, TargetValue, UserShare } from "../../lib/targets/port.ts";
import { isObject, type JsonObject } from "./json_object.ts";
import { findStickinessProblem } from "./split.ts";
import { type FlagValue, isFlagValue, toFlagValue } from "./unleash_value.ts";

/** The `groupId` of a rollout's strategies is its salt, the id of its change. */
const CHANGE_ID = /^chg_[0-9a-f]{8}-/;

/** Checks that one of the strategies is the share of a rollout. */
export const isRolledOut = (strategies: readonly JsonObject[]): boolean =>
  strategies.some(({ parameters }) => isObject(parameters) && CHANGE_ID.test(String(parameters["groupId"])));

/** Returns the complete flag of a value; for true or false it is in `raw`. */
export function readFlag({ value, raw }: Partial<TargetValue>): FlagValue | undefined {
  if (raw !== undefined) return JSON.parse(raw) as FlagValue;
  return isFlagValue(value) ? value : undefined;
}

/** Explains why a share of the users cannot get a value. */
export const findSplitProblem: NonNullable<TargetSystem["findSplitProblem"]> = ({ value }, by, before) => {
  if (readSplit(value)) return "a rollout gives its share of the users one value, not a split of their own";
  if (by.share % 100 !== 0) return "Unleash splits by whole percents: a share is a multiple of 100";
  const problem = findStickinessProblem(by);
  if (problem !== undefined || !before) return problem;
  const present = readFlag(before);
  if (!present) return "the flag does not exist: there is no value for the users outside of the share";
  return findWrapProblem(present, toGoal(value, present), by);
};

/** Explains why strategies cannot give the share exactly the new value, and everybody else the present one. */
function findWrapProblem(present: FlagValue, goal: FlagValue, { unit }: UserShare): string | undefined {
  if (!goal.enabled) return "Unleash cannot switch a flag off for a share of the users: strategies only add users";
  const added = goal.strategies.filter(isActive);
  if (!added.every((one) => isForEverybody(one, unit)))
    return "a strategy of the new value is not for everybody who matches it: only default, or flexibleRollout at 100, can be given to a share of the users";
  if (!present.enabled) return undefined;
  if (!present.strategies.some(isActive))
    return "the flag is on without a strategy that is not disabled; give it one, so that others can be added";
  return added.some((one) => isEmpty(one["constraints"]) && isEmpty(one["segments"]))
    ? undefined
    : "the flag is on for some users, and the new value is not on for everybody: Unleash cannot switch it off for a share of the users";
}

const isActive = ({ disabled }: JsonObject): boolean => disabled !== true;
const isEmpty = (list: unknown): boolean => !Array.isArray(list) || list.length === 0;

function isForEverybody({ name, parameters }: JsonObject, unit: string): boolean {
  if (name === "default") return true;
  const { rollout, stickiness } = isObject(parameters) ? parameters : {};
  return name === "flexibleRollout" && rollout === "100" && [unit, "default", "random"].includes(String(stickiness));
}

/** Returns what an apply of a value over a flag would set. */
const toGoal = (value: unknown, present: FlagValue): FlagValue =>
  isFlagValue(value) ? value : { ...present, enabled: value as boolean };

/**
 * Returns the flag for a share; its version is known once it is set. The first strategy that matches a user also gives the variant,
 * so those of the share come first.
 */
export const split: NonNullable<TargetSystem["split"]> = ({ value }, { unit, salt, share }, before) => {
  const present = readFlag(before)!;
  const goal = toGoal(value, present);
  if (share === BUCKETS) return { value, version: "", ...(!isFlagValue(value) && { raw: JSON.stringify(goal) }) };
  const parameters = { rollout: String(share / 100), stickiness: unit, groupId: salt };
  const added = goal.strategies.filter(isActive).map((one) => ({ ...one, name: "flexibleRollout", parameters }));
  return { value: toFlagValue(true, [...added, ...(present.enabled ? present.strategies : [])]), version: "" };
};
