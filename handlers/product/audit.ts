import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { writeCsv } from "../../lib/audit/csv.ts";
import { entrySchema, EVENT_TYPES } from "../../lib/audit/entry.ts";
import { writeJsonLines } from "../../lib/audit/rows.ts";
import { exportContents } from "../../lib/changes/contents_export.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { changeId, flag, line, integer, word } from "../../lib/kit/fields.ts";
import { createOwnReadsError } from "../../lib/changes/read_scope.ts";
import { readLogPage } from "../../lib/changes/views.ts";
import { answer, download } from "../../lib/http/answer.ts";
import { streamLog } from "../../lib/http/read_stream.ts";
import { invalidField } from "../../lib/kit/errors.ts";

const FILTERS = ["before", "after", "change_id", "tenant_id", "tenant", "event_type"] as const;

/**
 * GET /api/product/audit: a page of the log. `format=csv` and `format=jsonl` stream the complete log; the latter with `contents`
 * also contents and intents.
 */
export const audit = endpoint(
  {
    method: "GET",
    path: "/api/product/audit",
    summary: "Audit entries",
    operation: "listAuditEntries",
    description: "A page of the audit log; format=jsonl or csv gives the whole log.",
    example: { change_id: CHANGE_ID, limit: 100 },
    ownReads: "filtered",
    product: true,
    input: () =>
      z.object({
        limit: integer(1, 1000).default(1000).describe("Maximum number of entries."),
        before: integer(0).optional().describe("Only entries before this id."),
        after: integer(0).optional().describe("Only entries after this id."),
        order: word(["asc", "desc"])
          .optional()
          .describe("asc: in the order of the chain; desc: newest first. A page without after is the newest."),
        change_id: changeId().optional().describe("Only entries about this change."),
        tenant_id: line(200).optional().describe("Only entries about changes of this tenant."),
        tenant: line(200).optional().describe("Another name of tenant_id."),
        event_type: word(EVENT_TYPES).optional().describe("Only entries of this event."),
        format: word(["json", "jsonl", "csv"])
          .optional()
          .describe("jsonl or csv: the whole log as a file, without any filter."),
        contents: flag().optional().describe("With format=jsonl: contents and manifests too."),
      }),
    output: () =>
      z.union([
        z.object({
          entries: z.array(entrySchema()).describe("The page."),
          next: z.number().int().nullable().describe("before or after of the next page; null at the end."),
          length: z.number().int().describe("Number of entries in the log."),
          head: z.string().meta({
            description: "current_hash of the last entry; empty without entries.",
            examples: ["a38b13eb…"],
          }),
          origin: z.string().meta({ description: "Name of the log.", examples: ["acme-crm/audit/0f3a"] }),
        }),
        z.string().meta({
          contentMediaType: "application/x-ndjson",
          description: "With format=jsonl: a line for each entry; with contents also contents and manifests.",
        }),
        z.string().meta({
          contentMediaType: "text/csv",
          description: "With format=csv: a heading and a line for each entry (RFC 4180), in chain order.",
        }),
      ]),
    errors: ["agent_may_not", "reads_busy"],
    shared: ({ format = "json" }) => format === "json",
  },
  async ({ format, contents, ...query }, { deps, request }: Call<ChangesDeps>) => {
    if (contents && format !== "jsonl") throw invalidField("contents", "goes with format=jsonl");
    const isFile = format === "csv" || format === "jsonl";
    if (isFile && deps.reader) throw createOwnReadsError(deps.reader.name);
    const filter = isFile ? FILTERS.find((name) => query[name] !== undefined) : undefined;
    if (filter) throw invalidField(filter, `does not go with format=${format}, which is the whole log`);
    if (format === "csv")
      return download(request, () => streamLog(deps, () => writeCsv(deps.store)), {
        type: "text/csv",
        name: "audit.csv",
      });
    if (format !== "jsonl") return answer(await readLogPage(deps, mergeTenantNames(query)));
    const exportLog = contents ? exportContents : writeJsonLines;
    return download(request, () => streamLog(deps, () => exportLog(deps.store)), {
      type: "application/x-ndjson",
      name: "audit.jsonl",
    });
  },
);

/** Merges the two names of the tenant filter. Errors: 400 `invalid_field` if both are sent. */
function mergeTenantNames<Q extends { tenant_id?: string | undefined; tenant?: string | undefined }>({
  tenant_id,
  ...query
}: Q) {
  if (tenant_id !== undefined && query.tenant !== undefined)
    throw invalidField("tenant", "is another name of tenant_id; send one of them");
  return { ...query, tenant: tenant_id ?? query.tenant };
}
