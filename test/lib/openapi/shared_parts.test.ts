/** The served OpenAPI document shares repeated parts: expanded, it is equal to the complete document. */
import { expect, test } from "vitest";
import type { JsonSchema } from "../../../lib/openapi/json_schema.ts";
import type { ApiResponse } from "../../../lib/openapi/responses.ts";
import { removeFieldExamples } from "../../../lib/openapi/shared_parts.ts";
import { makeIntent } from "../../support/intents.ts";
import { makeTestDocument, buildServedDocument } from "./test_documents.ts";

const circumstances = { product: { ...makeIntent(), identity: {} as never } };
const COMPLETE = removeFieldExamples(makeTestDocument(circumstances));
const SERVED = buildServedDocument(circumstances);

/** Expands the references of a part of the served document, for a comparison with the complete document. */
function expand(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(expand);
  if (typeof part !== "object" || part === null) return part;
  const { $ref } = part as { $ref?: string };
  const [, kind, name] = /^#\/components\/(\w+)\/(.+)$/.exec($ref ?? "") ?? [];
  const components = kind === "schemas" ? COMPLETE.components.schemas : COMPLETE.components.headers;
  const isErrorResponse = kind === "responses" && name!.startsWith("Error");
  if (isErrorResponse) return expandErrorResponse(name!, (part as ApiResponse).description);
  // References to parts that the complete document shares too stay as they are.
  if (kind && name && !(name in components)) return expand(servedPart(kind, name));
  if ("unevaluatedProperties" in part) return mergeBase(part as unknown as Extended);
  if ("allOf" in part && "required" in part) return mergeExtension(part as unknown as Extended);
  const members = Object.entries(part).map(([key, value]) => [key, expand(value)]);
  return { ...Object.fromEntries(members), ...omittedMembers(part) };
}

/**
 * Returns an error response with the codes of the shared response, and with those that the reference adds. The description of a
 * shared response lists its codes, and that of a reference the others: `Also not_found, frozen`.
 */
function expandErrorResponse(name: string, description: string | undefined): object {
  const shared = servedPart("responses", name) as { description?: string };
  const listCodes = (codes: string) => ({ enum: codes.split(", ") });
  const sharedCodes = shared.description ? listCodes(shared.description) : "";
  const addedCodes = description && listCodes(description.replace(/^Also /, ""));
  const properties = { code: addedCodes ? { anyOf: [sharedCodes, addedCodes] } : sharedCodes };
  const schema = { allOf: [{ $ref: "#/components/schemas/Error" }], properties };
  return { description: "Error", content: { "application/json": { schema } } };
}

const servedPart = (kind: string, name: string): object =>
  (SERVED.components as unknown as Record<string, Record<string, object>>)[kind]![name]!;

/** Merges a schema that allows no other fields with the schema that it is based on. */
function mergeBase({ allOf: [{ $ref }], properties, unevaluatedProperties: _, ...rest }: Extended): unknown {
  const { description: __, ...base } = servedPart("schemas", $ref.split("/").at(-1)!) as JsonSchema;
  return expand({ ...base, ...rest, properties: { ...base.properties, ...properties }, additionalProperties: false });
}

/** Returns the members that the served document omits: the security of most operations, and the default of `required`. */
function omittedMembers(part: object): object {
  if ("operationId" in part && !("security" in part)) return { security: SERVED.security };
  return "in" in part && part.in !== "header" && !("required" in part) ? { required: false } : {};
}

type Extended = Pick<JsonSchema, "properties" | "required" | "unevaluatedProperties"> & { allOf: [{ $ref: string }] };

/** Merges a schema with the schema that it extends. */
function mergeExtension({ allOf: [{ $ref }], properties, required, ...rest }: Extended): unknown {
  const base = COMPLETE.components.schemas[$ref.split("/").at(-1)!]!;
  const fields = { ...base.properties, ...properties };
  return expand({ ...rest, properties: fields, required: [...base.required!, ...required!] });
}

test("the served document, expanded, is equal to the complete one", () => {
  expect(expand(SERVED.paths)).toEqual(JSON.parse(JSON.stringify(COMPLETE.paths)));
  for (const [name, schema] of Object.entries(COMPLETE.components.schemas))
    expect(expand(SERVED.components.schemas[name])).toEqual(schema);
});

test("shared responses and parameters are all different, and each is referenced", () => {
  const { responses, parameters } = SERVED.components;
  for (const [kind, parts] of Object.entries({ responses, parameters })) {
    const texts = Object.values(parts).map((part) => JSON.stringify(part));
    expect(new Set(texts).size).toBe(texts.length);
    for (const name of Object.keys(parts))
      expect(JSON.stringify(SERVED.paths)).toContain(`#/components/${kind}/${name}"`);
  }
});

test("a schema that extends another one references it", () => {
  const allOf = [{ $ref: "#/components/schemas/Change" }];
  expect(SERVED.components.schemas["Proposal"]).toMatchObject({
    allOf,
    required: ["conflicts", "missing", "audit_entry"],
  });
  const { content } = SERVED.paths["/api/product/changes/{change_id}"]!["get"]!.responses["200"] as ApiResponse;
  expect(content!["application/json"]!.schema).toMatchObject({ allOf, properties: { gates: { type: "array" } } });
});

test("a body that may be a form or JSON is one schema with the operation's name", () => {
  const { content } = SERVED.paths["/api/product/approve"]!["post"]!.requestBody!;
  const schema = { $ref: "#/components/schemas/ApproveChange" };
  expect(content).toMatchObject({ "application/x-www-form-urlencoded": { schema }, "application/json": { schema } });
});

test("every reference names a shared part, and none points into one", () => {
  for (const [, ref] of JSON.stringify(SERVED).matchAll(/"\$ref":"([^"]*)"/g)) {
    const [, kind, name] = /^#\/components\/(\w+)\/([\w-]+)$/.exec(ref!) ?? [];
    expect((SERVED.components as Record<string, object>)[kind!], ref).toHaveProperty([name!]);
  }
});

test("a field that has the same description as in a change is a separate schema", () => {
  const { properties } = SERVED.components.schemas["InboxItem"] as JsonSchema;
  expect(properties!["target"]).toEqual({ $ref: "#/components/schemas/ChangeTarget" });
  expect((SERVED.components.schemas["Change"] as JsonSchema).properties!["target"]).toEqual(properties!["target"]);
  expect(SERVED.components.schemas["ChangeTarget"]).toEqual(
    COMPLETE.components.schemas["Change"]!.properties!["target"],
  );
  expect(properties!["title"]).toHaveProperty("description");
});
