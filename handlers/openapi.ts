import * as z from "zod";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { type Call, type Endpoint, endpoint } from "../lib/http/endpoint.ts";
import { answer } from "../lib/http/answer.ts";
import { makeDocument, addServer } from "../lib/openapi/document.ts";
import { removeFieldExamples, shareParts } from "../lib/openapi/shared_parts.ts";
import type { DocumentedEndpoint } from "../lib/openapi/responses.ts";

/**
 * GET /openapi.json: the OpenAPI 3.1 document of the endpoints, made from their declarations. `endpoints` is a function, since the
 * list includes this endpoint.
 */
export function openapi(endpoints: () => readonly DocumentedEndpoint[]): Endpoint<ChangesDeps> {
  const document = makeDocument(endpoints, (full) => removeFieldExamples(shareParts(full)));
  return endpoint(
    {
      method: "GET",
      path: "/openapi.json",
      summary: "This API as OpenAPI 3.1",
      operation: "getApiDocument",
      description: "This document, made from the declarations by which requests are checked.",
      example: {},
      open: true,
      input: z.object({}),
      output: z.record(z.string(), z.unknown()),
    },
    async (_input, { deps, request }: Call<ChangesDeps>) => answer(addServer(request, "/openapi.json", document(deps))),
  );
}
