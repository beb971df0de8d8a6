/** Checks of the document by Redocly's linter, with its `recommended` rules and further ones; each warning is an error. */
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { expect, test } from "vitest";
import { makeIntent } from "../../support/intents.ts";
import { buildServedDocument } from "./test_documents.ts";

/** Rules beyond `recommended`: everything has a description, and examples match their schemas. */
const ADDED_RULES = [
  "operation-description",
  "operation-operationId-url-safe",
  "parameter-description",
  "tag-description",
  "component-name-unique",
  "no-invalid-media-type-examples",
  "no-invalid-parameter-examples",
  "no-invalid-schema-examples",
];

/** A rule of `recommended` that does not accept errors in the response `default`. */
const DISABLED_RULE = "operation-4xx-response";

async function lint(document: unknown): Promise<string[]> {
  const config = await createConfig({
    extends: ["recommended"],
    rules: { ...Object.fromEntries(ADDED_RULES.map((rule) => [rule, "error"])), [DISABLED_RULE]: "off" },
  });
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  return problems.map(({ ruleId, location, message }) => `${ruleId} at ${location[0]?.pointer}: ${message}`);
}

test.each([
  ["without an intent", {}],
  ["with an intent", { product: { ...makeIntent(), identity: {} as never } }],
])("the linter finds nothing in the document %s", async (_, circumstances) => {
  expect(await lint(buildServedDocument(circumstances))).toEqual([]);
});

test.each([
  ["a path without a slash", "struct", "paths", { "api/thing": { get: {} } }],
  [
    "an operation without a summary",
    "operation-summary",
    "paths",
    { "/api/thing": { get: { operationId: "getThing" } } },
  ],
  [
    "an operation without a description",
    "operation-description",
    "paths",
    { "/api/thing": { get: { operationId: "getThing", summary: "A thing" } } },
  ],
  [
    "an example that its schema does not allow",
    "no-invalid-schema-examples",
    "components",
    { schemas: { A: { type: "string", examples: [1] } } },
  ],
  [
    "a reference that leads nowhere",
    "no-unresolved-refs",
    "components",
    { schemas: { A: { $ref: "#/components/schemas/B" } } },
  ],
  [
    "a required field that is not described",
    "no-required-schema-properties-undefined",
    "components",
    { schemas: { A: { type: "object", required: ["a"] } } },
  ],
  ["an empty list of servers", "no-empty-servers", "servers", []],
])("the linter finds %s", async (_, rule, part, broken) => {
  const document = buildServedDocument({});
  const changed = part === "components" ? { ...document.components, ...(broken as object) } : broken;
  const problems = await lint({ ...document, [part]: changed });
  expect(problems.map((problem) => problem.split(" ")[0])).toContain(rule);
});
