import * as z from "zod";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import { hexBytes } from "../lib/audit/merkle.ts";
import { toBase64 } from "../lib/kit/base64.ts";
import { type Call, type Endpoint, endpoint } from "../lib/http/endpoint.ts";
import { makeDocument, addServer } from "../lib/openapi/document.ts";
import type { DocumentedEndpoint } from "../lib/openapi/responses.ts";
import { renderPage, STYLE } from "../lib/openapi/page.ts";

/** GET /docs: the description of the API as an HTML page without scripts and external files. */
export function docs(endpoints: () => readonly DocumentedEndpoint[]): Endpoint<ChangesDeps> {
  // The page shows the complete document, so the view of it is the document itself.
  const document = makeDocument(endpoints, (full) => full);
  return endpoint(
    {
      method: "GET",
      path: "/docs",
      summary: "This API as a page",
      operation: "getApiPage",
      description: "The API as a page to read, without scripts.",
      example: {},
      open: true,
      input: z.object({}),
      output: z.string().meta({ contentMediaType: "text/html", examples: ["<!doctype html>…"] }),
    },
    async (_input, { deps, request }: Call<ChangesDeps>) => {
      const page = request.method === "HEAD" ? null : renderPage(addServer(request, "/docs", document(deps)));
      return new Response(page, {
        headers: {
          "content-type": "text/html; charset=utf-8",
          "content-security-policy": `default-src 'none'; style-src 'sha256-${toBase64(hexBytes(deps.sha256(STYLE)))}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
          "referrer-policy": "no-referrer",
          "x-content-type-options": "nosniff",
        },
      });
    },
  );
}
