import * as z from "zod";
import { changeId, line, integer, word } from "../../kit/fields.ts";
import { changeSchema, STATUSES } from "../../changes/rules/change.ts";
import { filterFields } from "../../find/list_changes.ts";
import { listChanges as readChangeList, pick } from "../../operations/change_views.ts";
import { findChangePage } from "../../operations/page_address.ts";
import { ABOUT_TEXTS, aboutTexts, page } from "../change_status.ts";
import { createTool } from "../tool.ts";

/** Fields of a row, only a few, since a model reads all of them. */
const ROW_FIELDS = [
  "change_id",
  "status",
  "resolution",
  "tenant_id",
  "kind",
  "target",
  "summary",
  "tier",
  "risk",
  "proposer",
  "asked_by",
  "created_at",
] as const;
// `Object.fromEntries` loses the names in its type.
const rowSchema = changeSchema().pick(
  Object.fromEntries(ROW_FIELDS.map((name) => [name, true])) as Record<(typeof ROW_FIELDS)[number], true>,
);

/** The tool that lists changes. */
export const listChanges = createTool(
  {
    name: "list_changes",
    title: "List changes",
    description: "Changes, newest first, a page at a time. Look here before proposing what is already proposed.",
    ownReads: true,
    input: z.strictObject({
      status: word(STATUSES).optional().describe("Only changes of this status."),
      tenant_id: line(200).optional().describe("Only changes of this tenant."),
      ...filterFields(),
      limit: integer(1, 50).default(20).describe("Maximum number."),
      before: changeId().optional().describe("The `next` of the page before."),
    }),
    output: z.object({
      changes: z.array(rowSchema.extend({ page })),
      total: z.number().int().describe("Number of all changes, or of those that match the filters."),
      next: z.string().nullable().describe("`before` of the next page; null on the last page."),
      about_texts: aboutTexts,
    }),
  },
  async (query, call) => {
    const { changes, total, next } = await readChangeList(call.deps, query);
    const rows = changes.map((change) => ({
      ...pick(change, ROW_FIELDS),
      page: findChangePage(call, change.change_id),
    }));
    return { changes: rows, total, next, about_texts: ABOUT_TEXTS };
  },
);
