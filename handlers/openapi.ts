import * as z from "zod";
import type { GovernanceDeps } from "../lib/governance/deps.ts";
import { type Call, type Endpoint, endpoint } from "../lib/http/endpoint.ts";
import { answer } from "../lib/http/answer.ts";
import { documentOf, servedTo } from "../lib/openapi/document.ts";
import type { Documented } from "../lib/openapi/responses.ts";

/**
 * GET /openapi.json: OpenAPI 3.1 of the endpoints, from their own declarations. The list is asked for when it is needed,
 * since this endpoint is part of it.
 */
export function openapi(endpoints: () => readonly Documented[]): Endpoint<GovernanceDeps> {
  const document = documentOf(endpoints);
  return endpoint(
    {
      method: "GET",
      path: "/openapi.json",
      summary: "This API as OpenAPI 3.1",
      open: true,
      input: z.object({}),
      output: z.record(z.string(), z.unknown()),
    },
    async (_input, { deps, request }: Call<GovernanceDeps>) =>
      answer(servedTo(request, "/openapi.json", document(deps))),
  );
}
