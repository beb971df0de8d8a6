import * as z from "zod";
import { addRequestCache } from "../../lib/kit/request_cache.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { changeId, integer } from "../../lib/kit/fields.ts";
import { awaitingChangeSchema, changeToReviewSchema } from "../../lib/changes/waiting_change_schemas.ts";
import { listApprovals } from "../../lib/operations/change_views.ts";
import { answer } from "../../lib/http/answer.ts";

/** GET /api/product/approvals: changes that wait for consent, for their apply or for a review, oldest first. */
export const approvals = endpoint(
  {
    method: "GET",
    path: "/api/product/approvals",
    summary: "Pending and approved changes",
    operation: "listApprovals",
    description: "Changes that wait for consent, apply or review, oldest first.",
    example: { limit: 50 },
    ownReads: "filtered",
    product: true,
    input: () =>
      z.object({
        limit: integer(1, 1000).default(1000).describe("Maximum number of changes."),
        after: changeId().optional().describe("Only changes younger than this id: next of the page before."),
      }),
    output: () =>
      z.object({
        pending: z.array(awaitingChangeSchema()).describe("Changes that wait for consent, oldest first."),
        approved: z.array(awaitingChangeSchema()).describe("Changes that wait for their apply, oldest first."),
        review_due: z.array(changeToReviewSchema()).describe("Changes with a due emergency review."),
        next: z.string().nullable().describe("after of the next page; null at the end."),
      }),
  },
  async (input, { deps }: Call<ChangesDeps>) => answer(await listApprovals(addRequestCache(deps), input)),
);
