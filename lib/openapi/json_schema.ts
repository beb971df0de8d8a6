/** Converts zod schemas to JSON Schema: shared shapes become references, and redundant keywords are removed. */
import * as z from "zod";

/** JSON Schema 2020-12. */
export interface JsonSchema {
  [keyword: string]: unknown;
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  allOf?: JsonSchema[];
  enum?: unknown[];
}

/** A path, query or header parameter. */
export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  schema: JsonSchema;
  example?: unknown;
}

/** Bodies by media type. */
export type Content = Record<string, Media>;

/** A body. */
export interface Media {
  schema: JsonSchema;
  encoding?: Record<string, { contentType: string }>;
  example?: unknown;
}

/** Names of the schemas that the document defines once and refers to. */
export type SchemaNames = ReadonlyMap<unknown, string>;

/**
 * Returns the schema of a request (`input`) or an answer (`output`). A number or flag that a form sends as text appears with its
 * own type only.
 */
export function toJsonSchema(
  type: z.ZodType,
  io: "input" | "output",
  schemaNames: SchemaNames = new Map(),
): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(type, {
    io,
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema, path }) => {
      // zod omits the default of a transformed text.
      if (zodSchema instanceof z.ZodDefault && typeof zodSchema.def.defaultValue !== "object")
        jsonSchema.default = zodSchema.def.defaultValue as string | number | boolean;
      const name = path.length > 0 ? findName(zodSchema, schemaNames) : undefined;
      if (name === undefined) return;
      const { description } = jsonSchema;
      for (const keyword of Object.keys(jsonSchema)) delete jsonSchema[keyword];
      jsonSchema.$ref = `#/components/schemas/${name}`;
      // A local description adds to the shared one.
      if (description !== undefined && !schemaNames.has(zodSchema)) jsonSchema.description = description;
    },
  }) as JsonSchema;
  const name = findName(type, schemaNames);
  return name === undefined ? tidySchema(schema, io) : { $ref: `#/components/schemas/${name}` };
}

/** Returns the name of a schema, also of a copy that `describe` made. */
function findName(type: z.core.$ZodType, schemaNames: SchemaNames): string | undefined {
  // oxlint-disable-next-line no-underscore-dangle -- zod has it nowhere else
  for (let origin: z.core.$ZodType | undefined = type; origin; origin = origin._zod.parent)
    if (schemaNames.has(origin)) return schemaNames.get(origin);
  return undefined;
}

/** Removes keywords that tell a client nothing. */
function tidySchema(schema: JsonSchema, io: "input" | "output"): JsonSchema {
  const tidied: JsonSchema = {};
  for (const [keyword, value] of Object.entries(expandRecord(schema))) {
    if (keyword === "properties")
      tidied.properties = Object.fromEntries(
        Object.entries(value as Record<string, JsonSchema>).map(([name, property]) => [name, tidySchema(property, io)]),
      );
    else if (keyword === "anyOf" || keyword === "oneOf" || keyword === "allOf")
      tidied[keyword] = (value as JsonSchema[]).map((part) => tidySchema(part, io));
    else if (keyword === "items" || (keyword === "additionalProperties" && typeof value === "object"))
      tidied[keyword] = tidySchema(value as JsonSchema, io);
    else if (!isRedundant(keyword, value, schema, io)) tidied[keyword] = value;
  }
  return mergeNullType(io === "input" ? removeFormText(tidied) : tidied);
}

/** Shortens the two options of a plain value or null to `type: [type, "null"]`. */
function mergeNullType({ anyOf, ...rest }: JsonSchema): JsonSchema {
  if (!anyOf) return rest;
  const [value, none, ...more] = anyOf;
  const isPlain = ["string", "number", "integer", "boolean"].includes(String(value?.type));
  if (more.length > 0 || none?.type !== "null" || !isPlain || "enum" in value! || "const" in value!)
    return { ...rest, anyOf };
  return { ...value, ...rest, type: [value!.type as string, "null"] };
}

/** Turns a record with listed names into an object with these fields. */
function expandRecord(schema: JsonSchema): JsonSchema {
  const { propertyNames, additionalProperties, ...rest } = schema;
  const names = (propertyNames as JsonSchema | undefined)?.enum as string[] | undefined;
  if (!names || typeof additionalProperties !== "object") return schema;
  return { ...rest, properties: Object.fromEntries(names.map((name) => [name, additionalProperties as JsonSchema])) };
}

function isRedundant(keyword: string, value: unknown, schema: JsonSchema, io: "input" | "output"): boolean {
  // zod bounds every integer by the safe integers.
  if (keyword === "minimum" || keyword === "maximum") return Math.abs(value as number) === Number.MAX_SAFE_INTEGER;
  // The values of an enum show that they are text.
  if (keyword === "type") return io === "output" && value === "string" && schema.enum !== undefined;
  // zod adds a pattern to each format.
  if (keyword === "pattern") return schema["format"] !== undefined;
  // A field's name is text anyway.
  if (keyword === "propertyNames") return JSON.stringify(value) === '{"type":"string"}';
  // An answer may get further fields; a request with a strict schema may not.
  return keyword === "additionalProperties" && io === "output";
}

/** Removes the option of text that a form uses for a number or a flag. */
function removeFormText({ anyOf, ...rest }: JsonSchema): JsonSchema {
  if (!anyOf) return rest;
  const types = anyOf.map(({ type }) => type);
  const options = anyOf.filter(
    (option) =>
      !(option.type === "string" && types.includes("number") && option["pattern"] !== undefined) &&
      !(option.type === "string" && types.includes("boolean") && option.enum?.includes("true")),
  );
  if (options.length === 1) return { ...options[0], ...rest };
  return { anyOf: options, ...rest };
}
