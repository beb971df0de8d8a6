/** The document with what operations have alike said once: refusals, headers, and the body that may be a form or JSON. */
import { shareFields } from "./borrowed_fields.ts";
import type { OpenApi } from "./document.ts";
import type { Content, JsonSchema, Parameter } from "./json_schema.ts";
import type { Operation } from "./operation.ts";
import { type ApiResponse, readErrorCodes } from "./responses.ts";

type Reference = JsonSchema & { $ref: string };

/** The name of a shared response: short, since most of the document's references are to one. */
const responseName = (status: string): string =>
  status === "default" ? "Error" : `${status >= "400" ? "E" : "R"}${status}`;

/** The same document, and shorter by its references. */
export function shareParts(document: OpenApi) {
  const named = document.components.schemas;
  const schemas: Record<string, unknown> = mapValues(named, (schema) => extendNamed(schema, named));
  const often = findRepeated(Object.values(document.paths).flatMap((methods) => Object.values(methods)));
  const [responses, parameters] = [createSharedParts("responses"), createSharedParts("parameters")];

  const bodies = new Map<string, Reference>();
  const bodyOf = ({ operationId, requestBody }: Pick<Operation, "operationId" | "requestBody">) => {
    if (!requestBody) return {};
    const json = requestBody.content["application/json"];
    if (!json) return { requestBody };
    const name = operationId.charAt(0).toUpperCase() + operationId.slice(1);
    const schema: Reference = { $ref: `#/components/schemas/${name}` };
    const fields = JSON.stringify(json.schema);
    // Two operations may take the very same fields.
    schemas[name] = bodies.get(fields) ?? json.schema;
    if (!bodies.has(fields)) bodies.set(fields, schema);
    const content = Object.entries(requestBody.content).map(([type, media]) => [type, { ...media, schema }]);
    return { requestBody: { ...requestBody, content: Object.fromEntries(content) } };
  };
  const extendContent = (content: Content) =>
    mapValues(content, (media) => ({ ...media, schema: extendNamed(media.schema, named) }));
  const shortenOperation = ({ security, ...operation }: Operation) => ({
    ...operation,
    // The document's own security is none.
    ...(security.length > 0 && { security }),
    ...(operation.parameters && {
      parameters: operation.parameters.map((one) =>
        one.in === "header" ? parameters.refer(one.name.replaceAll("-", ""), one) : dropDefaults(one),
      ),
    }),
    ...bodyOf(operation),
    responses: mapValues(operation.responses, (response, status) => {
      if (isErrorResponse(response)) return describeCodes(response, responses);
      const short = { ...response, ...(response.content && { content: extendContent(response.content) }) };
      return often.has(JSON.stringify(response)) ? responses.refer(responseName(status), short) : short;
    }),
  });
  const paths = mapValues(document.paths, (methods) => mapValues(methods, shortenOperation));
  const { borrow, ...fields } = shareFields("Change", named["Change"]!);
  // Request bodies keep their fields: a form is read by its own.
  const shapes = mapValues(shareNestedFields(schemas as Record<string, JsonSchema>), (schema, name) =>
    name in named && name !== "Change" ? borrow(schema) : schema,
  );
  const shared = { responses: borrow(responses.parts), paths: borrow(paths) };
  const components = {
    ...document.components,
    schemas: { ...shapes, Change: fields.shape(), ...fields.schemas() } as Record<string, unknown>,
    responses: shared.responses,
    parameters: parameters.parts,
  };
  return { ...document, security: [], paths: shared.paths, components };
}

/** Leaves out the examples of single fields: each operation shows a whole one, and the manual's page shows those of answers. */
export const removeFieldExamples = <T>(document: T): T =>
  JSON.parse(
    JSON.stringify(document, (key, value: unknown) => (key === "examples" && Array.isArray(value) ? undefined : value)),
  ) as T;

/** Optional is what a parameter is unless it says otherwise. */
const dropDefaults = ({ required, ...rest }: Parameter): Parameter => (required ? { ...rest, required } : rest);

const ERROR_SCHEMA = { $ref: "#/components/schemas/Error" };

const isErrorResponse = ({ content }: ApiResponse): boolean =>
  content?.["application/json"]?.schema.allOf?.[0]?.$ref === ERROR_SCHEMA.$ref;

/** The response to errors of a kind, which lists their codes; those of the operation stand in the description. */
function describeCodes(response: ApiResponse, responses: ReturnType<typeof createSharedParts>): ApiResponse {
  const { ofKind, own } = readErrorCodes(response);
  const content = { "application/json": { schema: ERROR_SCHEMA } };
  const kind = responses.refer("Error", { description: ofKind.join(", "), content });
  return { ...kind, ...(own.length > 0 && { description: `Also ${own.join(", ")}` }) } as unknown as ApiResponse;
}

/** The responses, as text, that more than one operation has. */
function findRepeated(operations: readonly Operation[]): ReadonlySet<string> {
  const [once, often] = [new Set<string>(), new Set<string>()];
  for (const text of operations.flatMap(({ responses }) => Object.values(responses).map((one) => JSON.stringify(one))))
    (once.has(text) ? often : once).add(text);
  return often;
}

/** Fewer fields are no shape that is worth a reference. */
const MIN_SHARED_FIELDS = 8;

/** An object with all fields of a named one, and more, as that one and its additional fields. */
function extendNamed(schema: JsonSchema, named: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const { properties = {}, required = [], ...rest } = schema;
  const count = Object.keys(properties).length;
  const isBase = ({ properties: own = {} }: JsonSchema): boolean => {
    const fields = Object.entries(own);
    const same = ([name, field]: [string, JsonSchema]) => JSON.stringify(properties[name]) === JSON.stringify(field);
    return fields.length >= MIN_SHARED_FIELDS && fields.length < count && fields.every(same);
  };
  const [name, base] = Object.entries(named).find(([, shape]) => isBase(shape)) ?? [];
  if (!base) return schema;
  const own = (field: string): boolean => !(field in base.properties!);
  return {
    ...rest,
    allOf: [{ $ref: `#/components/schemas/${name}` }],
    properties: Object.fromEntries(Object.entries(properties).filter(([field]) => own(field))),
    required: required.filter(own),
  };
}

/** Bodies where an object within one has the fields of another body: both extend a schema of these fields. */
function shareNestedFields(bodies: Record<string, JsonSchema>): Record<string, JsonSchema> {
  const all = { ...bodies };
  const within = Object.entries(bodies).flatMap(([name, { properties = {} }]) =>
    Object.entries(properties).map(([field, object]) => ({ name, field, object })),
  );
  for (const { name, field, object } of within) {
    const { properties = {}, required = [], description } = object;
    const fields = Object.entries(properties);
    const [other, otherBody] =
      Object.entries(bodies).find(
        ([one, body]) =>
          one !== name &&
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

/** Parts of a kind by their names: those that are alike have one, and a further one of a name a number after it, as `E403_2`. */
function createSharedParts(kind: string) {
  const parts: Record<string, unknown> = {};
  const names = new Map<string, string>();
  const named = (wanted: string, part: unknown): string => {
    const known = Object.keys(parts).filter((name) => name.replace(/_\d+$/, "") === wanted).length;
    const name = known === 0 ? wanted : `${wanted}_${known + 1}`;
    parts[name] = part;
    return name;
  };
  const refer = (wanted: string, part: unknown): Reference => {
    const text = JSON.stringify(part);
    const name = names.get(text) ?? named(wanted, part);
    names.set(text, name);
    return { $ref: `#/components/${kind}/${name}` };
  };
  return { parts, refer };
}

const mapValues = <V, W>(of: Readonly<Record<string, V>>, make: (value: V, name: string) => W): Record<string, W> =>
  Object.fromEntries(Object.entries(of).map(([name, value]) => [name, make(value, name)]));
