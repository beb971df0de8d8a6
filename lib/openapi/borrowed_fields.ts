/** Fields that a change has already, in the same words, as references to them: what is listed of changes is told of once. */
import type { JsonSchema } from "./json_schema.ts";

type Schemas = Readonly<Record<string, unknown>>;

/** A reference that is longer than what it stands for is none. */
const WORTH = 30;

/** What does that to any part of a document but the shape itself. */
export function borrowingOf(name: string, { properties = {} }: JsonSchema): <T>(part: T) => T {
  const known = new Map(
    Object.entries(properties).map(([field, schema]) => [
      keyOf(field, schema),
      `#/components/schemas/${name}/properties/${field}`,
    ]),
  );
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
        const $ref = known.get(keyOf(field, schema));
        const isWorth = $ref !== undefined && JSON.stringify(schema).length > $ref.length + WORTH;
        return [field, isWorth ? { $ref } : within(schema)];
      }),
    );
  return within;
}

const keyOf = (field: string, schema: unknown): string => `${field} ${JSON.stringify(schema)}`;
