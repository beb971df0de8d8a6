/** Which flag definitions a stock flagd reader accepts: it rejects the complete file for one that it does not. */
import { isObject, type JsonObject, own } from "./json_object.ts";

/** A definition of a flag; further members are preserved. */
export interface Flag {
  state: "ENABLED" | "DISABLED";
  variants: JsonObject;
  defaultVariant?: string | null;
  targeting?: unknown;
  metadata?: unknown;
}

const MAX_WEIGHTS = 2_147_483_647;

/** Operations of JsonLogic and of flagd. */
const OPERATIONS = new Set(
  "var missing missing_some if == === != !== ! !! or and > >= < <= max min + - * / % map filter reduce all none some merge in cat substr log fractional starts_with ends_with sem_ver $ref".split(
    " ",
  ),
);

/** Returns true for a complete definition, false for a value that the flag shall give everybody. */
export const isDefinition = (value: unknown): value is Flag & JsonObject =>
  isObject(value) && Object.hasOwn(value, "state") && Object.hasOwn(value, "variants");

/** Explains why a reader would reject the complete file for this flag. */
export function findFlagProblem(flag: unknown): string | undefined {
  if (!isObject(flag)) return "it is not an object";
  const { state, variants, defaultVariant } = flag;
  if (state !== "ENABLED" && state !== "DISABLED") return "state is neither ENABLED nor DISABLED";
  if (!isObject(variants)) return "variants is not an object";
  const isKnown = typeof defaultVariant === "string" && Object.hasOwn(variants, defaultVariant);
  return defaultVariant == null || isKnown ? undefined : "defaultVariant names no variant";
}

/** Explains why a definition cannot be set: a reader would reject the file, or the flag alone. */
export const findDefinitionProblem = (flag: Flag): string | undefined =>
  findFlagProblem(flag) ??
  (flag.metadata === undefined || isObject(flag.metadata) ? undefined : "metadata is not an object") ??
  findRuleProblem(flag.targeting, flag.variants);

function findRuleProblem(rule: unknown, variants: JsonObject): string | undefined {
  if (Array.isArray(rule)) return findFirst(rule, (one) => findRuleProblem(one, variants));
  if (!isObject(rule)) return undefined;
  return findFirst(Object.entries(rule), ([operation, operands]) =>
    !OPERATIONS.has(operation)
      ? `its targeting has the unknown operation ${JSON.stringify(operation)}`
      : ((operation === "fractional" ? findSharesProblem(operands, variants) : undefined) ??
        findRuleProblem(operands, variants)),
  );
}

/** Shares are `[variant]` or `[variant, weight]`; before them may stand the text that is hashed. */
function findSharesProblem(operands: unknown, variants: JsonObject): string | undefined {
  const shares = (Array.isArray(operands) ? operands : []).filter(Array.isArray);
  let sum = 0;
  for (const [variant, weight = 1] of shares) {
    if (typeof variant === "string" && own(variants, variant) === undefined)
      return `its fractional names no variant ${JSON.stringify(variant)}`;
    if (typeof weight === "number" && (!Number.isSafeInteger(weight) || weight < 0))
      return "a weight of its fractional is not a whole number of 0 or more";
    sum += typeof weight === "number" ? weight : 0;
  }
  return sum > MAX_WEIGHTS ? `the weights of its fractional are more than ${MAX_WEIGHTS} in all` : undefined;
}

function findFirst<T>(list: readonly T[], find: (one: T) => string | undefined): string | undefined {
  for (const one of list) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}
