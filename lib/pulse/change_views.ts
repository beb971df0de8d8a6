/** What is read of changes beyond one's own record: pages, what waits, outcomes. A page costs what it shows. */
import { type Calibration, calibrationOf } from "../follow/calibration.ts";
import { type OutcomeReading, outcomesAt } from "../follow/outcomes_now.ts";
import { outcomes } from "../follow/outcomes.ts";
import { expireOverdue } from "../follow/expire_overdue.ts";
import { reading } from "../follow/reading.ts";
import { waiting, waitingPrefix } from "../follow/waiting.ts";
import type { GovernanceDeps } from "../governance/deps.ts";
import { heldNow } from "../governance/freeze.ts";
import type { Change, Status } from "../governance/rules/change.ts";
import type { Outcome, OutcomeRecord } from "../governance/rules/outcome.ts";
import { standingsOf } from "../governance/standings.ts";
import { changeView, quietly } from "../governance/views.ts";
import { type ChangeRecord, isRecord } from "../governance/rules/record.ts";
import { recordIn } from "../governance/rules/written_record.ts";
import { gather } from "../kit/gather.ts";
import { widely } from "../kit/places.ts";
import { bytesOfText } from "../store/engine/write_set.ts";
import type { Text } from "../store/store.ts";
import { reviewsDue } from "../governance/reviews_due.ts";
import { findChanges, isFiltered } from "../find/list_changes.ts";
import { relatedTo } from "./related.ts";

const SCANNED_A_PAGE = 5000;

/** A page of changes, newest first; `next` is the `before` of the next page. */
export interface ChangePage {
  changes: Change[];
  /** How many changes there are in all; with `status`, of that status. */
  total: number;
  next: string | null;
}

/** Lists changes: by status and tenant page by page, by other fields with a query. */
export const listChanges = (deps: GovernanceDeps, query: Parameters<typeof findChanges>[1]): Promise<ChangePage> =>
  isFiltered(query) ? findChanges(deps, query) : changePage(deps, query);

/** Changes, newest first, 1 MiB of them at most. With a filter at most 5,000 are looked at, and `next` goes on from there. */
export async function changePage(
  deps: GovernanceDeps,
  query: { limit: number; before?: string | undefined; status?: Status | undefined; tenant_id?: string | undefined },
): Promise<ChangePage> {
  await quietly(deps, expireOverdue(deps));
  const { store } = deps;
  const filtered = query.status !== undefined || query.tenant_id !== undefined;
  const gathering = {
    limit: query.limit,
    looked: filtered ? SCANNED_A_PAGE : query.limit,
    read: async (last: Row | undefined, limit: number) =>
      sized(await store.texts("changes", { ...newestFirst(last?.id ?? query.before), limit })),
    wanted: ({ record }: Row) =>
      isRecord(record) &&
      (query.status ?? record.change.status) === record.change.status &&
      (query.tenant_id ?? record.change.tenant_id) === record.change.tenant_id,
  };
  const page = filtered ? await widely(store, () => gather(gathering)) : await gather(gathering);
  const changes = page.rows.map(({ record }) => record.change);
  const next = page.ended ? undefined : page.last?.id;
  const isMore = next && (await store.list("changes", { ...newestFirst(next), limit: 1, keysOnly: true })).length > 0;
  const { counts } = (await reading(deps, waiting)).state;
  const total = query.status
    ? (counts[query.status] ?? 0)
    : Object.values(counts).reduce((sum, count) => sum + count, 0);
  return { changes, total, next: isMore ? next : null };
}

interface Row {
  id: string;
  size: number;
  record: ChangeRecord;
}

const sized = (rows: readonly Text[]): Row[] =>
  rows.map((row) => ({ id: row.id, size: bytesOfText(row.text), record: recordIn(row) }));

const newestFirst = (before: string | undefined) => ({ ...(before && { after: before }), reverse: true });

/** Everything about one change; 404 `change_not_found`. */
export async function changeDetail(deps: GovernanceDeps, changeId: string) {
  const view = await changeView(deps, changeId);
  const [outcome, drift, related] = await Promise.all([
    outcomeNow(deps, changeId),
    deps.store.get("drift", changeId),
    relatedTo(deps, view),
  ]);
  return { ...view, outcome, drift: drift?.value ?? null, related };
}

async function outcomeNow(deps: GovernanceDeps, changeId: string): Promise<Outcome | null> {
  const read = await reading(deps, outcomes);
  const record = (await read.get("outcomes", changeId))?.value;
  const [outcome = null] = await shownOutcomes(deps, read, record ? [record] : []);
  return outcome;
}

/** Pending and approved changes with what blocks each, oldest first; `next` is the `after` of the next page. */
export async function approvals(deps: GovernanceDeps, query: { limit: number; after?: string | undefined }) {
  await quietly(deps, expireOverdue(deps));
  const read = await reading(deps, waiting);
  const listed = await Promise.all(
    (["pending_consent", "approved"] as const).map(async (status) => {
      const prefix = waitingPrefix(status);
      const options = { prefix, after: prefix + (query.after ?? ""), limit: query.limit + 1, keysOnly: true } as const;
      return (await read.list("waiting", options)).map(({ id }) => id.slice(prefix.length));
    }),
  );
  const inOrder = listed.flat().sort();
  let begun = 0;
  const page = await gather({
    limit: query.limit,
    looked: query.limit,
    async read(_: Row | undefined, count: number) {
      const ids = inOrder.slice(begun, (begun += count));
      return sized(await deps.store.texts("changes", ids));
    },
    wanted: ({ record }) => isRecord(record),
  });
  const records = page.rows.map(({ record }) => record);
  const [standings, reviews] = await Promise.all([
    heldNow(deps).then((holds) => standingsOf(deps, records, holds)),
    reviewsDue(deps.store),
  ]);
  const shown = records.map(({ change }, index) => {
    const { missing, gates } = standings[index]!;
    return { ...pick(change, SHOWN), missing, blocked_by: gates.filter(({ state }) => state === "block") };
  });
  return {
    pending: shown.filter(({ status }) => status === "pending_consent"),
    approved: shown.filter(({ status }) => status === "approved"),
    review_due: reviews.map((change) => pick(change, REVIEWED)),
    next: page.last && page.last.id !== inOrder.at(-1) ? page.last.id : null,
  };
}

const REVIEWED = ["change_id", "status", "tier", "target", "summary", "review"] as const;

const SHOWN = [
  "change_id",
  "status",
  "tier",
  "target",
  "summary",
  "expected_delta_k",
  "affected_users",
  "unstated",
  "sets_nothing",
  "value_hint",
  "proposer_kind",
  "asked_by",
  "required_approvers",
  "approvals",
] as const satisfies readonly (keyof Change)[];

/** An object's members with these names. */
export const pick = <T, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> =>
  Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<T, K>;

/** Outcomes of applied changes, newest first; `next` is the `before` of the next page. */
export async function outcomePage(
  deps: GovernanceDeps,
  query: { limit: number; before?: string | undefined },
): Promise<{ outcomes: Outcome[]; calibration: Calibration[] | null; next: string | null }> {
  const read = await reading(deps, outcomes);
  const page = await read.list("outcomes", { ...newestFirst(query.before), limit: query.limit + 1 });
  const records = page.slice(0, query.limit).map(({ value }) => value);
  const shown = await shownOutcomes(deps, read, records);
  const calibration = query.before === undefined ? await calibrationOf(read) : null;
  return { outcomes: shown, calibration, next: page.length > query.limit ? shown.at(-1)!.change_id : null };
}

/** Outcomes as they stand now. */
export const shownOutcomes = (
  { clock, product }: GovernanceDeps,
  read: OutcomeReading,
  records: readonly OutcomeRecord[],
): Promise<Outcome[]> => outcomesAt(read, records, product!.intent, new Date(clock.now()).toISOString());
