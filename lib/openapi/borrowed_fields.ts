/**
 * Fields that a change has already, in the same words, as references to schemas of their own: a reference into the
 * `properties` of another schema is valid, and several generators cannot read it.
 */
import type { JsonSchema } from "./json_schema.ts";

type Schemas = Readonly<Record<string, unknown>>;

/** The fewest characters that a reference must save to replace a schema. */
const WORTH = 30;

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
export function sharedFields(name: string, shape: JsonSchema): SharedFields {
  const { properties = {} } = shape;
  const known = new Map(Object.entries(properties).map(([field, schema]) => [keyOf(field, schema), field]));
  const borrowed = new Set<string>();
  const schemaName = (field: string): string =>
    name + field.replace(`${name.toLowerCase()}_`, "").split("_").map(capital).join("");
  const referenceTo = (field: string): JsonSchema => ({ $ref: `#/components/schemas/${schemaName(field)}` });
  const within = <T>(part: T): T => {
    if (Array.isArray(part)) return part.map(within) as T;
    if (typeof part !== "object" || part === null) return part;
    const entries = Object.entries(part).map(([keyword, value]) => [
      keyword,
      keyword === "properties" ? fieldsOf(value as Schemas) : within(value as unknown),
    ]);
    return Object.fromEntries(entries) as T;
  };
  const fieldsOf = (fields: Schemas): Schemas =>
    Object.fromEntries(
      Object.entries(fields).map(([field, schema]) => {
        const own = known.get(keyOf(field, schema));
        const isWorth = own !== undefined && JSON.stringify(schema).length > referenceTo(own).$ref!.length + WORTH;
        if (!isWorth) return [field, within(schema)];
        borrowed.add(own);
        return [field, referenceTo(own)];
      }),
    );
  return {
    borrow: within,
    schemas: () => Object.fromEntries([...borrowed].map((field) => [schemaName(field), properties[field]!])),
    shape: () => ({
      ...shape,
      properties: Object.fromEntries(
        Object.entries(properties).map(([field, schema]) => [field, borrowed.has(field) ? referenceTo(field) : schema]),
      ),
    }),
  };
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

const keyOf = (field: string, schema: unknown): string => `${field} ${JSON.stringify(schema)}`;
