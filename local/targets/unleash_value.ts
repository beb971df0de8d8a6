/** Validates and compares values of Unleash flags in one environment. */
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import { isObject, type JsonObject } from "./json_object.ts";

/** A flag in one environment; strategies are in their order and without ids. */
export interface FlagValue {
  enabled: boolean;
  strategies: JsonObject[];
}

/** Unleash accepts an import of 500 kB, with the flag's description and tags. */
const MAX_VALUE_BYTES = 150_000;

const STRATEGY_MEMBERS = ["name", "title", "disabled", "parameters", "constraints", "variants", "segments"];
const ROLLOUT_PARAMETERS = ["rollout", "stickiness", "groupId"];
const PERCENTAGE = /^(?:100|[1-9]?\d)$/;

/** Removes members that mean the same as no member: undefined, null, false, empty text and empty lists. */
const compact = (object: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(object).filter(
      ([, member]) =>
        ![undefined, null, false, ""].includes(member as string) && !(Array.isArray(member) && member.length === 0),
    ),
  );

/** Converts a strategy to the form of values: without ids, and without members that have no effect. */
function toStrategy(strategy: JsonObject): JsonObject {
  const strategyMembers = Object.fromEntries(STRATEGY_MEMBERS.map((name) => [name, strategy[name]]));
  const list = (member: unknown) =>
    Array.isArray(member) ? member.map((one) => (isObject(one) ? compact(one) : one)) : [];
  return compact({
    ...strategyMembers,
    parameters: strategyMembers["parameters"] ?? {},
    constraints: list(strategyMembers["constraints"]),
    variants: list(strategyMembers["variants"]),
    segments: list(strategyMembers["segments"]),
  });
}

/** Converts the data that Unleash returns for an environment. */
export const toFlagValue = (enabled: boolean, strategies: readonly JsonObject[]): FlagValue => ({
  enabled,
  strategies: [...strategies].sort((a, b) => Number(a["sortOrder"]) - Number(b["sortOrder"])).map(toStrategy),
});

/** Checks that two values are the same to Unleash. */
export const isSameFlag = (a: FlagValue, b: FlagValue): boolean =>
  a.enabled === b.enabled &&
  canonicalJson(a.strategies.map(toStrategy)) === canonicalJson(b.strategies.map(toStrategy));

/** Checks that a value has the members of a flag; `findValueProblem` validates them. */
export const isFlagValue = (value: unknown): value is FlagValue =>
  isObject(value) &&
  typeof value["enabled"] === "boolean" &&
  Array.isArray(value["strategies"]) &&
  value["strategies"].every(isObject);

/** Explains why Unleash cannot hold the value, or would make something else of it. */
export function findValueProblem(value: unknown): string | undefined {
  const text = JSON.stringify(value);
  if (new TextEncoder().encode(text).length > MAX_VALUE_BYTES) return "the value has more than 150 kB";
  if (text.includes("\\u0000")) return "the value contains the character U+0000";
  if (typeof value === "boolean") return undefined;
  if (!isFlagValue(value)) return "the value is neither a boolean nor {enabled, strategies}";
  const other = Object.keys(value).find((name) => name !== "enabled" && name !== "strategies");
  if (other !== undefined) return `the value has the unknown member ${JSON.stringify(other)}`;
  for (const strategy of value.strategies) {
    const problem = findStrategyProblem(strategy);
    if (problem !== undefined) return problem;
  }
  return value.enabled ? findSwitchProblem(value.strategies) : undefined;
}

/** Explains why a flag cannot be switched on: Unleash would add a strategy of its own for all users. */
export const findSwitchProblem = (strategies: readonly JsonObject[]): string | undefined =>
  strategies.some(({ disabled }) => disabled !== true)
    ? undefined
    : "a flag that is enabled needs a strategy that is not disabled, otherwise Unleash adds one for all users";

function findStrategyProblem(strategy: JsonObject): string | undefined {
  const { name, parameters = {}, segments = [], constraints = [], variants = [] } = strategy;
  if (typeof name !== "string" || name === "") return "a strategy has no name";
  const other = Object.keys(strategy).find((member) => !STRATEGY_MEMBERS.includes(member));
  if (other !== undefined) return `a strategy has the unknown member ${JSON.stringify(other)}; leave out ids and order`;
  if (!isObject(parameters) || Object.values(parameters).some((parameter) => typeof parameter !== "string"))
    return "the parameters of a strategy are not an object of texts";
  if (!Array.isArray(segments) || !segments.every(Number.isSafeInteger)) return "segments is not a list of ids";
  for (const list of [constraints, variants])
    if (!Array.isArray(list) || !list.every(isObject)) return "constraints or variants is not a list of objects";
  if (name !== "flexibleRollout") return undefined;
  const missing = ROLLOUT_PARAMETERS.find((parameter) => !parameters[parameter]);
  if (missing !== undefined) return `flexibleRollout needs the parameter ${missing}`;
  return PERCENTAGE.test(parameters["rollout"] as string)
    ? undefined
    : 'the parameter rollout is not a whole number from "0" to "100"';
}
