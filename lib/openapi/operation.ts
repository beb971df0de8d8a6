/** Describes one endpoint as an operation of the document. */
import type * as z from "zod";
import type { ChangesDeps } from "../changes/deps.ts";
import type { HttpDeps } from "../http/deps.ts";
import { isWrite } from "../http/admission.ts";
import { ADMIN_TOKEN, BEARER, NAMED_SCHEMAS } from "./components.ts";
import { type Content, type JsonSchema, toJsonSchema, type Parameter } from "./json_schema.ts";
import { type DocumentedEndpoint, describeResponses } from "./responses.ts";

/** Configuration on which the document depends. */
export type DocumentConfig = Pick<ChangesDeps, "product"> & Pick<HttpDeps, "protectAll" | "protectReads">;

/** `/api/product/changes/:change_id` → `/api/product/changes/{change_id}` */
export const pathTemplate = (path: string): string => path.replace(/:([a-z_]+)/g, "{$1}");

/** One method of one path. */
export type Operation = ReturnType<typeof describeOperation>;

export function describeOperation(endpoint: DocumentedEndpoint, config: DocumentConfig) {
  const input = inputSchema(endpoint, config);
  const parameters = [...listParameters(endpoint, input), ...listHeaders(endpoint)];
  const body = endpoint.method === "POST" ? describeBody(endpoint, input) : undefined;
  return {
    operationId: endpoint.operation,
    tags: [findTag(endpoint.path)],
    summary: endpoint.summary,
    description: endpoint.description,
    security: describeSecurity(endpoint, config),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: body }),
    responses: describeResponses(endpoint),
  };
}

/** Lists alternative credentials; an empty alternative means that none are needed. */
function describeSecurity(
  { method, reads, token, agents, open }: DocumentedEndpoint,
  { protectAll, protectReads }: DocumentConfig,
): Record<string, string[]>[] {
  const [admin, bearer] = [{ [ADMIN_TOKEN]: [] }, { [BEARER]: [] }];
  if (!isWrite({ method, ...(reads && { reads }) })) return protectReads && !open ? [admin, bearer] : [];
  if (token === "protect_all") return protectAll ? [admin] : [admin, {}];
  if (!token) return [];
  return agents ? [admin, bearer] : [admin];
}

function inputSchema({ input }: DocumentedEndpoint, config: DocumentConfig): JsonSchema {
  // Schemas of inputs depend on the product alone.
  const schema =
    typeof input === "function" ? (input as (deps: ChangesDeps) => z.ZodType)(config as ChangesDeps) : input;
  return toJsonSchema(schema, "input", NAMED_SCHEMAS);
}

/** Returns the location of an input field: in the path, in the query of a GET, else in the body unless its schema says otherwise. */
function findLocation(endpoint: DocumentedEndpoint, name: string, schema: JsonSchema): "path" | "query" | "body" {
  if (endpoint.path.split("/").includes(`:${name}`)) return "path";
  return endpoint.method === "GET" || schema["in"] === "query" ? "query" : "body";
}

/** Lists the fields outside the body. Their schemas may say that they are in the query (`in`) and required there (`needed`). */
function listParameters(endpoint: DocumentedEndpoint, { properties = {}, required = [] }: JsonSchema): Parameter[] {
  return Object.entries(properties).flatMap(([name, property]): Parameter[] => {
    const { in: _, needed, description, ...schema } = property;
    const location = findLocation(endpoint, name, property);
    if (location === "body") return [];
    return [
      {
        name,
        in: location,
        required: location === "path" || needed === true || required.includes(name),
        ...(typeof description === "string" && { description }),
        schema,
        ...findExample(endpoint, name),
      },
    ];
  });
}

/** Returns the value of a field in an endpoint's example. */
function findExample(endpoint: DocumentedEndpoint, name: string): { example?: unknown } {
  const [entry] = exampleEntry(endpoint, name);
  return entry === undefined ? {} : { example: entry[1] };
}

/** Returns the field's name and its example; nothing without an example. */
function exampleEntry({ example }: DocumentedEndpoint, name: string): [name: string, value: unknown][] {
  const value = (example as Record<string, unknown>)[name];
  return value === undefined ? [] : [[name, value]];
}

/** Lists the headers that an endpoint reads, derived from the errors that they can cause. */
function listHeaders({ errors = [], notModified }: DocumentedEndpoint): Parameter[] {
  const headers: Parameter[] = [];
  if (errors.includes("version_mismatch"))
    headers.push({
      name: "If-Match",
      in: "header",
      description: "The ETag that the change must still have.",
      schema: { type: "string" },
    });
  if (errors.includes("idempotency_key_reused"))
    headers.push({
      name: "Idempotency-Key",
      in: "header",
      description: "The same key with the same body has the same answer for 24 hours.",
      schema: { type: "string", pattern: "^[\\x21-\\x7e]{1,255}$" },
    });
  if (notModified)
    headers.push({
      name: "If-None-Match",
      in: "header",
      description: "ETag of the caller's copy: 304 while current; for a change only with wait.",
      schema: { type: "string" },
    });
  if (errors.includes("too_many_streams"))
    headers.push({
      name: "Last-Event-ID",
      in: "header",
      description: "The id of the last event that was read; it wins over the query.",
      schema: { type: "string" },
    });
  return headers;
}

function describeBody(
  endpoint: DocumentedEndpoint,
  input: JsonSchema,
): { required: boolean; content: Content } | undefined {
  if (endpoint.text !== undefined) return describeTextBody(endpoint, input);
  const { properties = {}, required = [], ...rest } = input;
  const inBody = Object.entries(properties).filter(([name, schema]) => findLocation(endpoint, name, schema) === "body");
  if (inBody.length === 0) return undefined;
  const requiredInBody = required.filter((name) => inBody.some(([field]) => field === name));
  // `anyOf` lists alternatives of required fields.
  const isRequired = requiredInBody.length > 0 || rest.anyOf !== undefined;
  const schema: JsonSchema = {
    ...rest,
    properties: Object.fromEntries(inBody),
    ...(requiredInBody.length > 0 ? { required: requiredInBody } : {}),
  };
  const example = Object.fromEntries(inBody.flatMap(([name]) => exampleEntry(endpoint, name)));
  if (endpoint.json) return { required: isRequired, content: { "application/json": { schema, example } } };
  // In a form an object is sent as JSON by default, so it needs no `encoding`.
  const isObject = (field: string): boolean =>
    properties[field]?.type === "object" || properties[field]?.$ref !== undefined;
  const json = (endpoint.jsonFields ?? []).filter((field) => !isObject(field));
  const encoding = Object.fromEntries(json.map((field) => [field, { contentType: "application/json" }] as const));
  // Generators of clients send the first media type, and not all of them can write an object into a form.
  const content: Content = {
    "application/json": { schema, example },
    "application/x-www-form-urlencoded": { schema, ...(json.length > 0 && { encoding }) },
  };
  return { required: isRequired, content };
}

/** Describes a body that is one text, with the schema of its content if the field has one. */
function describeTextBody(
  endpoint: DocumentedEndpoint,
  { properties = {} }: JsonSchema,
): { required: boolean; content: Content } {
  const { text = "", textType = "text/plain" } = endpoint;
  const { contentSchema = { type: "string" } } = properties[text] ?? {};
  const { example } = findExample(endpoint, text);
  const exampleValue = textType === "application/json" ? (JSON.parse(String(example)) as unknown) : example;
  return { required: true, content: { [textType]: { schema: contentSchema as JsonSchema, example: exampleValue } } };
}

const TAGS: Record<string, string> = {
  product: "Product runtime",
  state: "State",
  log: "State",
  capabilities: "State",
  metrics: "State",
  events: "State",
  chat: "Chat and memory",
  memory: "Chat and memory",
  tasks: "Tasks and feedback",
  task: "Tasks and feedback",
  evolved: "Self-evolution and actions",
  l1l5_trend: "Self-evolution and actions",
  action: "Self-evolution and actions",
  peers: "Peers",
  peer: "Peers",
};

/** Descriptions of the tags, which are the groups of the specification. */
export const TAG_DESCRIPTIONS: Record<string, string> = {
  "Product runtime": "Propose, consent, apply, roll back; the audit log. 503 without a product intent.",
  State: "What the service is at, and what it can do.",
  "Chat and memory": "Questions, answers and what is remembered.",
  "Tasks and feedback": "Work for the service, and what people think of it.",
  "Self-evolution and actions": "What the service learnt, and what can be run by hand.",
  Peers: "Other instances over the cross-host link.",
  Service: "Health and this document.",
};

function findTag(path: string): string {
  const segment = path.startsWith("/ofrep/") ? "product" : (/^\/api\/([^/]+)/.exec(path)?.[1] ?? "");
  return TAGS[segment] ?? "Service";
}
