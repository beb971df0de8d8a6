/** Builds a sample answer from the examples of its fields. */
import type { JsonSchema } from "./json_schema.ts";

const MOMENT = "2026-11-22T18:00:00.000Z";

/** Lists at a greater depth are empty in an example. */
const MAX_LIST_DEPTH = 0;

/**
 * Returns a value that a schema allows. A field without an example is null or absent if it may be. `shared`: the shapes that
 * references name; `depth`: the number of enclosing objects and lists.
 */
export function makeSample(schema: JsonSchema, shared: Readonly<Record<string, JsonSchema>>, depth = 0): unknown {
  if (schema.$ref !== undefined) return makeSample(shared[schema.$ref.split("/").at(-1)!]!, shared, depth);
  const { examples, anyOf, oneOf, type } = schema as JsonSchema & { examples?: unknown[]; oneOf?: JsonSchema[] };
  if (examples) return examples[0];
  if ("const" in schema) return schema["const"];
  if ("default" in schema) return schema["default"];
  if (schema.enum) return schema.enum[0];
  const options = anyOf ?? oneOf;
  if (options) return options.some((option) => option.type === "null") ? null : makeSample(options[0]!, shared, depth);
  if (Array.isArray(type) ? type.includes("null") : type === "null") return null;
  if (type === "array") return depth > MAX_LIST_DEPTH ? [] : [makeSample(schema.items ?? {}, shared, depth + 1)];
  if (type === "string") return schema["format"] === "date-time" ? MOMENT : "text";
  if (type === "integer" || type === "number") return schema["minimum"] ?? 1;
  if (type === "boolean") return true;
  const { properties = {}, required = [] } = schema;
  return Object.fromEntries(required.map((name) => [name, makeSample(properties[name]!, shared, depth + 1)]));
}
