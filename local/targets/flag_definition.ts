/** Validates flag definitions as flagd does, which rejects a file for one invalid flag. */
import { isObject, type JsonObject, getOwn } from "./json_object.ts";

/** A definition of a flag; further members are preserved. */
export interface Flag {
  state: "ENABLED" | "DISABLED";
  variants: JsonObject;
  defaultVariant?: string | null;
  targeting?: unknown;
  metadata?: unknown;
}

/** Limit of flagd: the largest 32-bit integer. */
const MAX_WEIGHT_SUM = 2_147_483_647;

/** Operations of JsonLogic and of flagd. */
const OPERATIONS = new Set(
  "var missing missing_some if == === != !== ! !! or and > >= < <= max min + - * / % map filter reduce all none some merge in cat substr log fractional starts_with ends_with sem_ver $ref".split(
    " ",
  ),
);

/** Checks that a value is a complete definition, not a value for everybody. */
export const isDefinition = (value: unknown): value is Flag & JsonObject =>
  isObject(value) && Object.hasOwn(value, "state") && Object.hasOwn(value, "variants");

/** Explains why flagd would reject the complete file because of a flag. */
export function findFlagProblem(flag: unknown): string | undefined {
  if (!isObject(flag)) return "it is not an object";
  const { state, variants, defaultVariant } = flag;
  if (state !== "ENABLED" && state !== "DISABLED") return "state is neither ENABLED nor DISABLED";
  if (!isObject(variants)) return "variants is not an object";
  const isKnown = typeof defaultVariant === "string" && Object.hasOwn(variants, defaultVariant);
  return defaultVariant == null || isKnown ? undefined : "defaultVariant names no variant";
}

/** Explains why a definition cannot be set: flagd would reject the file, or this flag. */
export const findDefinitionProblem = (flag: Flag): string | undefined =>
  findFlagProblem(flag) ??
  (flag.metadata === undefined || isObject(flag.metadata) ? undefined : "metadata is not an object") ??
  findRuleProblem(flag.targeting, flag.variants);

function findRuleProblem(rule: unknown, variants: JsonObject): string | undefined {
  if (Array.isArray(rule)) return findFirstProblem(rule, (one) => findRuleProblem(one, variants));
  if (!isObject(rule)) return undefined;
  return findFirstProblem(Object.entries(rule), ([operation, operands]) => {
    if (!OPERATIONS.has(operation)) return `its targeting has the unknown operation ${JSON.stringify(operation)}`;
    const sharesProblem = operation === "fractional" ? findSharesProblem(operands, variants) : undefined;
    return sharesProblem ?? findRuleProblem(operands, variants);
  });
}

/** Explains what is wrong with shares: `[variant]` or `[variant, weight]`, after an optional text to hash. */
function findSharesProblem(operands: unknown, variants: JsonObject): string | undefined {
  const shares = (Array.isArray(operands) ? operands : []).filter(Array.isArray);
  let sum = 0;
  for (const [variant, weight = 1] of shares) {
    if (typeof variant === "string" && getOwn(variants, variant) === undefined)
      return `its fractional names no variant ${JSON.stringify(variant)}`;
    if (typeof weight === "number" && (!Number.isSafeInteger(weight) || weight < 0))
      return "a weight of its fractional is not a whole number of 0 or more";
    sum += typeof weight === "number" ? weight : 0;
  }
  return sum > MAX_WEIGHT_SUM ? `the weights of its fractional are more than ${MAX_WEIGHT_SUM} in all` : undefined;
}

function findFirstProblem<T>(list: readonly T[], find: (one: T) => string | undefined): string | undefined {
  for (const one of list) {
    const problem = find(one);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
