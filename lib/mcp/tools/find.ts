import * as z from "zod";
import { findRowSchema, findSchema } from "../../find/answer.ts";
import { MAX_QUERY_LENGTH, parseQuery } from "../../find/parse.ts";
import { runQuery } from "../../find/run.ts";
import { findCallerName } from "../../changes/caller.ts";
import { changeId, freeText, integer } from "../../kit/fields.ts";
import { findChangePage } from "../../operations/page_address.ts";
import { ABOUT_TEXTS, aboutTexts, page } from "../change_status.ts";
import { createTool } from "../tool.ts";

/** The tool that finds changes by a query. */
export const findChanges = createTool(
  {
    name: "find",
    title: "Find changes",
    description:
      "Finds, counts, groups and times changes by one query: free words and field:value terms that must all hold, such as `is:pending risk:high`, `applied:last-week group:tenant`, `-reason:present`, `users:>5000`, `10 euro deposit`. `total` is exact. An error names the nearest field or value.",
    ownReads: true,
    input: z.strictObject({
      query: freeText(MAX_QUERY_LENGTH).describe("The query; empty: every change, newest first."),
      limit: integer(1, 50).default(20).describe("Maximum number of rows."),
      after: changeId().optional().describe("The `next` of the page before."),
    }),
    output: findSchema().extend({ rows: z.array(findRowSchema().extend({ page })), about_texts: aboutTexts }),
  },
  async ({ query, limit, after }, call) => {
    const { deps } = call;
    const parsed = parseQuery(query, { now: deps.clock.now(), zone: "UTC" });
    const found = await runQuery(deps, parsed, { limit, after, zone: "UTC", caller: findCallerName(call, undefined) });
    const rows = found.rows.map((row) => ({ ...row, page: findChangePage(call, row.change_id) }));
    return { ...found, rows, about_texts: ABOUT_TEXTS };
  },
);
