/** The parts of OpenAPI 3.1 that are used here. */

/** JSON Schema 2020-12. */
export interface JsonSchema {
  [keyword: string]: unknown;
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  allOf?: JsonSchema[];
  enum?: unknown[];
}

/** A path, query or header parameter. */
export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  schema: JsonSchema;
}

/** Bodies by media type. */
export type Content = Record<string, { schema: JsonSchema; encoding?: Record<string, { contentType: string }> }>;

/** What is answered under one status. */
export interface ApiResponse {
  description: string;
  headers?: Record<string, { $ref: string }>;
  content?: Content;
}

/** One method of one path. */
export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  /** Alternatives; none: open to all. */
  security: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, ApiResponse>;
}

/** A whole document. */
export interface OpenApi {
  openapi: "3.1.1";
  info: { title: string; version: string; description: string; license: { name: string; identifier: string } };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Partial<Record<"get" | "post", Operation>>>;
  components: {
    schemas: Record<string, JsonSchema>;
    headers: Record<string, { description: string; required?: boolean; schema: JsonSchema }>;
    securitySchemes: Record<string, { type: "apiKey"; in: "header"; name: string; description: string }>;
  };
}
