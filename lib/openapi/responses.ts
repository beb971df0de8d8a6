/** Describes the responses of an endpoint by status: its success, and the error codes of its declaration and its kind. */
import * as z from "zod";
import { type Declaration, outputSchema, type ErrorFormat } from "../http/endpoint.ts";
import { type ErrorCode, httpStatus } from "../kit/errors.ts";
import { NAMED_SCHEMAS } from "./components.ts";
import { type Content, type JsonSchema, toJsonSchema } from "./json_schema.ts";

/** The declaration of an endpoint that the document lists. */
export type DocumentedEndpoint = Declaration;

/** Refers to headers of a response. `X-Request-Id` is left out, since the document's description covers it. */
const headerReferences = (...names: (string | false | undefined)[]): Pick<ApiResponse, "headers"> => {
  const present = names.filter((name) => typeof name === "string");
  return present.length === 0 ? {} : { headers: Object.fromEntries(present.map((name) => [name, reference(name)])) };
};

const reference = (name: string) => ({ $ref: `#/components/headers/${name}` });

export interface ApiResponse {
  description: string;
  /** Absent if there is only `X-Request-Id`. */
  headers?: Record<string, { $ref: string }>;
  /** Absent if there is no body. */
  content?: Content;
}

export function describeResponses(endpoint: DocumentedEndpoint): Record<string, ApiResponse> {
  const success = describeSuccess(endpoint);
  const responses: Record<string, ApiResponse> = { [endpoint.success ?? 200]: success };
  if (endpoint.errorFormat) Object.assign(responses, rejectionResponses(endpoint.errorFormat));
  else Object.assign(responses, errorResponses(endpoint));
  const errors = endpoint.product ? groupByStatus(listErrorCodes(endpoint)) : undefined;
  // An endpoint of the product may also answer such a status with an error.
  for (const status of endpoint.sameBodyStatuses ?? []) {
    const sameBody = { ...success, description: `As ${endpoint.success ?? 200}, when something is wrong` };
    const codes = errors?.get(status);
    responses[status] = codes ? combineResponses(sameBody, errorResponse(codes)) : sameBody;
  }
  for (const status of endpoint.emptyStatuses ?? [])
    responses[status] = { description: "Taken; there is nothing to answer" };
  if (endpoint.notModified)
    responses["304"] = {
      description: "If-None-Match is still current",
      ...headerReferences("ETag"),
    };
  return responses;
}

/** Responses for the errors of an external protocol. */
const rejectionResponses = ({ bodies }: ErrorFormat): Record<string, ApiResponse> =>
  Object.fromEntries(
    Object.entries(bodies).map(([status, body]): [string, ApiResponse] => [
      status,
      {
        description: body === null ? "Error, without a body" : "Error",
        ...headerReferences(status === "401" && "WWW-Authenticate"),
        ...(body && { content: describeContent(body) }),
      },
    ]),
  );

/** Returns the codes of an endpoint: those of its kind, and its own. */
export const listErrorCodes = (endpoint: DocumentedEndpoint): ErrorCode[] => [
  ...new Set([...listKindCodes(endpoint), ...(endpoint.errors ?? [])]),
];

/** Describes all errors as one response, with the codes of the endpoint's kind as one list and its own as another. */
function errorResponses(endpoint: DocumentedEndpoint): Record<string, ApiResponse> {
  const { method, open } = endpoint;
  // The list has all codes that any endpoint of this method may answer, so that all of them share it. `/:` stands for any path
  // with a parameter.
  const kindCodes = listKindCodes({ method, path: "/:", product: true, ...(open && { open }) });
  return { default: errorResponse(kindCodes, listErrorCodes(endpoint)) };
}

/** Returns the codes that an error response lists: those of the endpoint's kind, and its own. */
export function readErrorCodes({ content }: ApiResponse): { kindCodes: ErrorCode[]; ownCodes: ErrorCode[] } {
  const { enum: only, anyOf: [kind, ownCodes] = [] } = content?.["application/json"]?.schema.properties?.["code"] ?? {};
  return { kindCodes: (only ?? kind?.enum ?? []) as ErrorCode[], ownCodes: (ownCodes?.enum ?? []) as ErrorCode[] };
}

/** The part of a declaration that decides on the codes of its kind. */
type Kind = Pick<DocumentedEndpoint, "method" | "path"> & Partial<DocumentedEndpoint>;

/** Lists the codes that every endpoint of a kind may answer. */
function listKindCodes(endpoint: Kind): ErrorCode[] {
  const { method, path, product, open, agents, reads, ownReads, personOptional, ignoresPerson, text, textType } =
    endpoint;
  const codes: ErrorCode[] = ["invalid_field", "host_not_allowed", "internal", "store_unavailable", "store_busy"];
  // A serverless host may answer these for any endpoint.
  codes.push("cannot_start", "interrupted");
  if (!ignoresPerson) codes.push("invalid_identity");
  if (method === "POST") codes.push("cross_site", "payload_too_large");
  if (method === "POST" && (text === undefined || textType)) codes.push("unsupported_media_type");
  if (path.includes("/:")) codes.push("not_found");
  if (product) codes.push("product_runtime_disabled");
  if (product && method === "POST" && !reads)
    codes.push("evidence_mismatch", "chain_broken", "clock_behind", "intent_outdated");
  if (!open) codes.push("unauthorized");
  const isForAgents = method === "POST" && !reads ? agents : ownReads;
  if (!isForAgents && !open) codes.push("agent_may_not");
  if (method === "POST" && product && !personOptional && !reads) codes.push("person_required");
  return codes;
}

function describeSuccess({ success = 200, errors = [], notModified, ...declared }: DocumentedEndpoint): ApiResponse {
  const output = outputSchema(declared);
  const content = describeContent(output);
  const body = content["application/json"]?.schema;
  const hasVersion = body !== undefined && (hasField(output, "revision") || hasField(output, "change"));
  return {
    description: success === 201 ? "Created" : "OK",
    ...headerReferences(
      (hasVersion || notModified) && "ETag",
      errors.includes("idempotency_key_reused") && "Idempotency-Replayed",
    ),
    content,
  };
}

/** Combines two responses of the same status: the success body, and an error. */
function combineResponses(success: ApiResponse, error: ApiResponse): ApiResponse {
  const [successSchema, errorSchema] = [success, error].map(({ content }) => content!["application/json"]!.schema);
  return {
    description: `${success.description}; or an error`,
    content: { "application/json": { schema: { anyOf: [successSchema!, errorSchema!] } } },
  };
}

const hasField = (output: z.ZodType, field: string): boolean =>
  output instanceof z.ZodObject && Object.hasOwn(output.shape as object, field);

/** Describes the bodies by media type, which for a text is its `contentMediaType`; each option of a union is a body. */
function describeContent(output: z.ZodType): Content {
  const content: Content = {};
  for (const option of listOptions(output)) {
    const { contentMediaType, ...schema } = toJsonSchema(option, "output", NAMED_SCHEMAS);
    const isText = option instanceof z.ZodString;
    content[isText ? ((contentMediaType as string | undefined) ?? "text/plain") : "application/json"] = { schema };
  }
  return content;
}

const listOptions = (output: z.ZodType): z.ZodType[] =>
  output instanceof z.ZodUnion ? (output.options as z.ZodType[]) : [output];

/** Groups error codes by the status that each is answered with. */
export function groupByStatus(codes: readonly ErrorCode[]): Map<number, ErrorCode[]> {
  const grouped = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const status = httpStatus(code);
    grouped.set(status, [...(grouped.get(status) ?? []), code]);
  }
  return grouped;
}

/** Describes an error with the codes of a kind and of an endpoint. */
function errorResponse(kindCodes: readonly ErrorCode[], ownCodes: readonly ErrorCode[] = []): ApiResponse {
  const further = ownCodes.filter((code) => !kindCodes.includes(code));
  const kind = { enum: [...kindCodes] };
  const code: JsonSchema = further.length > 0 ? { anyOf: [kind, { enum: further }] } : kind;
  const schema: JsonSchema = { allOf: [{ $ref: "#/components/schemas/Error" }], properties: { code } };
  return { description: "Error", content: { "application/json": { schema } } };
}
