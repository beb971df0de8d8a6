import { expect, test } from "vitest";
import type { JsonSchema } from "../../../lib/openapi/json_schema.ts";
import type { ApiResponse } from "../../../lib/openapi/responses.ts";
import { removeFieldExamples } from "../../../lib/openapi/shared_parts.ts";
import { makeIntent } from "../../support/intents.ts";
import { makeTestDocument, buildServedDocument } from "./document_under.ts";

const circumstances = { product: { ...makeIntent(), identity: {} as never } };
const [WHOLE, SERVED] = [removeFieldExamples(makeTestDocument(circumstances)), buildServedDocument(circumstances)];

/** Returns the target of a reference, as the complete document has it in place. */
function inPlace(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(inPlace);
  if (typeof part !== "object" || part === null) return part;
  const { $ref } = part as { $ref?: string };
  const [, kind, name] = /^#\/components\/(\w+)\/(.+)$/.exec($ref ?? "") ?? [];
  const own = kind === "schemas" ? WHOLE.components.schemas : WHOLE.components.headers;
  if (kind === "responses" && name!.startsWith("Error")) return errorInPlace(name!, (part as ApiResponse).description);
  if (kind && name && !(name in own)) return inPlace(servedPart(kind, name));
  if ("unevaluatedProperties" in part) return withFieldsOfBase(part as unknown as Extended);
  if ("allOf" in part && "required" in part) return extended(part as unknown as Extended);
  const whole = Object.entries(part).map(([key, value]) => [key, inPlace(value)]);
  return { ...Object.fromEntries(whole), ...saidOnce(part) };
}

/** The response to errors, of whose codes the shared one lists those of a kind, and the reference those of the operation. */
function errorInPlace(name: string, description: string | undefined): object {
  const { description: ofKind = "" } = servedPart("responses", name) as { description?: string };
  const [kind, own] = [ofKind, description?.replace(/^Also /, "")].map((codes) => codes && { enum: codes.split(", ") });
  const properties = { code: own ? { anyOf: [kind, own] } : kind };
  const schema = { allOf: [{ $ref: "#/components/schemas/Error" }], properties };
  return { description: "Error", content: { "application/json": { schema } } };
}

const servedPart = (kind: string, name: string): object =>
  (SERVED.components as unknown as Record<string, Record<string, object>>)[kind]![name]!;

/** A body, or an object in one, whose fields are a schema of their own. */
function withFieldsOfBase({ allOf: [{ $ref }], properties, unevaluatedProperties: _, ...rest }: Extended): unknown {
  const { description: __, ...base } = servedPart("schemas", $ref.split("/").at(-1)!) as JsonSchema;
  return inPlace({ ...base, ...rest, properties: { ...base.properties, ...properties }, additionalProperties: false });
}

/** Returns a part without members that are said elsewhere, or go without saying. */
function saidOnce(part: object): object {
  if ("operationId" in part && !("security" in part)) return { security: SERVED.security };
  return "in" in part && part.in !== "header" && !("required" in part) ? { required: false } : {};
}

type Extended = Pick<JsonSchema, "properties" | "required" | "unevaluatedProperties"> & { allOf: [{ $ref: string }] };

/** A shape that is another one and more, as one. */
function extended({ allOf: [{ $ref }], properties, required, ...rest }: Extended): unknown {
  const base = WHOLE.components.schemas[$ref.split("/").at(-1)!]!;
  const fields = { ...base.properties, ...properties };
  return inPlace({ ...rest, properties: fields, required: [...base.required!, ...required!] });
}

test("the document with shared schemas is equivalent to the expanded one", () => {
  expect(inPlace(SERVED.paths)).toEqual(JSON.parse(JSON.stringify(WHOLE.paths)));
  for (const [name, schema] of Object.entries(WHOLE.components.schemas))
    expect(inPlace(SERVED.components.schemas[name])).toEqual(schema);
});

test("shared schemas are all different, and each is referenced", () => {
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

test("every reference names a schema, and none points into one", () => {
  for (const [, ref] of JSON.stringify(SERVED).matchAll(/"\$ref":"([^"]*)"/g)) {
    const [, kind, name] = /^#\/components\/(\w+)\/([\w-]+)$/.exec(ref!) ?? [];
    expect((SERVED.components as Record<string, object>)[kind!], ref).toHaveProperty([name!]);
  }
});

test("a field that has the same description as in a change is a separate schema", () => {
  const { properties } = SERVED.components.schemas["InboxItem"] as JsonSchema;
  expect(properties!["target"]).toEqual({ $ref: "#/components/schemas/ChangeTarget" });
  expect((SERVED.components.schemas["Change"] as JsonSchema).properties!["target"]).toEqual(properties!["target"]);
  expect(SERVED.components.schemas["ChangeTarget"]).toEqual(WHOLE.components.schemas["Change"]!.properties!["target"]);
  expect(properties!["title"]).toHaveProperty("description");
});
