/** Valid and invalid requests, generated from the schemas of an operation. */
import type { JsonSchema } from "../../../lib/openapi/json_schema.ts";
import type { Operation } from "../../../lib/openapi/operation.ts";
import { ORIGIN } from "../../support/requests.ts";
import type { Target } from "./checker.ts";

/** Values by field. */
export type Values = Record<string, unknown>;

/** One field of an operation. */
export interface Field {
  place: "path" | "query" | "body";
  name: string;
  schema: JsonSchema;
  required: boolean;
}

/** The values of a request by the place of their fields. */
export interface Sent {
  path: Values;
  query: Values;
  body: Values;
  /** The encoding of the body. */
  as: "form" | "json";
}

/** Lists the fields of an operation. */
export function listFields({ parameters = [], requestBody }: Operation): Field[] {
  const body = requestBody?.content["application/json"]?.schema;
  return [
    ...parameters.flatMap(({ in: place, name, schema, required = false }) =>
      place === "header" ? [] : [{ place, name, schema, required }],
    ),
    ...Object.entries(body?.properties ?? {}).map(([name, schema]) => ({
      place: "body" as const,
      name,
      schema,
      required: body!.required?.includes(name) ?? false,
    })),
  ];
}

/** Makes a request with a valid value for each field; `values` overrides the values of some fields. */
export function makeSent(fields: readonly Field[], values: Values, as: Sent["as"] = "json"): Sent {
  const sent: Sent = { path: {}, query: {}, body: {}, as };
  for (const { place, name, schema } of fields) sent[place][name] = name in values ? values[name] : sample(schema);
  return sent;
}

function sample(schema: JsonSchema): unknown {
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return sample(schema.anyOf[0]!);
  if (schema.type === "boolean") return true;
  if (schema.type === "number" || schema.type === "integer") return schema["minimum"] ?? 1;
  if (schema.type === "string") return "plain";
  return { any: ["JSON"] };
}

/** Returns values that a schema does not allow. */
export function invalidValues(schema: JsonSchema): unknown[] {
  const invalid: unknown[] = [];
  if (schema.enum) invalid.push("no-such-word");
  if (schema.type === "number" || schema.type === "integer") invalid.push("", "ten", "NaN", "0x10", "1e999");
  if (schema.type === "integer") invalid.push(1.5);
  if (typeof schema["minimum"] === "number") invalid.push(schema["minimum"] - 1);
  if (typeof schema["maximum"] === "number") invalid.push(schema["maximum"] + 1);
  if (schema.type === "boolean") invalid.push("yes", "");
  if (typeof schema["maxLength"] === "number") invalid.push("a".repeat(schema["maxLength"] + 1));
  if (schema["pattern"] !== undefined) invalid.push(" \u0007?");
  return invalid;
}

/** Makes the HTTP request. */
export function makeRequest(
  { template, method }: Target,
  { path, query, body, as }: Sent,
  headers: HeadersInit,
): Request {
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name])));
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const url = `${ORIGIN}${filled}${search.size > 0 ? `?${search}` : ""}`;
  if (method === "get") return new Request(url, { headers });
  const text = (value: unknown) => (typeof value === "object" ? JSON.stringify(value) : String(value));
  const form = new URLSearchParams(Object.entries(body).map(([name, value]) => [name, text(value)]));
  const type = as === "json" ? "application/json" : "application/x-www-form-urlencoded";
  return new Request(url, {
    method: "POST",
    body: as === "json" ? JSON.stringify(body) : form.toString(),
    headers: { "content-type": type, ...(headers as object) },
  });
}
