/** The inbox: changes that wait for consent or apply, emergencies that wait for review, and drifted changes. */
import * as z from "zod";
import { type Snapshot, readProjection } from "../projections/snapshot.ts";
import { waiting, type WaitingStatus, waitingPrefix } from "../projections/waiting.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { readRecordsWithExpiry } from "../changes/expire_changes.ts";
import { type FindHolds, createHoldFinder } from "../changes/freeze.ts";
import { readRecords } from "../changes/records.ts";
import { listReviewsDue } from "../changes/reviews_due.ts";
import { isConsentExpected } from "../changes/rules/expected_consent.ts";
import { type Change, changeSchema, RISKS } from "../changes/rules/change.ts";
import { gateSchema } from "../changes/rules/gates.ts";
import { findExpiryTime, findDeadline, EXPIRES_SOON_SHARE } from "../changes/rules/current_state.ts";
import { missingSchema } from "../changes/rules/missing_consents.ts";
import { canRead } from "../changes/rules/reader.ts";
import type { ChangeRecord } from "../changes/rules/record.ts";
import { type Readiness, readReadiness } from "../changes/readiness.ts";
import { listMatchingIds } from "../find/change_index.ts";
import { PAGE_BYTES } from "../kit/gather.ts";
import { runWithScanLimit } from "../kit/semaphore.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import { countTextBytes } from "../store/engine/write_set.ts";
import { dueMandate, listMandatesDue } from "./due_mandates.ts";
import { listWorseKpis, pick } from "./change_views.ts";

/** Maximum number of changes of a list that are sorted, oldest first; newer ones are only counted. */
export const MAX_SORTED = 5000;
const PAGE_SIZE = 500;
/** Maximum size of each of the five lists. */
const LIST_BYTES = PAGE_BYTES / 5;
/** Number of items built concurrently. */
const ITEMS_PER_BATCH = 25;

const SHOWN_FIELDS = {
  change_id: true,
  status: true,
  tenant_id: true,
  kind: true,
  target: true,
  tier: true,
  risk: true,
  reversible: true,
  unstated: true,
  sets_nothing: true,
  value_hint: true,
  apply_when: true,
  automation_stopped: true,
  affected_users: true,
  proposer: true,
  proposer_kind: true,
  asked_by: true,
  approvals: true,
  required_approvers: true,
} as const;
const SHOWN_NAMES = Object.keys(SHOWN_FIELDS) as (keyof typeof SHOWN_FIELDS)[];

export const inboxItem = changeSchema()
  .pick(SHOWN_FIELDS)
  .extend({
    title: z.string().meta({ description: "Its summary.", examples: ["Raise the seat limit to 50"] }),
    targets: z.number().int().optional().describe("How many targets a plan sets."),
    since: z.string().describe("Since when it waits: proposed, approved, applied in an emergency, or seen to drift."),
    expires_at: z.string().nullable().describe("Time of expiry or of the due review; null without limit."),
    waits_for_you: z.boolean().describe("True if the person can give a consent that it still needs."),
    missing: z.array(missingSchema()).describe("Missing consents, by rule."),
    gates: z.array(gateSchema()).describe("Gates of its apply, and warnings."),
    drift: z.enum(["drifted", "missing"]).optional().describe("State at the host product if it differs; else absent."),
  })
  .describe("A change that waits for a person.");

export const inboxList = z
  .object({
    total: z.number().int().describe("How many there are."),
    items: z.array(inboxItem).describe("The first of them."),
  })
  .describe("Changes that wait in one way.");

export const inboxSchema = z.object({
  person: z
    .string()
    .nullable()
    .meta({ description: "The person; null if unnamed.", examples: ["ana"] }),
  totals: z
    .object({
      pending: z.number().int().describe("Changes that wait for consent."),
      waiting_for_you: z.number().int().nullable().describe("Number that waits for the person; null if unnamed."),
      approved: z.number().int().describe("Changes that wait for their apply."),
      review_due: z.number().int().describe("Emergency consents that wait for review."),
      drifted: z.number().int().describe("Drifted changes."),
      expiring: z.number().int().describe("Pending and approved ones in the last quarter of their time."),
    })
    .describe("How much waits."),
  waiting_for_you: inboxList,
  pending: inboxList,
  approved: inboxList,
  review_due: inboxList,
  drifted: inboxList,
  worse_kpis: z
    .array(z.string())
    .meta({ description: "KPIs that were judged worse than at an apply in the last week.", examples: [["csat"]] }),
  mandates: z.array(dueMandate).describe("Mandates that are suspended, end soon or are not signed yet."),
  complete: z
    .boolean()
    .describe(
      `False if more than ${MAX_SORTED} changes wait (only the oldest are sorted), or the newest entries are not included yet.`,
    ),
});
export type Inbox = z.infer<typeof inboxSchema>;
type Item = z.infer<typeof inboxItem>;

/** A row to sort: a change without its value, which may be large, since thousands are sorted. */
interface SortRow {
  change: Omit<Change, "value">;
}

/** Builds the inbox, of a person if one is given; each list has at most `limit` items. */
export const buildInbox = (deps: ChangesDeps, query: { person: string | null; limit: number }): Promise<Inbox> =>
  runWithScanLimit(deps.store, () => gatherInbox(deps, query));

async function gatherInbox(deps: ChangesDeps, { person, limit }: { person: string | null; limit: number }) {
  const { intent } = deps.product!;
  const read = await readProjection(deps, waiting);
  const [
    { rows: pending, ...pendingList },
    { rows: approved, ...approvedList },
    reviewsDue,
    drifted,
    findHolds,
    worse_kpis,
    mandates,
  ] = await Promise.all([
    listWaiting(deps, read, "pending_consent"),
    listWaiting(deps, read, "approved"),
    listReviewsDue(deps, MAX_SORTED),
    listDrifted(deps),
    createHoldFinder(deps),
    listWorseKpis(deps),
    listMandatesDue(deps, person),
  ]);
  const reviews = reviewsDue.map((change) => toSortRow({ change }));
  const computeDeadline = ({ change }: SortRow): number => findDeadline(change, intent.policy) ?? Infinity;
  const cache: ItemCache = new Map();
  const buildItems = async (rows: readonly SortRow[]): Promise<Item[]> => {
    const built: Item[] = [];
    for (let begin = 0, bytes = 0; begin < rows.length;) {
      const part = rows.slice(begin, begin + Math.min(ITEMS_PER_BATCH, limit - built.length));
      begin += part.length;
      for (const item of await makeItems(deps, part, cache, { person, findHolds })) {
        if (!item) continue;
        built.push(item);
        bytes += countTextBytes(JSON.stringify(item));
        if (built.length === limit || bytes >= LIST_BYTES) return built;
      }
    }
    return built;
  };
  /** Sorts by a time, then by weight; a constant time sorts by weight alone. */
  const sortByTime = (rows: readonly SortRow[], timeOf: (row: SortRow) => number) =>
    rows.toSorted((a, b) => compare(timeOf(a), timeOf(b)) || compareWeight(a.change, b.change));
  /** Returns true in the last part of a change's time. Without a deadline, it compares Infinity with Infinity, which is false. */
  const isExpiring = (record: SortRow): boolean => {
    const end = computeDeadline(record);
    const since = Date.parse(findSince(record.change));
    return end - deps.clock.now() < (end - since) * EXPIRES_SOON_SHARE;
  };
  const pendingByDeadline = sortByTime(pending, computeDeadline);
  const forPerson =
    person === null ? [] : pendingByDeadline.filter(({ change }) => isConsentExpected(change, person, intent));
  const totals = {
    pending: pendingList.total,
    waiting_for_you: person === null ? null : forPerson.length,
    approved: approvedList.total,
    review_due: reviews.length,
    drifted: drifted.length,
    expiring: [...pending, ...approved].filter(isExpiring).length,
  };
  const dueAt = new Map(reviews.map(({ change }) => [change.change_id, change.review!.due_at]));
  const episodes = new Map(drifted.map(({ record, episode }) => [record.change.change_id, episode]));
  const driftedRows = drifted.map(({ record }) => record);
  const reviewed = sortByTime(reviews, ({ change }) => Date.parse(change.review!.due_at));
  const [personItems, pendingItems, approvedItems, reviewItems, driftedItems] = await Promise.all(
    [
      forPerson,
      pendingByDeadline,
      sortByTime(approved, computeDeadline),
      reviewed,
      sortByTime(driftedRows, () => 0),
    ].map(buildItems),
  );
  return {
    person,
    totals,
    waiting_for_you: { total: forPerson.length, items: personItems! },
    pending: { total: totals.pending, items: pendingItems! },
    approved: { total: totals.approved, items: approvedItems! },
    review_due: {
      total: reviews.length,
      items: reviewItems!.map((item) => ({ ...item, expires_at: dueAt.get(item.change_id) ?? null })),
    },
    drifted: {
      total: drifted.length,
      items: driftedItems!.map((item) => ({ ...item, ...episodes.get(item.change_id) })),
    },
    worse_kpis,
    mandates,
    complete: pendingList.isComplete && approvedList.isComplete && read.behind === 0,
  };
}

/** Lists the changes in a status, oldest first, up to the maximum that is sorted, and their total. */
async function listWaiting(deps: ChangesDeps, read: Snapshot<(typeof waiting)["start"]>, status: WaitingStatus) {
  if (deps.reader) return listOwnWaiting(deps, status);
  const prefix = waitingPrefix(status);
  const rows: SortRow[] = [];
  let isComplete = false;
  for (let after = prefix; !isComplete && rows.length < MAX_SORTED; await yieldToEventLoop()) {
    const page = await read.list("waiting", { prefix, after, limit: PAGE_SIZE, keysOnly: true });
    const ids = page.map(({ id }) => id.slice(prefix.length));
    // The projection may be slightly older than the records, so their status decides.
    for (const record of await readRecordsWithExpiry(deps, ids))
      if (record.change.status === status) rows.push(toSortRow(record));
    after = page.at(-1)?.id ?? after;
    isComplete = page.length < PAGE_SIZE;
  }
  return { rows, isComplete, total: isComplete ? rows.length : Math.max(read.state.counts[status] ?? 0, rows.length) };
}

/** Lists a reader's own changes in a status, oldest first. */
async function listOwnWaiting(deps: ChangesDeps, status: WaitingStatus) {
  const newestFirst = await listMatchingIds(deps, (change) => change.status === status);
  const ids = newestFirst.toReversed();
  const records = await readRecordsWithExpiry(deps, ids.slice(0, MAX_SORTED));
  const rows = records.filter(({ change }) => change.status === status).map(toSortRow);
  const isComplete = ids.length <= MAX_SORTED;
  return { rows, isComplete, total: isComplete ? rows.length : ids.length };
}

async function listDrifted({ store, reader }: ChangesDeps) {
  const episodes = (await store.list("drift", { limit: MAX_SORTED })).map(({ value }) => value);
  const records = await readRecords(
    store,
    episodes.map(({ change_id }) => change_id),
  );
  return episodes.flatMap(({ state: drift, since }, index) =>
    records[index] && canRead(reader, records[index].change)
      ? [{ record: toSortRow(records[index]), episode: { drift, since } }]
      : [],
  );
}

function toSortRow({ change: { value: _, ...change } }: { change: Change }): SortRow {
  return { change };
}

/** Items by row, each built once for all lists. */
type ItemCache = Map<SortRow, Promise<Item | undefined>>;

/** Returns the items of rows, building those that are missing; undefined for a change whose status has changed meanwhile. */
function makeItems(
  deps: ChangesDeps,
  rows: readonly SortRow[],
  cache: ItemCache,
  context: { person: string | null; findHolds: FindHolds },
): Promise<(Item | undefined)[]> {
  const missing = rows.filter((row) => !cache.has(row));
  const built = readItems(deps, missing, context);
  for (const row of missing)
    cache.set(
      row,
      built.then((items) => items.get(row)),
    );
  return Promise.all(rows.map((row) => cache.get(row)));
}

/** Builds items from the current records. */
async function readItems(
  deps: ChangesDeps,
  rows: readonly SortRow[],
  { person, findHolds }: { person: string | null; findHolds: FindHolds },
): Promise<Map<SortRow, Item>> {
  const records = await readRecordsWithExpiry(
    deps,
    rows.map(({ change }) => change.change_id),
  );
  const byId = new Map(records.map((record) => [record.change.change_id, record]));
  const unchanged = rows.flatMap((row) => {
    const record = byId.get(row.change.change_id);
    return record?.change.status === row.change.status ? [{ row, record }] : [];
  });
  const readiness = await readReadiness(
    deps,
    unchanged.map(({ record }) => record),
    findHolds,
  );
  return new Map(unchanged.map(({ row, record }, index) => [row, toItem(deps, record, readiness[index]!, person)]));
}

function toItem(
  deps: ChangesDeps,
  { change }: ChangeRecord,
  { missing, gates }: Readiness,
  person: string | null,
): Item {
  const { intent } = deps.product!;
  return {
    ...pick(change, SHOWN_NAMES),
    ...(change.sets && { targets: change.sets.length }),
    title: change.summary,
    since: findSince(change),
    expires_at: findExpiryTime(change, intent.policy),
    waits_for_you: person !== null && isConsentExpected(change, person, intent),
    missing,
    gates: gates.filter(({ state }) => state !== "pass"),
  };
}

/** Returns the time since which a change waits; a drifted one gets the time of its drift in `gatherInbox`. */
function findSince({ status, created_at, decided_at, applied_at }: Change): string {
  if (status === "approved") return decided_at ?? created_at;
  return (status === "applied" ? applied_at : null) ?? created_at;
}

/** Compares numbers that may both be Infinity, whose difference is not a number. */
function compare(a: number, b: number): number {
  if (a < b) return -1;
  return a > b ? 1 : 0;
}

/** Compares by risk, highest first, then by affected users; an unstated number counts as the highest. */
const compareWeight = (a: Change, b: Change): number =>
  RISKS.indexOf(b.risk) - RISKS.indexOf(a.risk) || compare(b.affected_users ?? Infinity, a.affected_users ?? Infinity);
