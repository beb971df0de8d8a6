/**
 * Completeness of the OpenAPI document: each operation and field has a description, and each operation an example.
 */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { endpoints } from "../../../handlers/index.ts";
import type { Deps } from "../../../lib/deps.ts";
import type { Declaration } from "../../../lib/http/endpoint.ts";
import { makeIntent } from "../../support/intents.ts";
import { makeTestDocument, buildServedDocument } from "./test_documents.ts";

const product = { ...makeIntent({ kpis: { churn: { baseline: 1, target: 0 } } }), identity: {} as never };
const DOCUMENT = buildServedDocument({ product });

const inputSchema = ({ input }: Pick<(typeof endpoints)[number], "input">): z.ZodType =>
  typeof input === "function" ? input({ product } as unknown as Deps) : input;

/** Matches two to four words in camel case: a verb and a noun. */
const ID = /^[a-z]+(?:[A-Z][a-z]+){1,3}$/;

test("a declaration that is incomplete or whose example has other fields does not compile", () => {
  const input = z.object({ count: z.number() });
  const complete = {
    method: "GET",
    path: "/api/thing",
    operation: "getThing",
    summary: "A thing",
    description: "Gives a thing.",
    example: { count: 1 },
    input,
    output: z.object({}),
  } satisfies Declaration<typeof input>;
  const { operation, description, example, ...rest } = complete;
  // @ts-expect-error the id is missing
  const withoutId: Declaration<typeof input> = { ...rest, description, example };
  // @ts-expect-error the description is missing
  const withoutDescription: Declaration<typeof input> = { ...rest, operation, example };
  // @ts-expect-error the example is missing
  const withoutExample: Declaration<typeof input> = { ...rest, operation, description };
  // @ts-expect-error a count is no text
  const withTextAsCount: Declaration<typeof input> = { ...complete, example: { count: "one" } };
  // Only the compiler tests the declarations; this uses them.
  expect([withoutId, withoutDescription, withoutExample, withTextAsCount]).toHaveLength(4);
});

test("operation ids are unique, a verb and a noun in at most 24 characters", () => {
  const ids = endpoints.map(({ operation }) => operation);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => !ID.test(id) || id.length > 24)).toEqual([]);
});

describe.each(endpoints.map((endpoint) => ({ ...endpoint, name: endpoint.operation })))("$name", (endpoint) => {
  test("has a title without a period, and another description with one, both of limited length", () => {
    expect(endpoint.description).toMatch(/^[A-Z].{20,248}[.]$/);
    expect(endpoint.summary).toMatch(/^[A-Z].{3,70}[^.]$/);
    expect(endpoint.description).not.toBe(`${endpoint.summary}.`);
  });

  test("shows an example request that it accepts, with declared fields only", () => {
    const parsed = inputSchema(endpoint).safeParse(endpoint.example);
    expect(parsed.error?.issues).toBeUndefined();
    const { shape } = inputSchema(endpoint) as { shape?: object };
    if (shape) for (const field of Object.keys(endpoint.example as object)) expect(shape).toHaveProperty(field);
  });
});

interface Described {
  path: string;
  description: unknown;
}

/** Yields each field, parameter and shared schema of a document with its path and description. */
function* listDescribed(part: unknown, parent = ""): Generator<Described> {
  if (Array.isArray(part)) for (const [index, item] of part.entries()) yield* listDescribed(item, `${parent}/${index}`);
  if (typeof part !== "object" || part === null || Array.isArray(part)) return;
  for (const [key, value] of Object.entries(part)) {
    if (key === "example" || key === "examples" || key === "allOf") continue;
    const path = `${parent}/${key}`;
    // The fields of errors have no descriptions of their own.
    if (key === "properties" && !isErrorSchema(part))
      for (const [name, field] of fieldsOf(value)) yield withDescription(`${path}/${name}`, field);
    if (key === "parameters" && Array.isArray(value))
      for (const parameter of value)
        if (!("$ref" in parameter)) yield withDescription(`${path}/${parameter.name}`, parameter);
    if (parent === "/components/schemas" && !isRequestSchema(key)) yield withDescription(path, value);
    yield* listDescribed(value, path);
  }
}

const fieldsOf = (properties: unknown): [string, object][] => Object.entries(properties as Record<string, object>);

const isErrorSchema = (part: { allOf?: { $ref?: string }[] }): boolean =>
  part.allOf?.[0]?.$ref === "#/components/schemas/Error";

/** Returns whether a schema is the body of a request, which its operation describes. */
const isRequestSchema = (name: string): boolean =>
  endpoints.some(({ operation }) => operation.toLowerCase() === name.toLowerCase());

/** Returns the description of a part; a reference counts as described. */
function withDescription(path: string, part: { description?: unknown; $ref?: unknown }): Described {
  return { path, description: part.description ?? (typeof part.$ref === "string" ? part.$ref : undefined) };
}

test("each field, parameter and shared schema has a description of one line", () => {
  const parts = [...listDescribed(DOCUMENT)];
  expect(parts.length).toBeGreaterThan(600);
  expect(parts.filter(({ description }) => !description).map(({ path }) => path)).toEqual([]);
  const long = parts.filter(({ description }) => String(description).length > 130);
  expect(long.map(({ path, description }) => `${path}: ${String(description)}`)).toEqual([]);
});

test("each operation has an example of its request, or of its response if it has no input", () => {
  const operations = Object.values(makeTestDocument({ product }).paths).flatMap((methods) => Object.values(methods));
  const withoutExample = operations.filter(({ parameters = [], requestBody, responses }) => {
    const media = [requestBody, ...Object.values(responses)].flatMap((part) => Object.values(part?.content ?? {}));
    return ![...parameters, ...media].some(({ example }) => example !== undefined);
  });
  expect(withoutExample.map(({ operationId }) => operationId)).toEqual([]);
});

test("a description is more than the name of its field", () => {
  const repeated = [...listDescribed(DOCUMENT)].filter(({ path, description }) => {
    const name = path.split("/").at(-1)!.replaceAll("_", " ").toLowerCase();
    return [name, `the ${name}`, `a ${name}`].includes(String(description).toLowerCase().replace(/\.$/, ""));
  });
  expect(repeated.map(({ path }) => path)).toEqual([]);
});

test("the document is smaller than 200 kB", () => {
  expect(new TextEncoder().encode(JSON.stringify(DOCUMENT)).length).toBeLessThan(200_000);
});
