/** The document as Redocly's linter sees it, under its `recommended` rules, each warning an error. */
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { expect, test } from "vitest";
import { intentOf } from "../../support/intents.ts";
import { documentUnder } from "./document_under.ts";

async function problemsOf(document: unknown): Promise<string[]> {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  return problems.map(({ ruleId, location, message }) => `${ruleId} at ${location[0]?.pointer}: ${message}`);
}

test.each([
  ["without an intent", {}],
  ["with one", { product: { ...intentOf(), identity: {} as never } }],
])("the linter finds nothing in the document %s", async (_, circumstances) => {
  expect(await problemsOf(documentUnder(circumstances))).toEqual([]);
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
    "a reference that leads nowhere",
    "no-unresolved-refs",
    "components",
    { schemas: { A: { $ref: "#/components/schemas/B" } } },
  ],
  [
    "a required field that is not told",
    "no-required-schema-properties-undefined",
    "components",
    { schemas: { A: { type: "object", required: ["a"] } } },
  ],
  ["a server that is none", "no-empty-servers", "servers", []],
])("the linter would find %s", async (_, rule, part, broken) => {
  const document = documentUnder({});
  const changed = part === "components" ? { ...document.components, ...(broken as object) } : broken;
  const problems = await problemsOf({ ...document, [part]: changed });
  expect(problems.map((problem) => problem.split(" ")[0])).toContain(rule);
});
