/**
 * Replaces fields that are equal to those of a named shape by references. Each such field gets a schema of its own, since
 * several generators cannot read a reference into the `properties` of another schema.
 */
import type { JsonSchema } from "./json_schema.ts";

type Schemas = Readonly<Record<string, unknown>>;

/** Least characters that a reference must save. */
const MIN_SAVED_CHARACTERS = 30;

/** Fields with schemas of their own. */
export interface SharedFields {
  /** Replaces fields in a part of the document. */
  replaceFields<T>(part: T): T;
  /** Returns the schemas of the fields replaced so far. */
  schemas(): Record<string, JsonSchema>;
  /** Returns the shape with references to these schemas. */
  shape(): JsonSchema;
}

/** Shares the fields of a named shape with the rest of a document. */
export function shareFields(name: string, shape: JsonSchema): SharedFields {
  const { properties = {} } = shape;
  const fieldByKey = new Map(Object.entries(properties).map(([field, schema]) => [fieldKey(field, schema), field]));
  const replaced = new Set<string>();
  /** `tenant_id` of `Change` → `ChangeTenantId`, `change_id` → `ChangeId`. */
  const schemaName = (field: string): string =>
    name + field.replace(`${name.toLowerCase()}_`, "").split("_").map(capitalize).join("");
  const referenceTo = (field: string): JsonSchema => ({ $ref: `#/components/schemas/${schemaName(field)}` });
  const replaceWithin = <T>(part: T): T => {
    if (Array.isArray(part)) return part.map(replaceWithin) as T;
    if (typeof part !== "object" || part === null) return part;
    const entries = Object.entries(part).map(([keyword, value]) => [
      keyword,
      keyword === "properties" ? replaceEqual(value as Schemas) : replaceWithin(value as unknown),
    ]);
    return Object.fromEntries(entries) as T;
  };
  const replaceEqual = (fields: Schemas): Schemas =>
    Object.fromEntries(
      Object.entries(fields).map(([field, schema]) => {
        const sharedField = fieldByKey.get(fieldKey(field, schema));
        const isShorter =
          sharedField !== undefined &&
          JSON.stringify(schema).length > referenceTo(sharedField).$ref!.length + MIN_SAVED_CHARACTERS;
        if (!isShorter) return [field, replaceWithin(schema)];
        replaced.add(sharedField);
        return [field, referenceTo(sharedField)];
      }),
    );
  return {
    replaceFields: replaceWithin,
    schemas: () => Object.fromEntries([...replaced].map((field) => [schemaName(field), properties[field]!])),
    shape: () => ({
      ...shape,
      properties: Object.fromEntries(
        Object.entries(properties).map(([field, schema]) => [field, replaced.has(field) ? referenceTo(field) : schema]),
      ),
    }),
  };
}

const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

const fieldKey = (field: string, schema: unknown): string => `${field} ${JSON.stringify(schema)}`;
