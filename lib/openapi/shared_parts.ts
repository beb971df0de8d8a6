/** Shortens the document: errors, headers, bodies and fields that several operations have are defined once. */
import { shareFields } from "./shared_fields.ts";
import type { OpenApi } from "./document.ts";
import type { Content, JsonSchema, Parameter } from "./json_schema.ts";
import type { Operation } from "./operation.ts";
import { type ApiResponse, readErrorCodes } from "./responses.ts";

type Reference = JsonSchema & { $ref: string };

/** Returns the name of a shared response, which is short because most references are to responses. */
const responseName = (status: string): string =>
  status === "default" ? "Error" : `${status >= "400" ? "E" : "R"}${status}`;

/** Replaces equal parts of the document by references. */
export function shareParts(document: OpenApi) {
  const namedSchemas = document.components.schemas;
  const schemas: Record<string, unknown> = mapValues(namedSchemas, (schema) => extendNamed(schema, namedSchemas));
  const repeated = findRepeated(Object.values(document.paths).flatMap((methods) => Object.values(methods)));
  const [responses, parameters] = [createSharedParts("responses"), createSharedParts("parameters")];

  const bodies = new Map<string, Reference>();
  const shareBody = ({ operationId, requestBody }: Pick<Operation, "operationId" | "requestBody">) => {
    if (!requestBody) return {};
    const json = requestBody.content["application/json"];
    if (!json) return { requestBody };
    const name = operationId.charAt(0).toUpperCase() + operationId.slice(1);
    const schema: Reference = { $ref: `#/components/schemas/${name}` };
    const fields = JSON.stringify(json.schema);
    // Two operations may have equal fields; then the second schema refers to the first.
    schemas[name] = bodies.get(fields) ?? json.schema;
    if (!bodies.has(fields)) bodies.set(fields, schema);
    const content = Object.entries(requestBody.content).map(([type, media]) => [type, { ...media, schema }]);
    return { requestBody: { ...requestBody, content: Object.fromEntries(content) } };
  };
  const extendContent = (content: Content) =>
    mapValues(content, (media) => ({ ...media, schema: extendNamed(media.schema, namedSchemas) }));
  const shortenOperation = ({ security, ...operation }: Operation) => ({
    ...operation,
    // The document's default is no security.
    ...(security.length > 0 && { security }),
    ...(operation.parameters && {
      parameters: operation.parameters.map((parameter) =>
        parameter.in === "header"
          ? parameters.refer(parameter.name.replaceAll("-", ""), parameter)
          : dropDefaults(parameter),
      ),
    }),
    ...shareBody(operation),
    responses: mapValues(operation.responses, (response, status) => {
      if (isErrorResponse(response)) return describeCodes(response, responses);
      const short = { ...response, ...(response.content && { content: extendContent(response.content) }) };
      return repeated.has(JSON.stringify(response)) ? responses.refer(responseName(status), short) : short;
    }),
  });
  const paths = mapValues(document.paths, (methods) => mapValues(methods, shortenOperation));
  const { replaceFields, ...fields } = shareFields("Change", namedSchemas["Change"]!);
  // Request bodies keep their fields, since a form has no references.
  const shapes = mapValues(shareNestedFields(schemas as Record<string, JsonSchema>), (schema, name) =>
    name in namedSchemas && name !== "Change" ? replaceFields(schema) : schema,
  );
  const shared = { responses: replaceFields(responses.parts), paths: replaceFields(paths) };
  const components = {
    ...document.components,
    schemas: { ...shapes, Change: fields.shape(), ...fields.schemas() } as Record<string, unknown>,
    responses: shared.responses,
    parameters: parameters.parts,
  };
  return { ...document, security: [], paths: shared.paths, components };
}

/** Removes the examples of fields: each operation has a complete example, and the page shows those of answers. */
export const removeFieldExamples = <T>(document: T): T =>
  JSON.parse(
    JSON.stringify(document, (key, value: unknown) => (key === "examples" && Array.isArray(value) ? undefined : value)),
  ) as T;

/** Removes `required: false`, which is the default. */
const dropDefaults = ({ required, ...rest }: Parameter): Parameter => (required ? { ...rest, required } : rest);

const ERROR_SCHEMA = { $ref: "#/components/schemas/Error" };

const isErrorResponse = ({ content }: ApiResponse): boolean =>
  content?.["application/json"]?.schema.allOf?.[0]?.$ref === ERROR_SCHEMA.$ref;

/** Refers to the shared response that lists the codes of the kind, and describes the operation's own codes. */
function describeCodes(response: ApiResponse, responses: ReturnType<typeof createSharedParts>): ApiResponse {
  const { kindCodes, ownCodes } = readErrorCodes(response);
  const content = { "application/json": { schema: ERROR_SCHEMA } };
  // In OpenAPI 3.1 a reference can have its own description. The type of a response has no references, hence the cast.
  const kind = responses.refer("Error", { description: kindCodes.join(", "), content });
  return {
    ...kind,
    ...(ownCodes.length > 0 && { description: `Also ${ownCodes.join(", ")}` }),
  } as unknown as ApiResponse;
}

/** Finds the responses, as JSON text, that more than one operation has. */
function findRepeated(operations: readonly Operation[]): ReadonlySet<string> {
  const texts = operations.flatMap(({ responses }) =>
    Object.values(responses).map((response) => JSON.stringify(response)),
  );
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const text of texts) {
    if (seen.has(text)) repeated.add(text);
    seen.add(text);
  }
  return repeated;
}

/** Least fields of a shape that is worth a reference. */
const MIN_SHARED_FIELDS = 8;

/** Rewrites an object that has all fields of a named shape, and more, as an extension of that shape. */
function extendNamed(schema: JsonSchema, namedSchemas: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const { properties = {}, required = [], ...rest } = schema;
  const count = Object.keys(properties).length;
  const isBase = (shape: JsonSchema): boolean => {
    const fields = Object.entries(shape.properties ?? {});
    const isSame = ([name, field]: [string, JsonSchema]) => JSON.stringify(properties[name]) === JSON.stringify(field);
    return fields.length >= MIN_SHARED_FIELDS && fields.length < count && fields.every(isSame);
  };
  const [name, base] = Object.entries(namedSchemas).find(([, shape]) => isBase(shape)) ?? [];
  if (!base) return schema;
  const isAdditional = (field: string): boolean => !(field in base.properties!);
  return {
    ...rest,
    allOf: [{ $ref: `#/components/schemas/${name}` }],
    properties: Object.fromEntries(Object.entries(properties).filter(([field]) => isAdditional(field))),
    required: required.filter(isAdditional),
  };
}

/** Finds fields whose members are all members of another body, and defines these members once, as a schema that both extend. */
function shareNestedFields(bodies: Record<string, JsonSchema>): Record<string, JsonSchema> {
  const all = { ...bodies };
  const fieldsOfBodies = Object.entries(bodies).flatMap(([name, { properties = {} }]) =>
    Object.entries(properties).map(([field, object]) => ({ name, field, object })),
  );
  for (const { name, field, object } of fieldsOfBodies) {
    const { properties = {}, required = [], description } = object;
    const fields = Object.entries(properties);
    const [other, otherBody] =
      Object.entries(bodies).find(
        ([otherName, body]) =>
          otherName !== name &&
          fields.length >= MIN_SHARED_FIELDS &&
          fields.every(([key, schema]) => JSON.stringify(schema) === JSON.stringify(body.properties?.[key])),
      ) ?? [];
    if (!other || !otherBody) continue;
    const base = `${other}Fields`;
    all[base] = { type: "object", properties, required, description: `Fields of ${other}.` };
    const allOf = [{ $ref: `#/components/schemas/${base}` }];
    const rest = Object.fromEntries(Object.entries(otherBody.properties!).filter(([key]) => !(key in properties)));
    all[other] = { allOf, properties: rest, unevaluatedProperties: false };
    const nested = { ...(description !== undefined && { description }), allOf, unevaluatedProperties: false };
    all[name] = { ...all[name], properties: { ...all[name]!.properties, [field]: nested } };
  }
  return all;
}

/** Collects the parts of a kind by name. Equal parts share a name; a different part of that name gets a number, as `E403_2`. */
function createSharedParts(kind: string) {
  const parts: Record<string, unknown> = {};
  const names = new Map<string, string>();
  const addPart = (baseName: string, part: unknown): string => {
    const count = Object.keys(parts).filter((name) => name.replace(/_\d+$/, "") === baseName).length;
    const name = count === 0 ? baseName : `${baseName}_${count + 1}`;
    parts[name] = part;
    return name;
  };
  const refer = (baseName: string, part: unknown): Reference => {
    const text = JSON.stringify(part);
    const name = names.get(text) ?? addPart(baseName, part);
    names.set(text, name);
    return { $ref: `#/components/${kind}/${name}` };
  };
  return { parts, refer };
}

const mapValues = <V, W>(record: Readonly<Record<string, V>>, map: (value: V, name: string) => W): Record<string, W> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));
