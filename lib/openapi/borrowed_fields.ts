/**
 * Fields that a change has already, in the same words, as references to schemas of their own: a reference into the
 * `properties` of another schema is valid, and several generators cannot read it.
 */
import type { JsonSchema } from "./json_schema.ts";

type Schemas = Readonly<Record<string, unknown>>;

/** The fewest characters that a reference must save to replace a schema. */
const MIN_SAVED_CHARACTERS = 30;

/** Fields with schemas of their own. */
export interface SharedFields {
  /** Replaces the fields of any part of a document but the shape that has them. */
  borrow<T>(part: T): T;
  /** Returns the schemas of the fields that were replaced so far. */
  schemas(): Record<string, JsonSchema>;
  /** Returns the shape with references to them. */
  shape(): JsonSchema;
}

/** Shares the fields of a named shape with the rest of a document. */
export function shareFields(name: string, shape: JsonSchema): SharedFields {
  const { properties = {} } = shape;
  const known = new Map(Object.entries(properties).map(([field, schema]) => [fieldKey(field, schema), field]));
  const borrowed = new Set<string>();
  const schemaName = (field: string): string =>
    name + field.replace(`${name.toLowerCase()}_`, "").split("_").map(capitalize).join("");
  const referenceTo = (field: string): JsonSchema => ({ $ref: `#/components/schemas/${schemaName(field)}` });
  const borrowWithin = <T>(part: T): T => {
    if (Array.isArray(part)) return part.map(borrowWithin) as T;
    if (typeof part !== "object" || part === null) return part;
    const entries = Object.entries(part).map(([keyword, value]) => [
      keyword,
      keyword === "properties" ? fieldsOf(value as Schemas) : borrowWithin(value as unknown),
    ]);
    return Object.fromEntries(entries) as T;
  };
  const fieldsOf = (fields: Schemas): Schemas =>
    Object.fromEntries(
      Object.entries(fields).map(([field, schema]) => {
        const own = known.get(fieldKey(field, schema));
        const isWorth =
          own !== undefined && JSON.stringify(schema).length > referenceTo(own).$ref!.length + MIN_SAVED_CHARACTERS;
        if (!isWorth) return [field, borrowWithin(schema)];
        borrowed.add(own);
        return [field, referenceTo(own)];
      }),
    );
  return {
    borrow: borrowWithin,
    schemas: () => Object.fromEntries([...borrowed].map((field) => [schemaName(field), properties[field]!])),
    shape: () => ({
      ...shape,
      properties: Object.fromEntries(
        Object.entries(properties).map(([field, schema]) => [field, borrowed.has(field) ? referenceTo(field) : schema]),
      ),
    }),
  };
}

const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

const fieldKey = (field: string, schema: unknown): string => `${field} ${JSON.stringify(schema)}`;
