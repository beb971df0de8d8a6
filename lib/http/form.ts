/** Parses forms and JSON into fields, and validates them against a schema. */
import type * as z from "zod";
import { type FieldError, invalidField, invalidFields } from "../kit/errors.ts";
import { findInexactNumber } from "../kit/exact_numbers.ts";
import { findNearest } from "../kit/nearest.ts";
import { JsonRejected, parseStrictJson } from "../kit/strict_json.ts";

/** Decodes a form strictly: a repeated key, malformed percent-encoding or malformed UTF-8 is an error. */
export function parseForm(body: string): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  for (const pair of body.replaceAll("+", " ").split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const key = decode(equals === -1 ? pair : pair.slice(0, equals));
    if (key in fields) throw invalidField(key, "is given more than once");
    fields[key] = equals === -1 ? "" : decode(pair.slice(equals + 1));
  }
  return fields;
}

function decode(text: string): string {
  try {
    return text.includes("%") ? decodeURIComponent(text) : text;
  } catch {
    throw invalidField("body", "is not a well-formed form: percent-encoded UTF-8 is expected");
  }
}

/** Parses a body that is a JSON object. */
export function parseJsonObject(body: string): Record<string, unknown> {
  const value = parseJson(body, "body");
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidField("body", "must be a JSON object");
  return value as Record<string, unknown>;
}

/** Parses the JSON text of a field strictly; `hint` is added to the error for text that is not JSON. */
export function parseJson(text: string, field: string, hint = ""): unknown {
  let parsed: unknown;
  try {
    parsed = parseStrictJson(text);
  } catch (error) {
    // Only text that is not JSON has a `cause`, the parser's error.
    if (error instanceof JsonRejected) throw invalidField(field, error.message + (error.cause ? hint : ""));
    throw error;
  }
  const fieldAt = (path: string): string => (path === "" ? field : `${field}.${path}`);
  rejectInexactValue(text, field === "body" ? (path) => path : fieldAt);
  return parsed;
}

/** The path of a change's value in a proposal, or in a request for the text to sign. */
const VALUE_PATH = /^(?:proposal\.)?(?:sets\.\d+\.)?value(?=\.|$)/;

/** Rejects a JSON text in which the value of a change has a number that would be rounded. `fieldAt` converts paths to fields. */
export function rejectInexactValue(text: string, fieldAt: (path: string) => string): void {
  const inexactPath = findInexactNumber(text, (path) => VALUE_PATH.test(fieldAt(path)));
  if (inexactPath === undefined) return;
  const [field] = VALUE_PATH.exec(fieldAt(inexactPath))!;
  throw invalidField(field, "has a number with more digits than can be stored exactly; send it as a string");
}

/** Validates raw fields against a schema; 400 `invalid_field` names every field that does not match. */
export function parseInput<S extends z.ZodType>(schema: S, raw: unknown): z.output<S> {
  const parsed = schema.safeParse(removeNulls(schema, raw));
  const unknown = findUnknownFields(schema, raw);
  if (parsed.success && unknown.length === 0) return parsed.data;
  const issues = parsed.error?.issues ?? [];
  throw invalidFields([
    ...unknown,
    ...issues.flatMap((issue) => {
      if (issue.code !== "unrecognized_keys")
        return [{ field: issue.path.join(".") || "body", message: issue.message }];
      // Unknown fields at the top are among `unknown`, with a hint.
      const isNested = issue.path.length > 0;
      return isNested ? issue.keys.map((key) => ({ field: key, message: NOT_A_FIELD })) : [];
    }),
  ]);
}

/** Removes null from optional fields that do not allow it, since some clients send null for absent fields. */
function removeNulls(schema: z.ZodType, raw: unknown): unknown {
  const { def, shape } = schema as unknown as SchemaParts;
  // An optional field, or one with a default, wraps the schema of its value.
  if (def.innerType) return removeNulls(def.innerType, raw);
  if (shape === undefined || typeof raw !== "object" || raw === null) return raw;
  const treatsNullAsAbsent = (field: z.ZodType): boolean =>
    !field.safeParse(null).success && field.safeParse(undefined).success;
  let cleaned: Record<string, unknown> | undefined;
  for (const [key, value] of Object.entries(raw)) {
    const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (!field) continue;
    if (value === null) {
      if (!treatsNullAsAbsent(field)) continue;
      cleaned ??= { ...raw };
      delete cleaned[key];
      continue;
    }
    const inner = removeNulls(field, value);
    if (inner !== value) (cleaned ??= { ...raw })[key] = inner;
  }
  return cleaned ?? raw;
}

const NOT_A_FIELD = "is not a field of this request";

/** Lists fields that the schema does not have, with the name that was probably meant. */
function findUnknownFields(schema: z.ZodType, raw: unknown): FieldError[] {
  const knownFields = listKnownFields(schema);
  if (!knownFields || typeof raw !== "object" || raw === null) return [];
  const describeNearest = (key: string): string =>
    knownFields.length > 0 ? `: did you mean ${findNearest(key, knownFields)}?` : ", which has none";
  return Object.keys(raw).flatMap((key) =>
    knownFields.includes(key) ? [] : [{ field: key, message: NOT_A_FIELD + describeNearest(key) }],
  );
}

interface SchemaParts {
  def: { type: string; catchall?: { def: { type: string } }; in?: z.ZodType; innerType?: z.ZodType };
  shape?: Readonly<Record<string, z.ZodType>>;
}

/** Returns the names of the fields that a request may carry; undefined if it may carry any. */
export function listKnownFields(schema: z.ZodType): string[] | undefined {
  const { def, shape } = schema as unknown as SchemaParts;
  if (def.type === "pipe") return listKnownFields(def.in!);
  const isLoose = def.catchall !== undefined && def.catchall.def.type !== "never";
  return shape === undefined || isLoose ? undefined : Object.keys(shape);
}
