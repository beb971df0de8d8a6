/** The served document is valid by the schema of OpenAPI 3.1, and its references exist. */
import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { makeIntent } from "../../support/intents.ts";
import { buildServedDocument } from "./test_documents.ts";

test.each([
  ["without an intent", {}],
  ["with an intent", { product: { ...makeIntent(), identity: {} as never } }],
])("the document is OpenAPI 3.1 %s", async (_, deps) => {
  const validator = new Validator();
  // As clients get it: JSON without the members that are undefined.
  const { valid, errors } = await validator.validate(JSON.parse(JSON.stringify(buildServedDocument(deps))));
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  expect(validator.version).toBe("3.1");
});

test("the validator rejects an invalid document", async () => {
  const document = buildServedDocument({});
  const broken = { ...document, paths: { "api/no-slash": { get: {} } }, info: { title: "no version" } };
  expect((await new Validator().validate(JSON.parse(JSON.stringify(broken)))).valid).toBe(false);
});

test("every reference exists within the document", () => {
  const document = buildServedDocument({});
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, path]) => path!);
  expect(references.length).toBeGreaterThan(100);
  for (const path of new Set(references)) {
    expect(path).toMatch(/^#\//);
    const found = path
      .slice(2)
      .split("/")
      .reduce<unknown>((part, key) => (part as Record<string, unknown> | undefined)?.[key], document);
    expect(found, path).toBeDefined();
  }
});
