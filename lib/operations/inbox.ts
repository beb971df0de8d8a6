/**
 * Items that wait for a person: changes for consent and for their apply, emergencies for review, and what the host shows no more.
 */
import * as z from "zod";
import { type Snapshot, readProjection } from "../projections/snapshot.ts";
import { waiting, type WaitingStatus, waitingPrefix } from "../projections/waiting.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { readRecordsAtTime } from "../changes/expiry.ts";
import { type FindHolds, heldNow } from "../changes/freeze.ts";
import { readRecords } from "../changes/records.ts";
import { listReviewsDue } from "../changes/reviews_due.ts";
import { isConsentExpected } from "../changes/rules/expected_consent.ts";
import { type Change, changeSchema, RISKS } from "../changes/rules/change.ts";
import { gateSchema } from "../changes/rules/gates.ts";
import { findExpiryTime, findDeadline, EXPIRES_SOON_SHARE } from "../changes/rules/current_state.ts";
import { missingSchema } from "../changes/rules/missing.ts";
import { canRead } from "../changes/rules/reader.ts";
import type { ChangeRecord } from "../changes/rules/record.ts";
import { type Standing, readStandings } from "../changes/standings.ts";
import { listIds } from "../find/change_index.ts";
import { PAGE_BYTES } from "../kit/gather.ts";
import { runWithScanLimit } from "../kit/semaphore.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import { bytesOfText } from "../store/engine/write_set.ts";
import { dueMandate, listMandatesDue } from "./mandates_due.ts";
import { listWorseKpis, pick } from "./change_views.ts";

/** Maximum number of changes of a list that are sorted, the oldest; later ones are counted. */
export const MOST_ORDERED = 5000;
const PAGE = 500;
/** Five lists make an answer. A list ends with the item that reaches this, wherever its limit is. */
const LIST_BYTES = PAGE_BYTES / 5;
/** Number of items built concurrently. */
const TOGETHER = 25;

const SHOWN = {
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
const NAMES = Object.keys(SHOWN) as (keyof typeof SHOWN)[];

export const inboxItem = changeSchema()
  .pick(SHOWN)
  .extend({
    title: z.string().meta({ description: "Its summary.", examples: ["Raise the seat limit to 50"] }),
    targets: z.number().int().optional().describe("How many targets a plan sets."),
    since: z.string().describe("Since when it waits: proposed, approved, applied in an emergency, or seen to drift."),
    expires_at: z
      .string()
      .nullable()
      .describe("When its time is over, or its review is due; null where the intent sets no limit."),
    waits_for_you: z.boolean().describe("Whether a consent of the person who asks would bring it on."),
    missing: z.array(missingSchema()).describe("Whose consent is still missing, by rule."),
    gates: z.array(gateSchema()).describe("What blocks its apply now, or warns of it."),
    drift: z.enum(["drifted", "missing"]).optional().describe("What the host shows instead; absent where it fits."),
  })
  .describe("A change that waits for somebody.");

export const inboxList = z
  .object({
    total: z.number().int().describe("How many there are."),
    items: z.array(inboxItem).describe("The first of them."),
  })
  .describe("What waits in one way.");

export const inboxSchema = z.object({
  person: z
    .string()
    .nullable()
    .meta({ description: "For whom it is; null: nobody is named.", examples: ["ana"] }),
  totals: z
    .object({
      pending: z.number().int().describe("Changes that wait for consent."),
      waiting_for_you: z.number().int().nullable().describe("Of these, for the person's; null: nobody is named."),
      approved: z.number().int().describe("Changes that wait for their apply."),
      review_due: z.number().int().describe("Emergency consents that wait for review."),
      drifted: z.number().int().describe("Changes that the host shows no more."),
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
    .meta({ description: "KPIs that are worse than at an apply of late.", examples: [["csat"]] }),
  mandates: z.array(dueMandate).describe("Mandates that are suspended, end soon or are not signed yet."),
  complete: z
    .boolean()
    .describe(
      `False when more than ${MOST_ORDERED} wait, of which the oldest are put in order, or newer ones are not seen yet.`,
    ),
});
export type Inbox = z.infer<typeof inboxSchema>;
type Item = z.infer<typeof inboxItem>;

/** A row to sort: there are thousands of them, so it has no large field that only an apply needs. */
interface Kept {
  change: Omit<Change, "value">;
}

/** Everything that waits, for a person where one is named; `limit` items a list. */
export const buildInbox = (deps: ChangesDeps, query: { person: string | null; limit: number }): Promise<Inbox> =>
  runWithScanLimit(deps.store, () => gathered(deps, query));

async function gathered(deps: ChangesDeps, { person, limit }: { person: string | null; limit: number }) {
  const { intent } = deps.product!;
  const read = await readProjection(deps, waiting);
  const [
    { kept: pending, ...ofPending },
    { kept: approved, ...ofApproved },
    due,
    drifted,
    findHolds,
    worse_kpis,
    mandates,
  ] = await Promise.all([
    waitingIn(deps, read, "pending_consent"),
    waitingIn(deps, read, "approved"),
    listReviewsDue(deps, MOST_ORDERED),
    driftedNow(deps),
    heldNow(deps),
    listWorseKpis(deps),
    listMandatesDue(deps, person),
  ]);
  const reviews = due.map((change) => keptOf({ change }));
  const deadline = ({ change }: Kept): number => findDeadline(change, intent.policy) ?? Infinity;
  const made: Made = new Map();
  const items = async (kept: readonly Kept[]): Promise<Item[]> => {
    const shown: Item[] = [];
    for (let begin = 0, bytes = 0; begin < kept.length;) {
      const part = kept.slice(begin, begin + Math.min(TOGETHER, limit - shown.length));
      begin += part.length;
      for (const item of await makeItems(deps, part, made, { person, findHolds })) {
        if (!item) continue;
        shown.push(item);
        bytes += bytesOfText(JSON.stringify(item));
        if (shown.length === limit || bytes >= LIST_BYTES) return shown;
      }
    }
    return shown;
  };
  const inOrder = (kept: readonly Kept[], due: (record: Kept) => number) =>
    kept.toSorted((a, b) => compare(due(a), due(b)) || weightier(a.change, b.change));
  const isExpiring = (record: Kept): boolean => {
    const over = deadline(record);
    const since = Date.parse(sinceOf(record.change));
    return over - deps.clock.now() < (over - since) * EXPIRES_SOON_SHARE;
  };
  const pressing = inOrder(pending, deadline);
  const own = person === null ? [] : pressing.filter(({ change }) => isConsentExpected(change, person, intent));
  const totals = {
    pending: ofPending.total,
    waiting_for_you: person === null ? null : own.length,
    approved: ofApproved.total,
    review_due: reviews.length,
    drifted: drifted.length,
    expiring: [...pending, ...approved].filter(isExpiring).length,
  };
  const dueAt = new Map(reviews.map(({ change }) => [change.change_id, change.review!.due_at]));
  const states = new Map(drifted.map(({ record, episode }) => [record.change.change_id, episode]));
  const found = drifted.map(({ record }) => record);
  const reviewed = inOrder(reviews, ({ change }) => Date.parse(change.review!.due_at));
  const [ofYours, ofAll, toApply, toReview, gone] = await Promise.all(
    [own, pressing, inOrder(approved, deadline), reviewed, inOrder(found, () => 0)].map(items),
  );
  return {
    person,
    totals,
    waiting_for_you: { total: own.length, items: ofYours! },
    pending: { total: totals.pending, items: ofAll! },
    approved: { total: totals.approved, items: toApply! },
    review_due: {
      total: reviews.length,
      items: toReview!.map((item) => ({ ...item, expires_at: dueAt.get(item.change_id) ?? null })),
    },
    drifted: {
      total: drifted.length,
      items: gone!.map((item) => ({ ...item, ...states.get(item.change_id) })),
    },
    worse_kpis,
    mandates,
    complete: ofPending.ended && ofApproved.ended && read.behind === 0,
  };
}

/** The changes in a status, the oldest first, as many as are put in order, and how many there are. */
async function waitingIn(deps: ChangesDeps, read: Snapshot<(typeof waiting)["start"]>, status: WaitingStatus) {
  if (deps.reader) return ownWaiting(deps, status);
  const prefix = waitingPrefix(status);
  const kept: Kept[] = [];
  let ended = false;
  for (let after = prefix; !ended && kept.length < MOST_ORDERED; await yieldToEventLoop()) {
    const page = await read.list("waiting", { prefix, after, limit: PAGE, keysOnly: true });
    const ids = page.map(({ id }) => id.slice(prefix.length));
    // The view may be a moment older than the records.
    for (const record of await readRecordsAtTime(deps, ids))
      if (record.change.status === status) kept.push(keptOf(record));
    after = page.at(-1)?.id ?? after;
    ended = page.length < PAGE;
  }
  return { kept, ended, total: ended ? kept.length : Math.max(read.state.counts[status] ?? 0, kept.length) };
}

/** The changes of a reader in a status. */
async function ownWaiting(deps: ChangesDeps, status: WaitingStatus) {
  const ids = (await listIds(deps, (change) => change.status === status)).reverse();
  const records = await readRecordsAtTime(deps, ids.slice(0, MOST_ORDERED));
  const kept = records.filter(({ change }) => change.status === status).map(keptOf);
  const ended = ids.length <= MOST_ORDERED;
  return { kept, ended, total: ended ? kept.length : ids.length };
}

async function driftedNow({ store, reader }: ChangesDeps) {
  const episodes = (await store.list("drift", { limit: MOST_ORDERED })).map(({ value }) => value);
  const records = await readRecords(
    store,
    episodes.map(({ change_id }) => change_id),
  );
  return episodes.flatMap(({ state: drift, since }, index) =>
    records[index] && canRead(reader, records[index].change)
      ? [{ record: keptOf(records[index]), episode: { drift, since } }]
      : [],
  );
}

function keptOf({ change: { value: _, ...change } }: { change: Change }): Kept {
  return { change };
}

/** The items of what is shown, each made once. */
type Made = Map<Kept, Promise<Item | undefined>>;

/** Gives the items, and makes those that are not made yet; one that has moved on since it was looked at is none. */
function makeItems(
  deps: ChangesDeps,
  kept: readonly Kept[],
  made: Made,
  by: { person: string | null; findHolds: FindHolds },
): Promise<(Item | undefined)[]> {
  const wanted = kept.filter((one) => !made.has(one));
  const making = itemsOf(deps, wanted, by);
  for (const one of wanted)
    made.set(
      one,
      making.then((items) => items.get(one)),
    );
  return Promise.all(kept.map((one) => made.get(one)));
}

/** Items from the records as they are now. */
async function itemsOf(
  deps: ChangesDeps,
  kept: readonly Kept[],
  { person, findHolds }: { person: string | null; findHolds: FindHolds },
): Promise<Map<Kept, Item>> {
  const records = await readRecordsAtTime(
    deps,
    kept.map(({ change }) => change.change_id),
  );
  const byId = new Map(records.map((record) => [record.change.change_id, record]));
  const same = kept.flatMap((one) => {
    const record = byId.get(one.change.change_id);
    return record?.change.status === one.change.status ? [{ one, record }] : [];
  });
  const standings = await readStandings(
    deps,
    same.map(({ record }) => record),
    findHolds,
  );
  return new Map(same.map(({ one, record }, index) => [one, itemOf(deps, record, standings[index]!, person)]));
}

function itemOf(
  deps: ChangesDeps,
  { change }: ChangeRecord,
  { missing, gates }: Standing,
  person: string | null,
): Item {
  const { intent } = deps.product!;
  return {
    ...pick(change, NAMES),
    ...(change.sets && { targets: change.sets.length }),
    title: change.summary,
    since: sinceOf(change),
    expires_at: findExpiryTime(change, intent.policy),
    waits_for_you: person !== null && isConsentExpected(change, person, intent),
    missing,
    gates: gates.filter(({ state }) => state !== "pass"),
  };
}

const sinceOf = ({ status, created_at, decided_at, applied_at }: Change): string =>
  (status === "approved" ? decided_at : status === "applied" ? applied_at : null) ?? created_at;

const compare = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);

/** Sorts riskier changes first, then those that reach more people; an unstated number counts as the most. */
const weightier = (a: Change, b: Change): number =>
  RISKS.indexOf(b.risk) - RISKS.indexOf(a.risk) || compare(b.affected_users ?? Infinity, a.affected_users ?? Infinity);
