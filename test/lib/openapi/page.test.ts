/** The page of the API's description: its operations, commands, anchors, example responses and rows of fields. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import type { JsonSchema } from "../../../lib/openapi/json_schema.ts";
import { renderPage } from "../../../lib/openapi/page.ts";
import { fieldRows } from "../../../lib/openapi/field_rows.ts";
import { makeSample } from "../../../lib/openapi/sample.ts";
import { escapeHtml } from "../../../lib/kit/escape_html.ts";
import { makeIntent } from "../../support/intents.ts";
import { makeTestDocument } from "./test_documents.ts";

const DOCUMENT = makeTestDocument({ product: { ...makeIntent(), identity: {} as never } });
const PAGE = renderPage(DOCUMENT);
const OPERATIONS = Object.values(DOCUMENT.paths).flatMap((methods) => Object.values(methods));

/** Returns the part of the page about an operation. */
const articleOf = (id: string): string =>
  PAGE.slice(PAGE.indexOf(`<h3 id="${id.toLowerCase()}">`)).split("</article>")[0]!;

test("the page shows each operation with id, description, example request and fields", () => {
  for (const { operationId, description, parameters = [], requestBody } of OPERATIONS) {
    const article = articleOf(operationId);
    expect(article).toContain(escapeHtml(description));
    expect(article).toContain("<pre><code>curl ");
    const { properties = {} } = requestBody?.content["application/json"]?.schema ?? {};
    for (const described of [...parameters, ...Object.values(properties)])
      if (described.description) expect(article, operationId).toContain(escapeHtml(String(described.description)));
  }
});

test("a request is shown as a command, with the token where one is required", () => {
  expect(articleOf("getChange")).toContain(
    "<pre><code>curl localhost:8420/api/product/changes/chg_019a8f3e-6c1e-7b44-9d52-3e8a17c0b6f1</code></pre>",
  );
  expect(articleOf("listApprovals")).toContain("curl &#39;localhost:8420/api/product/approvals?limit=50&#39;");
  const approve = articleOf("approveChange");
  expect(approve).toContain("-H &quot;X-Svc-Admin-Token: $SVC_ADMIN_TOKEN&quot; \\");
  expect(articleOf("proposeChange")).toContain("-H &quot;X-Svc-Admin-Token: $SVC_ADMIN_TOKEN&quot; \\");
  expect(approve).toContain("-H &#39;content-type: application/json&#39; \\\n  --data-binary &#39;{\n");
  expect(approve).toContain("Needs the admin token where one is set.");
  expect(articleOf("proposeChange")).toContain("Needs the admin token or a bearer secret where one is set.");
  expect(articleOf("submitTask")).not.toContain("Needs the admin token");
});

test("anchors on the page are unique", () => {
  const ids = [...PAGE.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  expect(ids.length).toBeGreaterThan(80);
  expect(new Set(ids).size).toBe(ids.length);
});

test("an example response is valid by the document", () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { "date-time": true } });
  ajv.addSchema(JSON.parse(JSON.stringify(DOCUMENT)), "document");
  const { schemas } = DOCUMENT.components;
  for (const { operationId, responses } of OPERATIONS)
    for (const { content = {} } of Object.values(responses).slice(0, 1)) {
      const schema = content["application/json"]?.schema;
      if (!schema) continue;
      const text = JSON.stringify(schema).replaceAll('"#/', '"document#/');
      const check = ajv.compile(JSON.parse(text) as JsonSchema);
      expect(check(makeSample(schema, schemas)), `${operationId}: ${ajv.errorsText(check.errors)}`).toBe(true);
    }
});

test("nested fields are rows with dotted names", () => {
  const inner = { type: "object", properties: { c: { type: "string", description: "Inside." } }, required: ["c"] };
  const schema = {
    properties: {
      a: { type: "array", items: inner },
      b: { anyOf: [inner, { type: "null" }] },
      d: { additionalProperties: inner },
    },
  };
  const rows = fieldRows(schema as JsonSchema).map(([name, type, required]) => [
    name!.replace(/<\/?code>/g, ""),
    type,
    required,
  ]);
  expect(rows).toEqual([
    ["a", "list of object", ""],
    ["a[].c", "string", "required"],
    ["b", "object or null", ""],
    ["b.c", "string", "required"],
    ["d", "any JSON", ""],
    ["d.*.c", "string", "required"],
  ]);
});
