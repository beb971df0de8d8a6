/** Writes the report of a week: movements of KPIs, applied and ended changes, waiting items, verdicts and due dates. */
import { readActivityPage } from "../projections/activity_log.ts";
import type { ActivityRow } from "../projections/activity.ts";
import { listDue } from "../projections/outcomes/indexes.ts";
import { outcomes } from "../projections/outcomes.ts";
import { readProjection } from "../projections/snapshot.ts";
import { localDay, localMinute, parseSpan } from "../find/dates.ts";
import type { FindRow } from "../find/answer.ts";
import { findRows } from "../find/run.ts";
import { readFreezeInForce } from "../changes/freeze.ts";
import { readRecords } from "../changes/records.ts";
import { listReviewers } from "../changes/rules/break_glass.ts";
import type { Change } from "../changes/rules/change.ts";
import type { Intent } from "../changes/rules/intent.ts";
import { goalDeadline } from "../changes/rules/kpi.ts";
import { describeMovement, describeVerdict } from "../changes/rules/outcome_words.ts";
import { DAY_MS } from "../kit/days.ts";
import { label } from "../kit/quote.ts";
import { describeDrift } from "../wording/describe.ts";
import type { OperationsDeps } from "./deps.ts";
import { buildInbox } from "./inbox.ts";
import { describeMoves } from "./kpi_moves.ts";
import { escapeMarkdown, link, list, page } from "./markdown.ts";
import { describeMissing, joinNames } from "./notify/words.ts";
import { changePageAddress } from "./page_address.ts";
import { describeEnding, readEnding } from "./retrospective.ts";

/** Items listed of one kind, and links on one line; the others are counted. */
const MAX_LISTED = 8;
const MAX_LINKED = 4;
/** Items that one query reads. Verdicts are read page by page, and waiting items have a total; other items beyond it are not counted. */
const MAX_ROWS = 500;
const MAX_TITLE_LENGTH = 80;
const DUE_MS = 7 * DAY_MS;

/** The week of a report: `from` inclusive and `to` exclusive, RFC 3339. */
export interface Week {
  deps: OperationsDeps;
  intent: Intent;
  name: string;
  zone: string;
  from: string;
  to: string;
  now: number;
}

/** A waiting change: for whom, until when, and what happens then; `isNew`: waits since this week, or has a new consent. */
interface Wait {
  link: string;
  for: string;
  until: string | null;
  end: string;
  isNew: boolean;
}

const toIso = (ms: number): string => new Date(ms).toISOString();

/** Writes the report of an ISO week, such as `2026-W44`, which must be valid, in a time zone. Waiting and due items are those of now. */
export async function writeWeeklyReport(deps: OperationsDeps, name: string, zone: string): Promise<string> {
  const now = deps.clock.now();
  const span = parseSpan(name, now, zone)!;
  const week = { deps, intent: deps.product!.intent, name, zone, now, from: toIso(span.from), to: toIso(span.to) };
  const { waits, total } = await readWaits(week);
  const newWaits = waits.filter(({ isNew }) => isNew);
  const soon = waits.filter((wait) => !wait.isNew && wait.until !== null && isSoon(week, wait.until));
  const more = total - newWaits.length - soon.length;
  const waiting = newWaits.map((wait) => `${wait.link} waits ${wait.for}${describeUntil(week, wait.until)}`);
  return page(
    `# Week ${name} (${localDay(span.from, zone)} to ${localDay(span.to - 1, zone)}, ${zone})`,
    (await describeMoves(week, (row) => linkAppliedChange(week, row))).join(" "),
    "## Applied",
    formatSection(await listAppliedLines(week)),
    "## Rolled back or denied",
    formatSection(await listEndedLines(week)),
    `## Waiting since this week, as of ${localMinute(now, zone)}`,
    formatSection([
      ...capLines(waiting),
      ...(more > 0 ? [`${more} ${more === 1 ? "change waits" : "changes wait"} as before this week`] : []),
    ]),
    "## Promises decided (a correlation, not a cause)",
    formatSection(await listPromiseLines(week)),
    "## Due within seven days",
    formatSection(await listDueLines(week, soon)),
  );
}

const formatSection = (lines: readonly string[]): string => list(lines) ?? "Nothing.";

const capLines = (lines: readonly string[], total = lines.length): string[] =>
  total <= MAX_LISTED ? [...lines] : [...lines.slice(0, MAX_LISTED), `and ${total - MAX_LISTED} more`];

const describeUntil = ({ zone }: Week, at: string | null): string =>
  at === null ? "" : `, until ${localMinute(Date.parse(at), zone)}`;

const isWithin = ({ from, to }: Week, at: string | null): boolean => at !== null && at >= from && at < to;

const isSoon = ({ now }: Week, at: string): boolean => Date.parse(at) >= now && Date.parse(at) < now + DUE_MS;

/** Builds a link to the page of a change, with its summary as text. */
const linkChange = ({ deps }: Week, { change_id, summary }: Pick<Change, "change_id" | "summary">): string =>
  link(summary, MAX_TITLE_LENGTH, changePageAddress(deps.publicUrl, change_id));

const linkAppliedChange = (week: Week, row: FindRow): string =>
  `${linkChange(week, row)}${row.status === "rolled_back" ? " (rolled back since)" : ""}`;

const readRows = ({ deps, zone }: Week, query: string) => findRows(deps, query, { zone, limit: MAX_ROWS });

/** Lists the applied changes, a line for each tenant. */
async function listAppliedLines(week: Week): Promise<string[]> {
  const byTenant = new Map<string, string[]>();
  for (const row of await readRows(week, `applied:${week.name} sort:applied-asc`))
    byTenant.set(row.tenant_id, [...(byTenant.get(row.tenant_id) ?? []), linkAppliedChange(week, row)]);
  const tenants = [...byTenant].sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1));
  const lines = tenants.map(([tenant, links]) => {
    const more = links.length - MAX_LINKED;
    const linked = `${links.slice(0, MAX_LINKED).join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
    return `${escapeMarkdown(label(tenant))}: ${linked}`;
  });
  return capLines(lines);
}

/** Lists changes that were rolled back, denied or withdrawn, or have expired, with the reason; rollbacks first. */
async function listEndedLines(week: Week): Promise<string[]> {
  const rolledBack = await readRows(week, `rolledback:${week.name} sort:rolledback-asc`);
  const denied = await readRows(week, `is:denied decided:${week.name} sort:decided-asc`);
  // A change whose approval was revoked or expired later was decided twice; only the last decision counts.
  const rows = [...rolledBack, ...denied.filter(({ decided_at }) => isWithin(week, decided_at))];
  const { store } = week.deps;
  const records = await readRecords(
    store,
    rows.map(({ change_id }) => change_id),
  );
  const lines = rows.slice(0, MAX_LISTED).map(async (row, index) => {
    const ending = records[index] && (await readEnding(store, records[index]));
    return `${linkChange(week, row)}: ${ending ? describeEnding(ending) : row.status}`;
  });
  return capLines(await Promise.all(lines), rows.length);
}

/** Reads the waiting items, soonest end first, and their total. */
async function readWaits(week: Week): Promise<{ waits: Wait[]; total: number }> {
  const { deps, intent, from } = week;
  const inbox = await buildInbox(deps, { person: null, limit: MAX_ROWS });
  type Item = (typeof inbox.pending.items)[number];
  const toWait = (item: Item, whom: string, end: string): Wait => ({
    link: linkChange(week, { change_id: item.change_id, summary: item.title }),
    for: escapeMarkdown(whom),
    until: item.expires_at,
    end,
    isNew: item.since >= from || item.approvals.some(({ at }) => at >= from),
  });
  const describeConsent = ({ missing }: Item): string => `for the consent of ${describeMissing(missing)}`;
  const reviewed = await readRecords(
    deps.store,
    inbox.review_due.items.map(({ change_id }) => change_id),
  );
  const waits = [
    ...inbox.review_due.items.map((item, index) => {
      const reviewers = reviewed[index] && listReviewers(reviewed[index].change as Change, intent);
      return toWait(
        item,
        `for a review of its emergency by ${joinNames(reviewers ?? ["anybody"], "or")}`,
        "its review is due",
      );
    }),
    ...inbox.pending.items.map((item) => toWait(item, describeConsent(item), "it expires")),
    ...inbox.approved.items.map((item) =>
      toWait(item, item.missing.length > 0 ? describeConsent(item) : "to be applied", "it lapses without an apply"),
    ),
    ...inbox.drifted.items.map((item) => toWait(item, `for a restore or rollback: ${describeDrift(item.drift)}`, "")),
  ];
  // `~` sorts after every time: waits without an end come last.
  waits.sort((a, b) => ((a.until ?? "~") < (b.until ?? "~") ? -1 : 1));
  const { pending, approved, review_due, drifted } = inbox.totals;
  return { waits, total: pending + approved + review_due + drifted };
}

/** Lists the verdicts of the week, the worst first; outcomes that ended too early have none. */
async function listPromiseLines(week: Week): Promise<string[]> {
  const { deps } = week;
  const rows: ActivityRow[] = [];
  for (let before: number | undefined; ;) {
    const { entries, next } = await readActivityPage(deps, { kind: "outcome", limit: MAX_ROWS, before });
    rows.push(...entries.filter(({ at }) => isWithin(week, at)));
    // Pages and their rows are newest first.
    if (next === null || entries.at(-1)!.at < week.from) break;
    before = next;
  }
  // An outcome that ended too early has another verdict, which is not listed.
  const order = ["regressed", "missed", "inconclusive", "met"];
  const lines = (await readOutcomes(deps, rows.map(({ ref }) => ref!).toReversed())).flatMap(({ change, outcome }) => {
    const verdict = order.indexOf(outcome.final?.verdict ?? "");
    if (verdict === -1) return [];
    const word = describeVerdict(outcome.final!);
    const words = `${linkChange(week, change)}: ${word === "regressed" ? "**regressed**" : word}. ${describeMovement(outcome.final!)}`;
    return { verdict, words };
  });
  return capLines(lines.sort((a, b) => a.verdict - b.verdict).map(({ words }) => words));
}

/** Lists due dates: ends of older waits, verdicts, the end of a freeze, and deadlines of goals. */
async function listDueLines(week: Week, soon: readonly Wait[]): Promise<string[]> {
  const { deps, intent, zone } = week;
  const judged = (await listDue(await readProjection(deps, outcomes), MAX_ROWS)).filter(({ moment }) =>
    isSoon(week, moment),
  );
  const promised = await readOutcomes(
    deps,
    judged.map(({ change_id }) => change_id),
  );
  const freeze = await readFreezeInForce(deps);
  const due = [
    ...soon.map((wait) => ({ at: wait.until!, words: `${wait.link}: ${wait.end}` })),
    ...promised.flatMap(({ change, outcome: { kpi, judged_from } }) =>
      kpi === null ? [] : { at: judged_from, words: `${linkChange(week, change)}: its promise on ${kpi} is judged` },
    ),
    ...(freeze?.until ? [{ at: freeze.until, words: "the freeze ends" }] : []),
    ...Object.entries(intent.kpis).flatMap(([kpi, goal]) =>
      goal.deadline === undefined ? [] : { at: toIso(goalDeadline(goal)), words: `the goal for ${kpi} ends` },
    ),
  ].filter(({ at }) => isSoon(week, at));
  due.sort((a, b) => (a.at < b.at ? -1 : 1));
  return capLines(due.map(({ at, words }) => `${localMinute(Date.parse(at), zone)} ${words}`));
}

/** Reads outcomes with their changes, in the order of the ids. */
async function readOutcomes(deps: OperationsDeps, ids: readonly string[]) {
  const [records, outcomeRecords] = await Promise.all([
    readRecords(deps.store, ids),
    readProjection(deps, outcomes).then((read) => read.getMany("outcomes", ids)),
  ]);
  return ids.flatMap((_, index) => {
    const [record, outcome] = [records[index], outcomeRecords[index]?.value];
    return record && outcome ? { change: record.change, outcome } : [];
  });
}
