/**
 * A caller who has never seen the product can read the document: each operation and field says what it is, and shows how it is
 * asked.
 */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { endpoints } from "../../../handlers/index.ts";
import type { Deps } from "../../../lib/deps.ts";
import type { Declaration } from "../../../lib/http/endpoint.ts";
import { makeIntent } from "../../support/intents.ts";
import { makeTestDocument, buildServedDocument } from "./document_under.ts";

const product = { ...makeIntent({ kpis: { churn: { baseline: 1, target: 0 } } }), identity: {} as never };
const DOCUMENT = buildServedDocument({ product });

const inputOf = ({ input }: Pick<(typeof endpoints)[number], "input">): z.ZodType =>
  typeof input === "function" ? input({ product } as unknown as Deps) : input;

/** A verb and a noun. */
const ID = /^[a-z]+(?:[A-Z][a-z]+){1,3}$/;

test("an incomplete declaration does not compile, nor one whose example has other fields", () => {
  const input = z.object({ count: z.number() });
  const whole = {
    method: "GET",
    path: "/api/thing",
    operation: "getThing",
    summary: "A thing",
    description: "Gives a thing.",
    example: { count: 1 },
    input,
    output: z.object({}),
  } satisfies Declaration<typeof input>;
  const { operation, description, example, ...silent } = whole;
  // @ts-expect-error the id is missing
  const nameless: Declaration<typeof input> = { ...silent, description, example };
  // @ts-expect-error the description is missing
  const dumb: Declaration<typeof input> = { ...silent, operation, example };
  // @ts-expect-error the example is missing
  const abstract: Declaration<typeof input> = { ...silent, operation, description };
  // @ts-expect-error a count is no text
  const wrong: Declaration<typeof input> = { ...whole, example: { count: "one" } };
  expect([nameless, dumb, abstract, wrong]).toHaveLength(4);
});

test("operation ids are unique, a verb and a noun in at most 24 characters", () => {
  const ids = endpoints.map(({ operation }) => operation);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => !ID.test(id) || id.length > 24)).toEqual([]);
});

describe.each(endpoints.map((endpoint) => ({ ...endpoint, name: endpoint.operation })))("$name", (endpoint) => {
  test("has a title and a description of one or two sentences", () => {
    expect(endpoint.description).toMatch(/^[A-Z].{20,248}[.]$/);
    expect(endpoint.summary).toMatch(/^[A-Z].{3,70}[^.]$/);
    expect(endpoint.description).not.toBe(`${endpoint.summary}.`);
  });

  test("shows an example request that it accepts, with declared fields only", () => {
    const parsed = inputOf(endpoint).safeParse(endpoint.example);
    expect(parsed.error?.issues).toBeUndefined();
    const { shape } = inputOf(endpoint) as { shape?: object };
    if (shape) for (const field of Object.keys(endpoint.example as object)) expect(shape).toHaveProperty(field);
  });
});

interface Place {
  at: string;
  description: unknown;
}

/** Every field, parameter and shared shape of a document, with where it is and what it says. */
function* placesIn(part: unknown, at = ""): Generator<Place> {
  if (Array.isArray(part)) for (const [index, item] of part.entries()) yield* placesIn(item, `${at}/${index}`);
  if (typeof part !== "object" || part === null || Array.isArray(part)) return;
  for (const [key, value] of Object.entries(part)) {
    if (key === "example" || key === "examples" || key === "allOf") continue;
    const path = `${at}/${key}`;
    // Errors describe the limits that rejections set.
    if (key === "properties" && !isRefusal(part))
      for (const [name, field] of fieldsOf(value)) yield says(`${path}/${name}`, field);
    if (key === "parameters" && Array.isArray(value))
      for (const one of value) if (!("$ref" in one)) yield says(`${path}/${one.name}`, one);
    if (at === "/components/schemas" && !isRequest(key)) yield says(path, value);
    yield* placesIn(value, path);
  }
}

const fieldsOf = (properties: unknown): [string, object][] => Object.entries(properties as Record<string, object>);

const isRefusal = (part: { allOf?: { $ref?: string }[] }): boolean =>
  part.allOf?.[0]?.$ref === "#/components/schemas/Error";

/** A request is described by its operation. */
const isRequest = (name: string): boolean =>
  endpoints.some(({ operation }) => operation.toLowerCase() === name.toLowerCase());

/** A reference is described by what it leads to. */
function says(at: string, part: { description?: unknown; $ref?: unknown }): Place {
  return { at, description: part.description ?? (typeof part.$ref === "string" ? part.$ref : undefined) };
}

test("each field, parameter and shared schema has a description of one line", () => {
  const places = [...placesIn(DOCUMENT)];
  expect(places.length).toBeGreaterThan(600);
  expect(places.filter(({ description }) => !description).map(({ at }) => at)).toEqual([]);
  const long = places.filter(({ description }) => String(description).length > 130);
  expect(long.map(({ at, description }) => `${at}: ${String(description)}`)).toEqual([]);
});

test("each operation has an example of its request, or of its response if it has no input", () => {
  const operations = Object.values(makeTestDocument({ product }).paths).flatMap((methods) => Object.values(methods));
  const silent = operations.filter(({ parameters = [], requestBody, responses }) => {
    const media = [requestBody, ...Object.values(responses)].flatMap((part) => Object.values(part?.content ?? {}));
    return ![...parameters, ...media].some(({ example }) => example !== undefined);
  });
  expect(silent.map(({ operationId }) => operationId)).toEqual([]);
});

test("a description says more than the name of its field", () => {
  const filler = [...placesIn(DOCUMENT)].filter(({ at, description }) => {
    const name = at.split("/").at(-1)!.replaceAll("_", " ").toLowerCase();
    return [name, `the ${name}`, `a ${name}`].includes(String(description).toLowerCase().replace(/\.$/, ""));
  });
  expect(filler.map(({ at }) => at)).toEqual([]);
});

test("the whole document is under 200 kB", () => {
  expect(new TextEncoder().encode(JSON.stringify(DOCUMENT)).length).toBeLessThan(200_000);
});
