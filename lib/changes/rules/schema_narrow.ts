/** Compares two schemas keyword by keyword: the second must not allow values that the first excludes. Pure. */
import { canonicalJson } from "../../kit/canonical_json.ts";
import { isIntegerMultiple } from "../../kit/decimal.ts";
import { listTypes, type ValueSchema } from "./value_schema.ts";

/** Returns the path of the first keyword that is missing or less strict than before; undefined if all are as strict. */
export function findWiderKeyword(before: ValueSchema, after: ValueSchema, path = "schema"): string | undefined {
  for (const keyword of Object.keys(before) as (keyof ValueSchema)[]) {
    if (before[keyword] === undefined) continue;
    if (after[keyword] === undefined) return `${path}.${keyword}`;
    const compare = COMPARE[keyword] as Compare<typeof keyword>;
    const wider = compare(before[keyword] as never, after[keyword] as never, `${path}.${keyword}`);
    if (wider !== undefined) return wider;
  }
  // A member with its own schema no longer falls under additionalProperties, so its schema must be as strict.
  return findFreedMember(before, after, path);
}

type Compare<K extends keyof ValueSchema> = (
  before: NonNullable<ValueSchema[K]>,
  after: NonNullable<ValueSchema[K]>,
  path: string,
) => string | undefined;

const unlessNarrow = (isNarrow: boolean, path: string): string | undefined => (isNarrow ? undefined : path);
const atLeast = (before: number, after: number, path: string) => unlessNarrow(after >= before, path);
const atMost = (before: number, after: number, path: string) => unlessNarrow(after <= before, path);
const includesEqual = (values: readonly unknown[], searched: unknown): boolean =>
  values.some((value) => canonicalJson(value) === canonicalJson(searched));

const COMPARE: { [K in keyof Required<ValueSchema>]: Compare<K> } = {
  type: (before, after, path) => {
    const allowed = listTypes({ type: before })!;
    const isNarrow = listTypes({ type: after })!.every(
      (type) => allowed.includes(type) || (type === "integer" && allowed.includes("number")),
    );
    return unlessNarrow(isNarrow, path);
  },
  enum: (before, after, path) =>
    unlessNarrow(
      after.every((value) => includesEqual(before, value)),
      path,
    ),
  const: (before, after, path) => unlessNarrow(canonicalJson(before) === canonicalJson(after), path),
  minimum: atLeast,
  exclusiveMinimum: atLeast,
  minLength: atLeast,
  minItems: atLeast,
  maximum: atMost,
  exclusiveMaximum: atMost,
  maxLength: atMost,
  maxItems: atMost,
  multipleOf: (before, after, path) => unlessNarrow(isIntegerMultiple(after, before), path),
  pattern: (before, after, path) => unlessNarrow(before === after, path),
  items: findWiderKeyword,
  uniqueItems: (before, after, path) => unlessNarrow(!before || after, path),
  properties: (before, after, path) => {
    for (const [name, schema] of Object.entries(before)) {
      if (!Object.hasOwn(after, name)) return `${path}.${name}`;
      const wider = findWiderKeyword(schema, after[name]!, `${path}.${name}`);
      if (wider !== undefined) return wider;
    }
    return undefined;
  },
  required: (before, after, path) =>
    unlessNarrow(
      before.every((name) => after.includes(name)),
      path,
    ),
  additionalProperties: (before, after, path) => {
    if (before === true || after === false) return undefined;
    if (before === false || after === true) return path;
    return findWiderKeyword(before, after, path);
  },
};

function findFreedMember(before: ValueSchema, after: ValueSchema, path: string): string | undefined {
  const { additionalProperties: others = true, properties = {} } = before;
  for (const [name, schema] of Object.entries(after.properties ?? {})) {
    if (others === true || Object.hasOwn(properties, name)) continue;
    const wider =
      others === false ? `${path}.properties.${name}` : findWiderKeyword(others, schema, `${path}.properties.${name}`);
    if (wider !== undefined) return wider;
  }
  return undefined;
}
