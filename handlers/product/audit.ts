import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { entrySchema, EVENT_TYPES } from "../../lib/audit/entry.ts";
import { auditExport } from "../../lib/audit/page.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId, line, wholeNumber, word } from "../../lib/http/form.ts";
import { logPage } from "../../lib/governance/views.ts";
import { answer } from "../../lib/http/answer.ts";

/** GET /api/product/audit: a page of the log; `format=jsonl` streams the whole chain in order. */
export const audit = endpoint(
  {
    method: "GET",
    path: "/api/product/audit",
    summary: "Audit entries",
    product: true,
    input: z.object({
      limit: wholeNumber(1, 1000).default(1000),
      before: wholeNumber(0).optional(),
      after: wholeNumber(0).optional(),
      order: word(["asc", "desc"]).optional(),
      change_id: changeId.optional(),
      tenant: line(200).optional(),
      event_type: word(EVENT_TYPES).optional(),
      format: word(["json", "jsonl"]).optional(),
    }),
    output: z.union([
      z.object({
        entries: z.array(entrySchema),
        next: z.number().int().nullable(),
        length: z.number().int(),
        head: z.string(),
        origin: z.string(),
      }),
      z.string().meta({
        contentMediaType: "application/x-ndjson",
        description: "With format=jsonl: one entry a line, the whole chain in order.",
      }),
    ]),
  },
  async ({ format, ...query }, { deps, request }: Call<GovernanceDeps>) => {
    if (format !== "jsonl") return answer(await logPage(deps, query));
    return new Response(request.method === "HEAD" ? null : auditExport(deps.store), {
      headers: {
        "content-type": "application/x-ndjson; charset=utf-8",
        "content-disposition": 'attachment; filename="audit.jsonl"',
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
      },
    });
  },
);
