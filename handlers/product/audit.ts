import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { csvOf } from "../../lib/audit/csv.ts";
import { entrySchema, EVENT_TYPES } from "../../lib/audit/entry.ts";
import { auditExport } from "../../lib/audit/page.ts";
import { contentsExport } from "../../lib/governance/contents_export.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId, flag, line, wholeNumber, word } from "../../lib/http/form.ts";
import { logPage } from "../../lib/governance/views.ts";
import { answer, download } from "../../lib/http/answer.ts";
import { invalidField } from "../../lib/kit/errors.ts";
import { streamed } from "../../lib/kit/streamed.ts";

/** GET /api/product/audit: a page of the log; `format=jsonl` streams the whole chain in order, `contents` what it is about too. */
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
      format: word(["json", "jsonl", "csv"]).optional(),
      /** With format=jsonl: behind each proposal its content, behind each intent its manifest. */
      contents: flag.optional(),
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
        description:
          "With format=jsonl: one entry a line, the whole chain in order. With contents too, behind an entry that begins a change a line {change_id, content}, behind that of an intent a line {manifest_hash, manifest}.",
      }),
      z.string().meta({
        contentMediaType: "text/csv",
        description: "With format=csv: a heading and one entry a line (RFC 4180), the whole chain in order.",
      }),
    ]),
  },
  async ({ format, contents, ...query }, { deps, request }: Call<GovernanceDeps>) => {
    if (contents && format !== "jsonl") throw invalidField("contents", "goes with format=jsonl");
    if (format === "csv")
      return download(request, () => streamed(csvOf(deps.store)), { type: "text/csv", name: "audit.csv" });
    if (format !== "jsonl") return answer(await logPage(deps, query));
    const made = contents ? contentsExport : auditExport;
    return download(request, () => made(deps.store), { type: "application/x-ndjson", name: "audit.jsonl" });
  },
);
