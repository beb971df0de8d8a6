/** The tools with which a model reads the product's records; none of them writes. */
import * as z from "zod";
import { EVENT_TYPES } from "../audit/entry.ts";
import { describeQuery } from "../find/found_text.ts";
import { MAX_QUERY_LENGTH, parseQuery } from "../find/parse.ts";
import { runQuery } from "../find/run.ts";
import { changeId, freeText, line, time, integer, word } from "../kit/fields.ts";
import { queryEvents } from "./event_query.ts";
import { countTextBytes } from "../store/engine/write_set.ts";
import { findChange, computeKpiEffect } from "./facts.ts";
import { type Tool, createTool } from "./tool.ts";

const MAX_ROWS = 20;

const periodFields = {
  from: time().optional().describe("From this moment on, as 2026-11-16T00:00:00Z."),
  to: time().optional().describe("Before this moment."),
};
const limit = integer(1, MAX_ROWS).default(10).describe("Maximum number.");

/** Maximum size of a page's rows; the rest of the answer fits in the tool's limit. */
const PAGE_BYTES = 14_000;

/**
 * Returns the first rows that fit in an answer, at least one, and the `after` of the next page: the id of the last row if others do
 * not fit, else `next`.
 */
function fitPage<R extends { change_id: string }>(rows: readonly R[], next: string | null) {
  let bytes = 0;
  const fitting = rows.filter((row, index) => {
    bytes += countTextBytes(JSON.stringify(row));
    return bytes <= PAGE_BYTES || index === 0;
  });
  return { rows: fitting, next: fitting.length < rows.length ? fitting.at(-1)!.change_id : next };
}

/** The reading tools by name. */
export const READING_TOOLS: Readonly<Record<string, Tool>> = {
  find: createTool({
    description:
      "Finds, counts, groups and times changes by one query: words and field:value terms that must all hold, such as `is:pending`, `is:waiting`, `is:drifted`, `tenant:t-100 risk:high`, `verdict:missed`, `proposer:ana applied:last-week`, `group:tenant`, `time:proposed-applied`. `total` is exact. An error names the nearest field or value. The person sees each query and its total.",
    input: z.strictObject({
      query: freeText(MAX_QUERY_LENGTH).describe("The query; empty: every change, newest first."),
      limit,
      after: changeId().optional().describe("The next of the page before."),
    }),
    async run({ query, limit, after }, { deps, caller, queries }) {
      const parsed = parseQuery(query, { now: deps.clock.now(), zone: "UTC" });
      const found = await runQuery(deps, parsed, { limit, after, zone: "UTC", caller });
      queries.add(describeQuery(found.query, found.total));
      return { ...found, ...fitPage(found.rows, found.next) };
    },
  }),
  get_change: createTool({
    description: "One change with its audit entries, outcome and what blocks it.",
    input: z.strictObject({ change_id: changeId() }),
    run: async ({ change_id }, { deps }) => (await findChange(deps, change_id)) ?? `there is no change ${change_id}`,
  }),
  get_audit: createTool({
    description: "The newest entries of the audit log that match, oldest first.",
    input: z.strictObject({
      change_id: changeId().optional(),
      tenant_id: line(200).optional(),
      person: line(200).optional().describe("The person, agent or part of the service that caused it."),
      type: word(EVENT_TYPES).optional(),
      ...periodFields,
      limit,
    }),
    async run(query, { deps }) {
      const found = await queryEvents(deps.store, query);
      // Hashes are left out, since a model cannot use them.
      const entries = found.entries.map(({ id, event_type, change_id, tenant, timestamp, facts }) => ({
        audit_id: id,
        event_type,
        change_id,
        tenant_id: tenant,
        at: timestamp,
        facts,
      }));
      return { ...found, entries };
    },
  }),
  get_kpis: createTool({
    description: "E and what each KPI adds to it.",
    input: z.strictObject({}),
    run: (_, { deps }) => computeKpiEffect(deps),
  }),
};
