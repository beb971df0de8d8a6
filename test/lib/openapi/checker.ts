/** Holds answers to the document, with every shape closed: an undescribed field is a failure too. */
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

/** The answer with its JSON parsed; `body` is undefined for any other media type. */
export interface Reported {
  status: number;
  media: string;
  // oxlint-disable-next-line no-explicit-any -- whatever the service answered
  body: any;
}

/** Checks answers to operations of a document, and reads them. */
export function checker(document: OpenApi): (target: Target, response: Response) => Promise<Reported> {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  // The package is CommonJS: its default export may arrive one level deeper.
  const add = formats as unknown as { default?: (to: Ajv2020) => void } & ((to: Ajv2020) => void);
  (add.default ?? add)(ajv);
  ajv.addSchema(closed(document) as object, "document");

  return async ({ template, method, operation }, response) => {
    const { status } = response;
    const key = status in operation.responses || status < 400 ? String(status) : "default";
    const described = operation.responses[key];
    expect(described, `${operation.operationId} answers ${status}, which the document does not tell`).toBeDefined();
    const type = response.headers.get("content-type") ?? "";
    if (described!.content === undefined) {
      expect([type, await response.text()], `${operation.operationId} ${status} has no body`).toEqual(["", ""]);
      return { status, media: "", body: undefined };
    }
    const media = Object.keys(described!.content).find((known) => type.startsWith(known));
    expect(media, `${operation.operationId} answers ${type}, which the document does not tell`).toBeDefined();
    const headers: Record<string, { description: string; required?: boolean }> = document.components.headers;
    const always = Object.keys(described!.headers ?? {}).filter((name) => headers[name]!.required);
    for (const name of ["X-Request-Id", ...always, ...(status === 401 ? ["WWW-Authenticate"] : [])])
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

/** Errors stay open: they carry what helps to mend them. */
function closed(part: unknown, name = ""): unknown {
  if (Array.isArray(part)) return part.map((item) => closed(item));
  if (typeof part !== "object" || part === null) return part;
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(part)) copy[key] = closed(value, key);
  const isShape = typeof copy["properties"] === "object" && copy["type"] === "object";
  if (isShape && name !== "Error" && !("additionalProperties" in copy)) copy["additionalProperties"] = false;
  return copy;
}
