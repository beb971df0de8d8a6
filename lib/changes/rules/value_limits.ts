/** Judges the values of a change by the intent's rules for targets: schemas, and limits of steps. Pure. */
import { AppError } from "../../kit/errors.ts";
import {
  absoluteValue,
  add,
  ceilToNumber,
  compare,
  type Decimal,
  readDecimal,
  floorToNumber,
  multiply,
  negate,
} from "../../kit/decimal.ts";
import { readSplit } from "../../rollout/split_value.ts";
import type { Policy } from "./intent.ts";
import { type ChangeEntry, listEntries } from "./list_entries.ts";
import { matchesAny } from "./target_pattern.ts";
import type { MaxStep, TargetRule } from "./target_rules.ts";
import type { ValueSchema } from "./value_schema.ts";

/** The first keyword of a schema that a value does not match; `path`: the members from the value down. */
export interface SchemaMismatch {
  path: readonly string[];
  keyword: string;
  /** The keywords of the schema at that path that bound the value. */
  range: object;
}

/** Validates a value against a schema; undefined if it matches. */
export type ValidateValue = (schema: ValueSchema, value: unknown) => SchemaMismatch | undefined;

/** Earlier numbers of a target's value or of one `member` of it (null: the value itself); empty if it was not a number. */
export interface StepBase {
  tenant_id: string;
  target: string;
  member: string | null;
  numbers: readonly number[];
}

/**
 * The base of a step: numbers, the reason why they are unknown, or `first` if the target never held a number. `absentAtStart`: the
 * target did not hold these numbers at the start of the rule's period: it got them later, or lost them before.
 */
export type StepBaseResult =
  (({ numbers: readonly number[] } | { unknown: string }) & { absentAtStart?: true }) | "first";

/** A number of a change whose step is limited. */
export interface LimitedStep {
  entry: ChangeEntry;
  /** The value; for a split, the value of one share. */
  value: unknown;
  rule: TargetRule;
  limit: MaxStep;
  member: string | null;
  /** The path of the number, from the field `value` on. */
  path: string;
}

/** The fields of a change that its value rules need. */
export type LimitedChange = ChangeEntry & { kpi?: string | null | undefined };

export const listTargetRules = (
  { target }: Pick<ChangeEntry, "target">,
  { targets }: Pick<Policy, "targets">,
): TargetRule[] => targets.filter(({ match }) => matchesAny(target, match));

/** Lists the limited steps that a change would make. */
export const listSteps = (change: ChangeEntry, policy: Pick<Policy, "targets">): LimitedStep[] =>
  listValues(change)
    .filter(({ value }) => value !== undefined)
    .flatMap((location) => listTargetRules(location.entry, policy).flatMap((rule) => listStepsOfRule(location, rule)));

function listStepsOfRule({ entry, value, path }: ValueLocation, rule: TargetRule): LimitedStep[] {
  const limit = rule.max_step;
  if (limit === undefined) return [];
  return (limit.members ?? [null]).map((member) => ({
    entry,
    value,
    rule,
    limit,
    member,
    path: member === null ? path : `${path}.${member}`,
  }));
}

/** A value of a change, and its path from the field `value` or `sets` on. */
interface ValueLocation {
  entry: ChangeEntry;
  value: unknown;
  path: string;
}

/** Lists the values of a change with their paths; for a split, the values of its shares. */
function listValues(change: ChangeEntry): ValueLocation[] {
  const entries = listEntries(change);
  return entries.flatMap((entry, index) => {
    const path = entries.length === 1 ? "value" : `sets.${index}.value`;
    const values = listShareValues(entry.value);
    const isSplit = values.length > 1;
    // A share of a split is a list of variant, value and size: member 1 is the value.
    return values.map((value, share) => ({ entry, value, path: isSplit ? `${path}.$split.shares.${share}.1` : path }));
  });
}

/** Lists the values of the shares of a split, at least two; for any other value, the value itself. */
const listShareValues = (value: unknown): unknown[] => readSplit(value)?.shares.map((share) => share.value) ?? [value];

/** Longest range (characters of JSON) that a message repeats. */
const MAX_RANGE_LENGTH = 200;

/** Requires that a change names a KPI if a rule needs one, and that values match their schemas. Errors: 400 `value_not_allowed`. */
export function requireSchemas(change: LimitedChange, policy: Pick<Policy, "targets">, validate: ValidateValue): void {
  for (const { entry, value, path } of listValues(change))
    for (const rule of listTargetRules(entry, policy)) {
      if (rule.kpi_required && !change.kpi)
        throw createNotAllowedError(`a change of ${entry.target} must name the kpi that it is to move`, {
          path: "kpi",
          rule: "kpi_required",
        });
      if (!rule.schema || value === undefined) continue;
      const mismatch = validate(rule.schema, value);
      if (!mismatch) continue;
      const mismatchPath = [path, ...mismatch.path].join(".");
      const rangeText = JSON.stringify(mismatch.range);
      const bound = rangeText.length > MAX_RANGE_LENGTH ? mismatch.keyword : rangeText;
      throw createNotAllowedError(`${mismatchPath} of ${entry.target} is outside ${bound}`, {
        path: mismatchPath,
        rule: mismatch.keyword,
        range: mismatch.range,
        ...pickUnit(rule),
      });
    }
}

/** Requires that a number is within the step from its base. Errors: 400 `value_not_allowed`. */
export function requireStep(step: LimitedStep, base: StepBaseResult): void {
  const { entry, value, limit, member, path, rule } = step;
  const { target } = entry;
  const reject = (message: string, range?: NumberRange): never => {
    const { relative, absolute: units, hours } = limit;
    throw createNotAllowedError(message, {
      path,
      rule: "max_step",
      ...(range && { range }),
      max_step: { ...(relative === undefined ? { absolute: units } : { relative }), hours },
      ...(typeof base === "object" &&
        "numbers" in base && { base: base.numbers.length === 1 ? base.numbers[0] : base.numbers }),
      ...pickUnit(rule),
    });
  };
  const number = findMember(value, member);
  if (typeof number !== "number") return reject(`${path} of ${target} must be a number, since its steps are limited`);
  if (base === "first") return undefined;
  if ("unknown" in base) return reject(`the step of ${path} of ${target} cannot be judged: ${base.unknown}`);
  const range = computeStepRange(limit, base.numbers);
  if (range === undefined)
    return reject(
      `${path} of ${target} was 0 before, and a relative max_step allows no step from 0; use an absolute max_step`,
    );
  if (number >= range.minimum && number <= range.maximum) return undefined;
  return reject(
    `${path} of ${target} must be from ${range.minimum} to ${range.maximum}; its value ${limit.hours} hours before was ${base.numbers.join(" and ")}`,
    range,
  );
}

export interface NumberRange {
  minimum: number;
  maximum: number;
}

/** Returns the range within a step of every base; undefined for a relative step from 0. */
export function computeStepRange(limit: MaxStep, bases: readonly number[]): NumberRange | undefined {
  if (limit.relative !== undefined && bases.includes(0)) return undefined;
  const ranges = bases.map((base) => {
    const from = readDecimal(base);
    const step = computeStep(limit, from);
    return { low: add(from, negate(step)), high: add(from, step) };
  });
  const low = ranges.map((range) => range.low).reduce((a, b) => (compare(a, b) > 0 ? a : b));
  const high = ranges.map((range) => range.high).reduce((a, b) => (compare(a, b) < 0 ? a : b));
  return { minimum: ceilToNumber(low), maximum: floorToNumber(high) };
}

const computeStep = ({ relative, absolute: units }: MaxStep, base: Decimal): Decimal =>
  relative === undefined ? readDecimal(units!) : multiply(readDecimal(relative), absoluteValue(base));

/** Lists a member of a stored value, for each share of a split; shares without the member are left out. */
export const listMembers = (storedValue: unknown, member: string | null): unknown[] =>
  listShareValues(storedValue)
    .map((value) => findMember(value, member))
    .filter((value) => value !== undefined);

/** Returns a member of a value, or the value itself for `null`; undefined if there is none. */
function findMember(value: unknown, member: string | null): unknown {
  if (member === null) return value;
  let inner = value;
  for (const name of member.split(".")) {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner) || !Object.hasOwn(inner, name))
      return undefined;
    inner = (inner as Record<string, unknown>)[name];
  }
  return inner;
}

const pickUnit = ({ unit }: TargetRule): { unit?: string } => (unit === undefined ? {} : { unit });

const createNotAllowedError = (message: string, details: object): AppError =>
  new AppError("value_not_allowed", message, { ...details });
