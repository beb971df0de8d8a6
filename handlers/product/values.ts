import * as z from "zod";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { answer } from "../../lib/http/answer.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { freeText, line, target, integer } from "../../lib/kit/fields.ts";
import { parseIfNoneMatch, notModified } from "../../lib/http/if_none_match.ts";
import { readValuePage, valueSchema } from "../../lib/operations/values.ts";

/** GET /api/product/values: the values that applied changes set, by tenant and target. */
export const values = endpoint(
  {
    method: "GET",
    path: "/api/product/values",
    summary: "Values of all targets",
    operation: "listValues",
    description: "The value that applied changes give each target.",
    example: { tenant_id: "t-100" },
    ownReads: "filtered",
    product: true,
    input: () =>
      z.object({
        tenant_id: line(200).optional().describe("Only values of this tenant; `*`: values for all tenants."),
        target: target().optional().describe("Only values of this target."),
        limit: integer(1, 1000).default(1000).describe("Maximum number of values; a page has 1 MiB at most."),
        after: freeText(2000).optional().describe("The `next` of the page before."),
      }),
    output: () =>
      z.object({
        values: z.array(valueSchema()).describe("Values, by tenant and target."),
        next: z.string().nullable().describe("The `after` of the next page; null at the end."),
        as_of: z.number().int().describe("The last entry that the values include."),
        behind: z.number().int().describe("Number of later entries; mostly 0."),
      }),
    notModified: true,
    errors: ["reads_busy"],
  },
  async (input, { deps, request }: Call<ChangesDeps>) => {
    const page = await readValuePage(deps, input);
    // The tag covers the values only: most new entries of the log do not change them.
    const tag = `"${deps.sha256(JSON.stringify([page.values, page.next]))}"`;
    return parseIfNoneMatch(request)?.(tag) ? notModified(tag) : answer(page, 200, { etag: tag });
  },
);
