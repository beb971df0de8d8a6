/**
 * Generates from the service's own OpenAPI document the types of `countersign/client` and the fields that the command line
 * sends. Both files are in lib/client/generated and checked in, so that a fresh clone type-checks; a test compares them.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { format } from "prettier";
import { root } from "./root.mjs";

/** Generates the files of a document, by path. */
export async function makeFiles(document) {
  const formatCode = (text) => format(text, { parser: "typescript", printWidth: 120 });
  return {
    "lib/client/generated/paths.ts": await formatCode(pathsFile(document)),
    "lib/client/generated/operations.ts": await formatCode(operationsFile(document)),
  };
}

const HEADING = "Made from the OpenAPI document by .ci/build/client_types.mjs; `npm run client:types` writes it again.";

/** Lists the operations of a document with their path and method. */
const listOperations = ({ paths }) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

function pathsFile(document) {
  const { paths, components } = document;
  // The fields of a body are written where it is sent, so its schema needs no name.
  const sent = listOperations(document).map(({ operation }) => findBody(document, operation)?.schema.$ref);
  const named = Object.entries(components.schemas)
    .filter(([name]) => !sent.includes(`#/components/schemas/${name}`))
    .map(([name, schema]) => formatMember(name, schema, true, isBodySchema(name) ? "input" : "output"));
  const listed = Object.entries(paths).map(([path, methods]) => {
    const each = Object.entries(methods).map(([method, operation]) => operationType(document, method, operation));
    return `${JSON.stringify(path)}: { ${each.join("\n")} };`;
  });
  const keyed = listOperations(document)
    .filter(({ operation }) => listParameters(document, operation).some(({ name }) => name === "Idempotency-Key"))
    .map(({ path }) => path);
  return `/** ${HEADING} */

    /** Requests and answers of the service, by path and method, as \`openapi-fetch\` reads it; errors are thrown. */
    export interface paths { ${listed.join("\n")} }

    /** Schemas that answers share. */
    export interface components { schemas: { ${named.join("\n")} } }

    /** The POSTs that take an \`Idempotency-Key\`. */
    export const KEYED: readonly string[] = ${JSON.stringify(keyed)};
  `;
}

/** Checks that a schema has fields that several bodies share. */
const isBodySchema = (name) => name.endsWith("Fields");

/** Returns the fields of a body, including the shared ones. */
function completeBody(document, schema) {
  const { allOf = [], properties = {}, required = [] } = resolvePart(document, schema);
  const bases = allOf.map((base) => resolvePart(document, base));
  return {
    properties: Object.assign({}, ...bases.map((base) => base.properties), properties),
    required: [...bases.flatMap((base) => base.required ?? []), ...required],
  };
}

/** Resolves a reference within the document. */
function resolvePart(document, part) {
  if (part.$ref === undefined) return part;
  const names = part.$ref.split("/").slice(1);
  return resolvePart(
    document,
    names.reduce((at, name) => at[name], document),
  );
}

const listParameters = (document, { parameters = [] }) => parameters.map((one) => resolvePart(document, one));

/** Returns the media types of a body and their common schema; undefined for an operation without a body. */
function findBody(document, { requestBody }) {
  if (!requestBody) return undefined;
  const { content, required } = resolvePart(document, requestBody);
  return { media: Object.keys(content), schema: Object.values(content).at(-1).schema, required };
}

function operationType(document, method, operation) {
  const parameters = listParameters(document, operation);
  const groups = ["query", "header", "path"].map((location) => {
    const own = parameters.filter((one) => one.in === location);
    const needed = own.some(({ required }) => required);
    const members = own.map(({ name, description, required, schema }) =>
      formatMember(name, { description, ...schema }, required, "input"),
    );
    return own.length === 0 ? `${location}?: never;` : `${location}${needed ? "" : "?"}: { ${members.join("\n")} };`;
  });
  const body = findBody(document, operation);
  const success = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
  const responses = success.map(([status, response]) => {
    const contents = Object.entries(resolvePart(document, response).content ?? {});
    const members = contents.map(([media, { schema }]) => `${JSON.stringify(media)}: ${toType(schema, "output")};`);
    return `${status}: { content: { ${members.join("\n")} } };`;
  });
  return `${formatComment([operation.summary, operation.description])}${method}: {
      parameters: { ${groups.join("\n")} cookie?: never };
      ${body ? `requestBody${body.required ? "" : "?"}: { content: ${bodyType(document, body)} };` : "requestBody?: never;"}
      responses: { ${responses.join("\n")} };
    };`;
}

/** Returns the type of a body; a form and JSON with the same fields have one. */
function bodyType(document, { media, schema }) {
  const names = media.map((name) => JSON.stringify(name));
  return `Record<${names.join(" | ")}, ${toType(resolvePart(document, schema), "input")}>`;
}

/** Converts JSON Schema to a type. With the `io` `input`, optional fields may be `undefined`; requests leave them out. */
function toType(schema, io) {
  if (schema.$ref) {
    // `#/components/schemas/NAME`, or a field of it: `#/components/schemas/NAME/properties/FIELD`.
    const [name, , field] = schema.$ref.split("/").slice(3);
    const shape = `components["schemas"][${JSON.stringify(name)}]`;
    return field === undefined ? shape : `${shape}[${JSON.stringify(field)}]`;
  }
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  const parts = [];
  const options = schema.anyOf ?? schema.oneOf;
  if (options && !hasOnlyRules(options)) parts.push(options.map((one) => toType(one, io)).join(" | "));
  for (const one of schema.allOf ?? []) parts.push(toType(one, io));
  if (Array.isArray(schema.type)) parts.push(schema.type.map((type) => toType({ ...schema, type }, io)).join(" | "));
  else if (schema.type === "array") parts.push(`(${toType(schema.items ?? {}, io)})[]`);
  else if (schema.type === "object" || schema.properties) parts.push(objectType(schema, io));
  else if (schema.type) parts.push({ integer: "number" }[schema.type] ?? schema.type);
  if (parts.length === 0) return "unknown";
  return parts.length === 1 ? parts[0] : parts.map((part) => `(${part})`).join(" & ");
}

/** Checks that alternatives only state which fields are required. */
const hasOnlyRules = (options) => options.every((one) => Object.keys(one).every((keyword) => keyword === "required"));

function objectType({ properties = {}, required = [], additionalProperties }, io) {
  const members = Object.entries(properties).map(([name, one]) => formatMember(name, one, required.includes(name), io));
  const others = typeof additionalProperties === "object" ? `Record<string, ${toType(additionalProperties, io)}>` : "";
  if (members.length === 0) return others || "Record<string, unknown>";
  return `{ ${members.join("\n")} }${others && ` & ${others}`}`;
}

function formatMember(name, schema, required, io) {
  const type = toType(schema, io);
  const absent = !required && io === "input" && type !== "unknown" ? " | undefined" : "";
  return `${formatComment([schema.description])}${JSON.stringify(name)}${required ? "" : "?"}: ${type}${absent};`;
}

/** Formats sentences as a comment. */
function formatComment(sentences) {
  const text = sentences.filter(Boolean).join("\n\n").replaceAll("*/", "*\u200b/");
  return text === "" ? "" : `\n/** ${text.replaceAll("\n", "\n * ")} */\n`;
}

/** Generates the fields of the operations of the command line, with their descriptions. */
function operationsFile(document) {
  const entries = listOperations(document)
    .filter(({ path }) => COMMAND_LINE.includes(path))
    .map(({ path, method, operation }) => {
      const fields = Object.fromEntries(listFields(document, operation));
      const { summary, description } = operation;
      return `${JSON.stringify(`${method.toUpperCase()} ${path}`)}: ${JSON.stringify({ summary, description, fields })}`;
    });
  return `/** ${HEADING} */

    /** A field of an operation. */
    export interface Field {
      type: "string" | "integer" | "number" | "boolean" | "json";
      required?: true;
      description?: string;
      choices?: readonly string[];
    }

    /** The API's descriptions of the operations of the command line. */
    export const OPERATIONS = { ${entries.join(",\n")} } as const satisfies Record<
      string, { summary: string; description?: string; fields: Record<string, Field> }>;
  `;
}

/** The paths that the command line requests. */
const COMMAND_LINE = [
  ..."propose approve deny revoke withdraw apply rollback restore stage note freeze unfreeze kpi runtime".split(" "),
  ..."audit audit/verify audit/accept-loss changes/{change_id}".split(" "),
  ..."changes/{change_id}/certificate changes/{change_id}/attestation mandates mandates/{mandate_id}".split(" "),
  ..."mandate-sign mandate-narrow mandate-resume mandate-revoke".split(" "),
]
  .map((name) => `/api/product/${name}`)
  .concat("/api/find", "/api/gate", "/api/whoami", "/api/state");

/** Fields that the program itself fills: a proof and its time. */
const FILLED_FIELDS = ["proof", "at"];

function listFields(document, operation) {
  const parameters = listParameters(document, operation).filter((one) => one.in !== "header");
  const requestBody = findBody(document, operation);
  const body = requestBody && completeBody(document, requestBody.schema);
  const inBody = Object.entries(body?.properties ?? {}).filter(([name]) => !FILLED_FIELDS.includes(name));
  return [
    ...parameters.map(({ name, required, description, schema }) => [
      name,
      formatField({ description, ...schema }, required),
    ]),
    ...inBody.map(([name, schema]) => [name, formatField(schema, body.required.includes(name), name)]),
  ];
}

/** Fields whose values the intent defines, so that their choices are not fixed. */
const INTENT_FIELDS = ["kpi"];

function formatField({ type: stated, anyOf, enum: listed, description }, required, name) {
  const type = stated ?? (anyOf?.every((part) => part.type === "string") ? "string" : undefined);
  const choices = INTENT_FIELDS.includes(name) ? undefined : listed;
  const jsonType = ["string", "integer", "number", "boolean"].includes(type) ? type : "json";
  return {
    type: jsonType,
    ...(required && { required }),
    ...(description && { description }),
    ...(choices && { choices }),
  };
}

/** Builds from the sources the document that a service without an intent serves. */
async function buildDocument() {
  const { outputFiles } = await esbuild.build({
    stdin: {
      contents: `export { endpoints } from "./handlers/index.ts"; export { makeOpenApi } from "./lib/openapi/document.ts"; export { shareParts } from "./lib/openapi/shared_parts.ts";`,
      resolveDir: root,
    },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    mainFields: ["module", "main"],
  });
  const source = Buffer.from(outputFiles[0].contents).toString("base64");
  const { endpoints, makeOpenApi, shareParts } = await import(`data:text/javascript;base64,${source}`);
  return shareParts(makeOpenApi(endpoints, ""));
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [path, text] of Object.entries(await makeFiles(await buildDocument())))
    await writeFile(join(root, path), text);
