import * as z from "zod";
import { exportContents } from "../../lib/changes/contents_export.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { download } from "../../lib/http/answer.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { streamLog } from "../../lib/http/read_stream.ts";

/** GET /api/product/export: the whole log with contents and intents, as `audit?format=jsonl&contents=1` returns it. */
export const exportLog = endpoint(
  {
    method: "GET",
    path: "/api/product/export",
    summary: "The log with the contents of changes and the intents",
    operation: "exportAuditLog",
    description: "The whole audit log as JSON lines, with contents and intents.",
    example: {},
    product: true,
    input: () => z.object({}),
    output: () =>
      z.string().meta({
        contentMediaType: "application/x-ndjson",
        examples: ['{"origin":"acme-crm/audit/0f3a","id":1,…}\n'],
        description: "One entry a line, in chain order, with contents and intents.",
      }),
    errors: ["reads_busy"],
  },
  async (_input, { deps, request }: Call<ChangesDeps>) =>
    download(request, () => streamLog(deps, () => exportContents(deps.store)), {
      type: "application/x-ndjson",
      name: "evidence.jsonl",
    }),
);
