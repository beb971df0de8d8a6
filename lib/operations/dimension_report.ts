/** The part of a task's report about its dimension: movements, gaps, failures with their causes, or overdue items. */
import { readAuditPage } from "../audit/page.ts";
import { parseEntry } from "../projections/entries.ts";
import { parseQuery } from "../find/parse.ts";
import { runQuery } from "../find/run.ts";
import { describeFound, MAX_SHOWN_ROWS } from "../find/found_text.ts";
import { readRecords } from "../changes/records.ts";
import { DAY_MS, minuteText } from "../kit/days.ts";
import type { OperationsDeps } from "./deps.ts";
import { computeFigures } from "./figures.ts";
import { readKpisAt, computeMoves } from "./kpi_moves.ts";
import { blockQuote, link, list, page, share } from "./markdown.ts";
import { changePageAddress } from "./page_address.ts";
import { describeInMarkdown } from "./retrospective.ts";
import type { Dimension } from "./tasks.ts";

const MAX_TITLE_LENGTH = 80;

const REPORTS: Readonly<Record<Dimension, (deps: OperationsDeps) => Promise<string>>> = {
  E: async (deps) => {
    const { effect, kpis } = await computeFigures(deps);
    const before = await readKpisAt(deps, new Date(deps.clock.now() - 7 * DAY_MS).toISOString());
    const moves = computeMoves(before, kpis.values, deps.product?.intent ?? { kpis: {} });
    return page(
      "## Effect: what moved within 7 days",
      `E is ${share(effect.value)}.`,
      list(moves.map(({ kpi, words, to }) => `${kpi} ${words} to ${to}`)) ?? "No KPI moved.",
    );
  },
  M: async (deps) => {
    const { value, gaps } = (await computeFigures(deps)).memory;
    const linkTo = await createLinks(
      deps,
      gaps.map(({ change_id }) => change_id),
    );
    return page(
      "## Memory: what is missing",
      `M is ${share(value)}.`,
      list(gaps.map(({ change_id, missing }) => `${linkTo(change_id)} lacks ${missing.join(", ")}`)) ??
        "Nothing is missing.",
    );
  },
  R: async (deps) => {
    const { value, n, failed, from, to } = (await computeFigures(deps)).reliability;
    return page(
      "## Reliability: what failed, and why",
      `R is ${share(value)}: of ${n} applies attempted from ${from} to ${to}, ${failed} failed.`,
      list(await listFailures(deps)) ?? "No failure is on record.",
    );
  },
  N: async (deps) => {
    const { value, items } = (await computeFigures(deps)).need;
    const overdue = items.filter((item) => item.overdue > 0);
    return page(
      "## Need: what is overdue",
      `N is ${share(value)}.`,
      list(overdue.map((item) => `${item.item}: ${item.overdue} of ${item.open}`)) ?? "Nothing is overdue.",
      deps.product && blockQuote(await describeOverdue(deps)),
    );
  },
};

/** Returns the report on one dimension, from the records. */
export const writeDimensionReport = (deps: OperationsDeps, dimension: Dimension): Promise<string> =>
  REPORTS[dimension](deps);

const FAILURES = ["change_apply_failed", "change_rollback_failed", "change_rolled_back", "change_drifted"] as const;

/** Lists the newest failures, rollbacks and drifts with their causes, newest first. */
async function listFailures(deps: OperationsDeps): Promise<string[]> {
  const pages = await Promise.all(
    FAILURES.map((event_type) => readAuditPage(deps, { limit: MAX_SHOWN_ROWS, order: "desc", event_type })),
  );
  const entries = pages.flatMap((auditPage) => auditPage.entries.value.map(parseEntry)).sort((a, b) => b.id - a.id);
  const newest = entries.slice(0, MAX_SHOWN_ROWS);
  const linkTo = await createLinks(
    deps,
    newest.map(({ change_id }) => change_id),
  );
  return newest.map(
    (entry) => `${minuteText(entry.timestamp)} ${linkTo(entry.change_id)}: ${describeInMarkdown(entry)}`,
  );
}

/** Returns a function that links to a change by its summary. */
async function createLinks(
  { store, publicUrl }: OperationsDeps,
  ids: readonly string[],
): Promise<(id: string) => string> {
  const records = await readRecords(store, ids);
  const summaries = new Map(
    records.flatMap((record) => (record ? [[record.change.change_id, record.change.summary]] : [])),
  );
  return (id) => link(summaries.get(id) ?? id, MAX_TITLE_LENGTH, changePageAddress(publicUrl, id));
}

async function describeOverdue(deps: OperationsDeps): Promise<string> {
  const query = parseQuery("is:overdue sort:expires-asc", { now: deps.clock.now(), zone: "UTC" });
  return describeFound(await runQuery(deps, query, { limit: MAX_SHOWN_ROWS, zone: "UTC", caller: null })).text;
}
