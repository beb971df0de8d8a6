import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { entrySchema } from "../../lib/audit/entry.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId, line, integer, word } from "../../lib/kit/fields.ts";
import { changeSchema, STATUSES } from "../../lib/changes/rules/change.ts";
import { intentSummary, readIntentView } from "../../lib/operations/intent_view.ts";
import { readLogPage } from "../../lib/changes/views.ts";
import { identitySchema } from "../../lib/changes/runtime.ts";
import { filterFields } from "../../lib/find/list_changes.ts";
import { listChanges } from "../../lib/operations/change_views.ts";
import { answer, splice } from "../../lib/http/answer.ts";
import { addRequestCache } from "../../lib/kit/request_cache.ts";
import { Json } from "../../lib/store/json.ts";

/** GET /api/product/runtime: identity, intent, a page of changes, and the newest audit entries. */
export const runtime = endpoint(
  {
    method: "GET",
    path: "/api/product/runtime",
    summary: "Changes and audit state",
    operation: "getRuntime",
    description: "A page of changes, newest first, with identity, intent and the newest audit entries.",
    example: { status: "pending_consent", limit: 20 },
    ownReads: "filtered",
    product: true,
    input: () =>
      z.object({
        before: changeId().optional().describe("Only changes older than this id: `next` of the previous page."),
        limit: integer(1, 1000).default(1000).describe("Maximum number of changes."),
        status: word(STATUSES).optional().describe("Only changes of this status."),
        tenant_id: line(200).optional().describe("Only changes of this tenant."),
        entries: integer(0, 1000).default(1000).describe("Maximum number of the newest audit entries."),
        ...filterFields(),
      }),
    output: () =>
      z.object({
        identity: identitySchema(),
        intent: intentSummary(),
        changes: z.array(changeSchema()).describe("Changes, newest first."),
        total: z.number().int().describe("Number of changes that match the filters."),
        next: z.string().nullable().describe("`before` for the next page; null on the last page."),
        audit: z
          .object({
            origin: z.string().meta({ description: "Name of the log.", examples: ["acme-crm/audit/0f3a"] }),
            length: z.number().int().describe("Number of entries in the log."),
            head: z.string().meta({
              description: "current_hash of the last entry; empty without entries.",
              examples: ["a38b13eb…"],
            }),
            entries: z.array(entrySchema()).describe("The newest entries, in chain order."),
          })
          .describe("The end of the audit log."),
      }),
    errors: ["reads_busy"],
  },
  async ({ entries: limit, ...input }, call: Call<ChangesDeps>) => {
    const deps = addRequestCache(call.deps);
    const [{ origin, length, head, entries }, intent, changes] = await Promise.all([
      readLogPage(deps, { limit }),
      readIntentView(deps),
      listChanges(deps, input),
    ]);
    return answer({
      identity: deps.product!.identity,
      intent,
      ...changes,
      audit: new Json(splice({ origin, length, head, entries })),
    });
  },
);
