/** Rules for the values of a target in short sentences. */
import type { ValuePolicy } from "../../../lib/changes/value_policy.ts";
import type { TargetRule } from "../../../lib/changes/rules/target_rules.ts";
import { formatNumber } from "../core/format.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Words of the keywords that bound a value; any other keyword is left out. */
const WORDS: Readonly<Record<string, string>> = {
  minimum: "at least",
  maximum: "at most",
  exclusiveMinimum: "above",
  exclusiveMaximum: "below",
  multipleOf: "a multiple of",
  minLength: "length at least",
  maxLength: "length at most",
  minItems: "items at least",
  maxItems: "items at most",
  const: "exactly",
};

/** "integer, at least 1, at most 50"; each member in its own sentence. The path `Value` is the complete value. */
export function* describeSchema(schema: Schema, path: string): Generator<string> {
  const { type, enum: values, properties, pattern, required, items, ...bounds } = schema;
  const words = [
    ...(type === undefined ? [] : [[type].flat().join(" or ")]),
    ...(Array.isArray(values) ? [`one of ${values.map((allowed) => JSON.stringify(allowed)).join(", ")}`] : []),
    ...(pattern === undefined ? [] : [`matching ${String(pattern)}`]),
    ...(Array.isArray(required) ? [`with ${required.join(", ")}`] : []),
    ...Object.entries(bounds).flatMap(([name, bound]) =>
      WORDS[name] ? [`${WORDS[name]} ${typeof bound === "number" ? formatNumber(bound) : JSON.stringify(bound)}`] : [],
    ),
  ];
  if (words.length > 0) yield `${path}: ${words.join(", ")}.`;
  for (const [name, member] of Object.entries((properties ?? {}) as Record<string, Schema>))
    yield* describeSchema(member, path === "Value" ? name : `${path}.${name}`);
  if (items) yield* describeSchema(items as Schema, `Each item of ${path === "Value" ? "it" : path}`);
}

/** Lists what a value must be, from the answer of the service. */
export function listValueRules({ rules, limits }: ValuePolicy): string[] {
  const stated = rules as unknown as TargetRule[];
  return [
    ...stated.flatMap(({ schema }) => (schema ? [...describeSchema(schema as Schema, "Value")] : [])),
    ...stated.flatMap(({ unit }) => (unit === undefined ? [] : [`Unit: ${unit}.`])),
    ...limits.flatMap(({ path, minimum, maximum, problem }) => {
      const name = path.replace(/^value\.?/, "") || "Value";
      if (problem !== null) return [`${name}: ${problem}.`];
      return minimum === null || maximum === null
        ? []
        : [`${name} now: ${formatNumber(minimum)} to ${formatNumber(maximum)}.`];
    }),
    ...(stated.some(({ kpi_required }) => kpi_required) ? ["Name the KPI that it is to move."] : []),
  ];
}
