import * as z from "zod";
import type { GovernanceDeps } from "../../lib/governance/deps.ts";
import { auditPage } from "../../lib/audit/page.ts";
import { entrySchema } from "../../lib/audit/entry.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId, line, wholeNumber, word } from "../../lib/http/form.ts";
import { changeSchema, STATUSES } from "../../lib/governance/rules/change.ts";
import { intentSummary, intentView } from "../../lib/pulse/intent_view.ts";
import { identitySchema } from "../../lib/governance/runtime.ts";
import { changePage } from "../../lib/pulse/change_views.ts";
import { answer, splice } from "../../lib/http/answer.ts";
import { Json } from "../../lib/store/json.ts";

/** GET /api/product/runtime: identity, intent, a page of changes and the newest of the audit log. */
export const runtime = endpoint(
  {
    method: "GET",
    path: "/api/product/runtime",
    summary: "Changes and audit state",
    product: true,
    input: z.object({
      before: changeId.optional(),
      limit: wholeNumber(1, 1000).default(1000),
      status: word(STATUSES).optional(),
      tenant_id: line(200).optional(),
    }),
    output: z.object({
      identity: identitySchema,
      intent: intentSummary,
      changes: z.array(changeSchema),
      total: z.number().int(),
      next: z.string().nullable(),
      audit: z.object({
        origin: z.string(),
        length: z.number().int(),
        head: z.string(),
        entries: z.array(entrySchema),
      }),
    }),
  },
  async (input, { deps }: Call<GovernanceDeps>) => {
    const { origin, length, head, entries } = await auditPage(deps.store, { limit: 1000 });
    return answer({
      identity: deps.product!.identity,
      intent: await intentView(deps),
      ...(await changePage(deps, input)),
      audit: new Json(splice({ origin, length, head, entries })),
    });
  },
);
