/** The OpenAPI document that is made from the declarations of endpoints: fields, responses, error codes, tokens, schemas. */
import { expect, test } from "vitest";
import * as z from "zod";
import { endpoint, type Declaration } from "../../../lib/http/endpoint.ts";
import { changeId, finiteNumber, flag, freeText, integer, word } from "../../../lib/kit/fields.ts";
import { changeSchema } from "../../../lib/changes/rules/change.ts";
import { QUERIES } from "../../../lib/link/port.ts";
import { answer } from "../../../lib/http/answer.ts";
import { makeOpenApi } from "../../../lib/openapi/document.ts";
import type { Operation } from "../../../lib/openapi/operation.ts";
import { readErrorCodes } from "../../../lib/openapi/responses.ts";
import type { ErrorCode } from "../../../lib/kit/errors.ts";
import { makeIntent } from "../../support/intents.ts";
import { endpoints } from "../../../handlers/index.ts";
import { makeTestDocument } from "./test_documents.ts";

const makeEndpoint = (declaration: Partial<Declaration>) =>
  endpoint(
    {
      method: "GET",
      path: "/api/thing",
      operation: "getThing",
      summary: "A thing",
      description: "Gives a thing.",
      example: {},
      input: z.object({}),
      output: z.object({}),
      ...declaration,
    } as Declaration,
    async () => answer({}),
  );

function operationOf(declaration: Partial<Declaration>): Operation {
  const { paths } = makeOpenApi([makeEndpoint(declaration)], "1.2.3");
  const [methods] = Object.values(paths);
  return (methods!.get ?? methods!.post)!;
}

const listCodes = ({ responses }: Operation) => readErrorCodes(responses["default"]!);

test("every endpoint is an operation with a unique name", () => {
  const { paths } = makeTestDocument({});
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  expect(operations).toHaveLength(endpoints.length);
  const ids = operations.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toContain("proposeCrmFollowup");
  expect(ids).toContain("getChange");
  for (const { operationId } of operations) expect(operationId).toMatch(/^[a-z][A-Za-z0-9]+$/);
});

test("a path parameter is required, and a query parameter has its default", () => {
  const { paths } = makeOpenApi(
    [
      makeEndpoint({
        path: "/api/thing/:change_id",
        input: z.object({
          change_id: changeId(),
          limit: integer(1, 9).default(5),
          status: word(["a", "b"]).optional(),
        }),
      }),
    ],
    "1.2.3",
  );
  const { parameters } = paths["/api/thing/{change_id}"]!.get!;
  expect(parameters!.filter((parameter) => parameter.in !== "header")).toEqual([
    { name: "change_id", in: "path", required: true, schema: { type: "string", minLength: 1, maxLength: 200 } },
    { name: "limit", in: "query", required: false, schema: expect.objectContaining({ default: 5 }) },
    { name: "status", in: "query", required: false, schema: { type: "string", enum: ["a", "b"] } },
  ]);
});

test("a body may be a form or JSON with the same fields; numbers and flags have their types", () => {
  const { requestBody } = operationOf({
    method: "POST",
    input: z.strictObject({
      note: freeText(10),
      gain: finiteNumber().optional(),
      reversible: flag().optional(),
      value: z.unknown().optional(),
    }),
    jsonFields: ["value"],
  });
  const schema = {
    type: "object",
    additionalProperties: false,
    properties: {
      note: { type: "string", maxLength: 10 },
      gain: { type: "number" },
      reversible: { type: "boolean" },
      value: {},
    },
    required: ["note"],
  };
  expect(requestBody).toEqual({
    required: true,
    content: {
      "application/x-www-form-urlencoded": { schema, encoding: { value: { contentType: "application/json" } } },
      "application/json": { schema, example: {} },
    },
  });
});

test("the document shows that a number is an integer, and its limits", () => {
  const input = z.object({ limit: finiteNumber().meta({ type: "integer", minimum: 1, maximum: 9 }) });
  expect(operationOf({ input }).parameters![0]!.schema).toEqual({ type: "integer", minimum: 1, maximum: 9 });
});

test("a field of a POST may be declared as a query parameter", () => {
  const operation = operationOf({
    method: "POST",
    input: z.object({ path: z.string().meta({ in: "query" }), peer: z.string().optional() }),
  });
  expect(operation.parameters![0]).toEqual({ name: "path", in: "query", required: true, schema: { type: "string" } });
  expect(operation.requestBody!.content["application/json"]!.schema).toEqual({
    type: "object",
    properties: { peer: { type: "string" } },
  });
});

test("a request to peers has query parameters, and its path is required", () => {
  const { parameters, requestBody } = makeTestDocument({}).paths["/api/peer/query"]!.post!;
  expect(requestBody).toBeUndefined();
  expect(parameters!.filter((parameter) => parameter.in === "query")).toEqual([
    {
      name: "path",
      in: "query",
      required: true,
      description: expect.stringContaining("A path to read"),
      example: "/api/state",
      schema: { type: "string", enum: [...QUERIES] },
    },
    {
      name: "method",
      in: "query",
      required: false,
      description: expect.any(String),
      schema: { type: "string", enum: ["GET"], default: "GET" },
    },
    {
      name: "peer",
      in: "query",
      required: false,
      description: expect.stringContaining("one peer"),
      schema: { type: "string", maxLength: 300 },
    },
  ]);
});

test("a record with known keys is described as an object with these fields", () => {
  const output = z.object({ verdicts: z.record(z.enum(["met", "missed"]), z.number().int()) });
  const { schema } = operationOf({ output }).responses[200]!.content!["application/json"]!;
  expect(schema.properties!["verdicts"]).toEqual({
    type: "object",
    required: ["met", "missed"],
    properties: { met: { type: "integer" }, missed: { type: "integer" } },
  });
});

test("the KPIs of the intent are the fields of its feed", () => {
  const product = { ...makeIntent({ kpis: { churn: { baseline: 1, target: 0 } } }), identity: {} as never };
  const fieldsUnder = (deps: { product?: typeof product }) =>
    Object.keys(
      makeTestDocument(deps).paths["/api/product/kpi"]!.post!.requestBody!.content["application/json"]!.schema
        .properties!,
    );
  expect(fieldsUnder({})).not.toContain("churn");
  expect(fieldsUnder({ product })).toContain("churn");
});

test("one response lists all error codes: those of the kind of endpoint, and its own", () => {
  const open = operationOf({});
  expect(Object.keys(open.responses)).toEqual(["200", "default"]);
  const commonCodes = [
    "invalid_field",
    "host_not_allowed",
    "internal",
    "store_unavailable",
    "store_busy",
    "unauthorized",
  ];
  expect(listCodes(open)).toEqual({ kindCodes: expect.arrayContaining(commonCodes), ownCodes: [] });
  expect(listCodes(open).kindCodes).not.toContain("payload_too_large");
  expect(open.security).toEqual([]);
  expect(listCodes(operationOf({ open: true })).kindCodes).not.toContain("unauthorized");

  const errors: ErrorCode[] = ["change_not_found", "illegal_transition", "adapter_failed"];
  const governed = operationOf({ method: "POST", product: true, token: true, success: 201, errors });
  expect(Object.keys(governed.responses)).toEqual(["201", "default"]);
  const writeCodes = ["cross_site", "person_required", "payload_too_large", "evidence_mismatch", "chain_broken"];
  expect(listCodes(governed)).toEqual({
    kindCodes: expect.arrayContaining([...commonCodes, ...writeCodes]),
    ownCodes: errors,
  });
  expect(governed.security).toEqual([{ AdminToken: [] }]);
});

test("a token that only a protected host requires is marked as such", () => {
  const chat = (protectAll: boolean) => makeTestDocument({ protectAll }).paths["/api/chat"]!.post!;
  expect(chat(false).security).toEqual([{ AdminToken: [] }, {}]);
  expect(chat(true).security).toEqual([{ AdminToken: [] }]);
  expect(listCodes(chat(false)).kindCodes).toContain("unauthorized");
});

test("reads show a token where they are protected, and public endpoints show none", () => {
  const reads = (protectReads: boolean, path: string) => makeTestDocument({ protectReads }).paths[path]!.get!.security;
  expect(reads(false, "/api/state")).toEqual([]);
  expect(reads(true, "/api/state")).toEqual([{ AdminToken: [] }, { Bearer: [] }]);
  expect(reads(true, "/livez")).toEqual([]);
});

test("endpoints for agents show the agent's secret and the token", () => {
  const { paths } = makeTestDocument({});
  for (const path of ["propose", "withdraw"])
    expect(paths[`/api/product/${path}`]!.post!.security).toEqual([{ AdminToken: [] }, { Bearer: [] }]);
  expect(paths["/api/product/approve"]!.post!.security).toEqual([{ AdminToken: [] }]);
});

test("headers are described where they are understood", () => {
  const names = (operation: Operation) => (operation.parameters ?? []).map(({ name }) => name);
  const { paths } = makeTestDocument({});
  expect(names(paths["/api/product/approve"]!.post!)).toEqual(["If-Match", "Idempotency-Key"]);
  expect(names(paths["/api/product/kpi"]!.post!)).toEqual(["Idempotency-Key"]);
  expect(names(paths["/api/state"]!.get!)).toEqual([]);
  for (const [path, method] of [
    ["/api/product/approve", "post"],
    ["/api/product/propose", "post"],
    ["/api/product/changes/{change_id}", "get"],
  ] as const) {
    const { responses } = paths[path]![method]!;
    expect((responses[200] ?? responses[201])!.headers).toHaveProperty("ETag");
  }
  expect(paths["/api/product/kpi"]!.post!.responses[200]!.headers).not.toHaveProperty("ETag");
  expect(paths["/api/product/kpi"]!.post!.responses[200]!.headers).toHaveProperty("Idempotency-Replayed");
  expect(names(paths["/api/events"]!.get!)).toContain("Last-Event-ID");
});

test("text has its own media type, and so has each member of a union", () => {
  const contentOf = (output: z.ZodType) => operationOf({ output }).responses[200]!.content;
  expect(contentOf(z.string())).toEqual({ "text/plain": { schema: { type: "string" }, example: "text" } });
  expect(contentOf(z.string().meta({ contentMediaType: "text/html" }))).toEqual({
    "text/html": { schema: { type: "string" }, example: "text" },
  });
  const both = z.union([z.object({ a: z.string() }), z.string().meta({ contentMediaType: "text/html" })]);
  expect(Object.keys(contentOf(both)!)).toEqual(["application/json", "text/html"]);
});

test("a body that is returned with a second status is documented there too", () => {
  const output = z.object({ ready: z.boolean() });
  const ready = Object.assign(makeEndpoint({ path: "/readyz", output }), { sameBodyStatuses: [503] });
  const { responses } = makeOpenApi([ready], "1.2.3").paths["/readyz"]!.get!;
  expect(responses[503]!.content).toEqual(responses[200]!.content);
});

test("shared schemas are named once, and unused ones are omitted", () => {
  const { components } = makeOpenApi(
    [makeEndpoint({ output: z.object({ changes: z.array(changeSchema()) }) })],
    "1.2.3",
  );
  expect(Object.keys(components.schemas)).toEqual(["Error", "Change", "Approval", "Place", "Review", "LateNote"]);
  expect(components.schemas["Change"]!.properties!["approvals"]).toEqual({
    type: "array",
    description: expect.any(String),
    items: { $ref: "#/components/schemas/Approval" },
  });
});

test("a response may get new fields, a strict request may not", () => {
  const { requestBody, responses } = operationOf({
    method: "POST",
    input: z.strictObject({ a: z.string() }),
    output: z.object({ b: z.object({ c: z.string() }) }),
  });
  expect(requestBody!.content["application/json"]!.schema["additionalProperties"]).toBe(false);
  expect(JSON.stringify(responses[200]!.content)).not.toContain("additionalProperties");
});
