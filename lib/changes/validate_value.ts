/** Validates values against the schemas of an intent. The rules get this function as a parameter and do not import the package. */
import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import type { SchemaMismatch, ValidateValue } from "./rules/value_limits.ts";
import type { ValueSchema } from "./rules/value_schema.ts";

/** Validators by schema. Each gets a copy of its schema, since the validator modifies it. */
const validators = new WeakMap<ValueSchema, Validator>();

/** Keywords about members of the value: the mismatch of the member itself is reported instead. */
const MEMBER_KEYWORDS: ReadonlySet<string> = new Set(["properties", "items", "additionalProperties"]);

/** Keywords that bound the same property, so that a mismatch lists all of them. */
const RELATED_KEYWORDS: readonly (readonly (keyof ValueSchema)[])[] = [
  ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ["minLength", "maxLength"],
  ["minItems", "maxItems"],
];

export const validateValue: ValidateValue = (schema, value) => {
  const validator = validators.get(schema) ?? new Validator(structuredClone(schema) as Schema, "2020-12");
  validators.set(schema, validator);
  const { valid, errors } = validator.validate(value);
  return valid ? undefined : describe(schema, errors);
};

function describe(schema: ValueSchema, errors: readonly OutputUnit[]): SchemaMismatch {
  const error = errors.find(({ keyword }) => !MEMBER_KEYWORDS.has(keyword))!;
  const path = splitPointer(error.instanceLocation);
  // A member that additionalProperties excludes fails the schema `false`; the package reports that as the keyword.
  if (error.keyword === "false")
    return { path, keyword: "additionalProperties", range: { additionalProperties: false } };
  const keyword = error.keyword as keyof ValueSchema;
  // The location leads to the keyword; without its last part, to the schema that has the keyword.
  const schemaPart = splitPointer(error.keywordLocation)
    .slice(0, -1)
    .reduce(getMember, schema as unknown) as ValueSchema;
  const names = RELATED_KEYWORDS.find((related) => related.includes(keyword)) ?? [keyword];
  const stated = names.flatMap((name) => (schemaPart[name] === undefined ? [] : [[name, schemaPart[name]]]));
  return { path, keyword, range: Object.fromEntries(stated) as object };
}

const getMember = (parent: unknown, name: string): unknown => (parent as Record<string, unknown>)[name];

/** Splits a JSON pointer in a URI fragment. The package encodes `#` too, which `decodeURI` does not decode. */
const splitPointer = (pointer: string): string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => decodeURI(part.replaceAll("%23", "#")).replaceAll("~1", "/").replaceAll("~0", "~"));
