/** The fields of a shape as rows of a table; nested fields have dotted names. */
import { escapeHtml } from "../kit/escape_html.ts";
import { code, shapeLink } from "./html.ts";
import type { JsonSchema } from "./json_schema.ts";

/** Returns name, type, requirement and description of each field as HTML; `prefix` precedes the names. */
export function fieldRows({ properties = {}, required = [] }: JsonSchema, prefix = ""): string[][] {
  return Object.entries(properties).flatMap(([name, schema]) => [
    [
      code(prefix + name),
      describeType(schema),
      required.includes(name) ? "required" : "",
      escapeHtml(String(schema["description"] ?? "")),
    ],
    ...listInnerShapes(schema).flatMap(([suffix, shape]) => fieldRows(shape, `${prefix}${name}${suffix}.`)),
  ]);
}

/** Lists the unnamed shapes within a field, each with the suffix of its fields' names, such as `[]` for a list. */
function listInnerShapes(schema: JsonSchema): [suffix: string, shape: JsonSchema][] {
  if (schema.properties) return [["", schema]];
  const options = [...(schema.anyOf ?? []), ...((schema["oneOf"] as JsonSchema[] | undefined) ?? [])];
  if (options.length > 0) return options.flatMap(listInnerShapes);
  const addSuffix = (part: unknown, suffix: string): [string, JsonSchema][] =>
    typeof part === "object" && part !== null
      ? listInnerShapes(part as JsonSchema).map(([rest, shape]) => [suffix + rest, shape])
      : [];
  return [...addSuffix(schema.items, "[]"), ...addSuffix(schema["additionalProperties"], ".*")];
}

/** Describes the allowed values in a few words of HTML. */
export function describeType(schema: JsonSchema): string {
  if (schema.$ref) return shapeLink(schema.$ref.split("/").at(-1)!);
  if (schema.enum) return schema.enum.map((value) => code(String(value))).join(" ");
  if ("const" in schema) return code(String(schema["const"]));
  const options = schema.anyOf ?? (schema["oneOf"] as JsonSchema[] | undefined);
  if (options) return options.map(describeType).join(" or ");
  if (schema.type === "array") return `list of ${describeType(schema.items ?? {})}`;
  const typeName = [schema["format"] ?? schema.type ?? "any JSON"].flat().join(" or ");
  return escapeHtml([typeName, ...describeBounds(schema)].join(", "));
}

const BOUNDS: Readonly<Record<string, string>> = {
  minimum: "from",
  maximum: "to",
  exclusiveMinimum: "above",
  maxLength: "at most",
  default: "default",
};

const describeBounds = (schema: JsonSchema): string[] =>
  Object.entries(BOUNDS)
    .filter(([keyword]) => schema[keyword] !== undefined && schema[keyword] !== "")
    .map(
      ([keyword, word]) => `${word} ${JSON.stringify(schema[keyword])}${keyword === "maxLength" ? " characters" : ""}`,
    );
