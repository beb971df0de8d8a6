/** The client's types in the repository are generated from the API's description. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
// @ts-expect-error a build script without types
import * as clientTypes from "../../../.ci/build/client_types.mjs";
import { buildServedDocument } from "../openapi/test_documents.ts";

const { makeFiles } = clientTypes as { makeFiles(document: object): Promise<Record<string, string>> };
const ROOT = join(import.meta.dirname, "../../..");

test("the client's types and the command line's fields are current: npm run client:types", async () => {
  const files = await makeFiles(buildServedDocument({}));
  expect(Object.keys(files)).toHaveLength(2);
  for (const [path, text] of Object.entries(files)) expect(readFileSync(join(ROOT, path), "utf8"), path).toBe(text);
});

test("a type is generated from each part of a schema", async () => {
  const schema = {
    type: "object",
    required: ["a", "b"],
    properties: {
      a: { type: ["string", "null"], description: "First */ thing." },
      b: { anyOf: [{ const: 1 }, { type: "array", items: { $ref: "#/components/schemas/B" } }] },
      c: { type: "object", additionalProperties: { type: "integer" } },
      d: {},
      e: { allOf: [{ enum: ["x", 2] }, { type: "boolean" }] },
    },
  };
  const document = {
    components: {
      schemas: { B: { type: "object" } },
      parameters: { Id: { name: "id", in: "path", required: true, schema } },
    },
    paths: {
      "/t/{id}": {
        post: {
          summary: "Does it",
          parameters: [{ $ref: "#/components/parameters/Id" }],
          requestBody: { content: { "application/json": { schema } } },
          responses: { 201: { content: { "application/json": { schema } } }, 400: { content: {} } },
        },
      },
    },
  };
  const { "lib/client/generated/paths.ts": text } = await makeFiles(document);
  const [, requestType, responseType] = text!.split(/requestBody\?:|responses:/);
  expect(responseType!.replaceAll(/\s+/g, " ")).toContain(
    'a: string | null; b: 1 | components["schemas"]["B"][]; c?: Record<string, number>; d?: unknown; e?: ("x" | 2) & boolean;',
  );
  expect(requestType).toContain("c?: Record<string, number> | undefined;");
  // A zero-width space, so that the description does not end the comment.
  expect(text).toContain("/** First *\u200b/ thing. */");
  expect(text).toContain("/** Does it */\n    post: {");
  expect(responseType).not.toContain("400");
});
