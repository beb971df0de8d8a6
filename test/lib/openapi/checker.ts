/** Checks responses against the OpenAPI document; a field that the document does not describe is a failure, too. */
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { expect } from "vitest";
import { type ErrorCode, httpStatus } from "../../../lib/kit/errors.ts";
import type { OpenApi } from "../../../lib/openapi/document.ts";
import type { Operation } from "../../../lib/openapi/operation.ts";

/** One operation of the document. */
export interface Target {
  template: string;
  method: "get" | "post";
  operation: Operation;
}

/** A checked response; `body` is undefined unless the response is JSON. */
export interface CheckedResponse {
  status: number;
  media: string;
  // oxlint-disable-next-line no-explicit-any -- any JSON
  body: any;
}

/** Returns a function that checks and reads the response to an operation of a document. */
export function checker(document: OpenApi): (target: Target, response: Response) => Promise<CheckedResponse> {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  // The package is CommonJS: its default export may arrive one level deeper.
  const addFormats = formats as unknown as { default?: (to: Ajv2020) => void } & ((to: Ajv2020) => void);
  (addFormats.default ?? addFormats)(ajv);
  ajv.addSchema(withoutOtherFields(document) as object, "document");

  return async ({ template, method, operation }, response) => {
    const { status } = response;
    const key = status in operation.responses || status < 400 ? String(status) : "default";
    const declared = operation.responses[key];
    expect(declared, `${operation.operationId} answers ${status}, which the document does not describe`).toBeDefined();
    const type = response.headers.get("content-type") ?? "";
    if (declared!.content === undefined) {
      expect([type, await response.text()], `${operation.operationId} ${status} has no body`).toEqual(["", ""]);
      return { status, media: "", body: undefined };
    }
    const media = Object.keys(declared!.content).find((declaredType) => type.startsWith(declaredType));
    expect(media, `${operation.operationId} answers ${type}, which the document does not describe`).toBeDefined();
    const headers: Record<string, { description: string; required?: boolean }> = document.components.headers;
    const requiredHeaders = Object.keys(declared!.headers ?? {}).filter((name) => headers[name]!.required);
    for (const name of ["X-Request-Id", ...requiredHeaders, ...(status === 401 ? ["WWW-Authenticate"] : [])])
      expect(response.headers.has(name), `${operation.operationId} ${status} has ${name}`).toBe(true);
    if (media !== "application/json") {
      await response.body?.cancel();
      return { status, media: media!, body: undefined };
    }
    const body: unknown = await response.json();
    const check = ajv.getSchema(pointer(["paths", template, method, "responses", key]))!;
    expect(check(body), `${operation.operationId} ${status}: ${ajv.errorsText(check.errors)}`).toBe(true);
    if (key === "default") expect(httpStatus((body as { code: ErrorCode }).code)).toBe(status);
    return { status, media: media!, body };
  };
}

const pointer = (path: string[]): string =>
  `document#/${[...path, "content", "application/json", "schema"]
    .map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1")))
    .join("/")}`;

/** Returns a copy of a schema in which objects, except errors, allow no other fields. */
function withoutOtherFields(part: unknown, name = ""): unknown {
  if (Array.isArray(part)) return part.map((item) => withoutOtherFields(item));
  if (typeof part !== "object" || part === null) return part;
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(part)) copy[key] = withoutOtherFields(value, key);
  const isObjectSchema = typeof copy["properties"] === "object" && copy["type"] === "object";
  if (isObjectSchema && name !== "Error" && !("additionalProperties" in copy)) copy["additionalProperties"] = false;
  return copy;
}
