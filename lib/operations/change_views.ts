/** Reads changes for answers: pages, lists of waiting changes, and outcomes. The cost of a page depends on its own size only. */
import { type Calibration, listCalibration } from "../projections/outcomes/calibration.ts";
import { type OutcomeSnapshot, measureOutcomes } from "../projections/outcomes/measure.ts";
import { outcomes } from "../projections/outcomes.ts";
import { listOverdue } from "../projections/expire_overdue.ts";
import { readProjection } from "../projections/snapshot.ts";
import { waiting, waitingPrefix } from "../projections/waiting.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { previewExpiry } from "../changes/expire_changes.ts";
import { createHoldFinder } from "../changes/freeze.ts";
import type { Actor } from "../changes/rules/actor.ts";
import type { Change, Status } from "../changes/rules/change.ts";
import { isOpenChange } from "../changes/rules/current_state.ts";
import type { Gate } from "../changes/rules/gates.ts";
import { describeMovedValues, findMovedValues } from "../changes/rules/moved_value.ts";
import { describeOutcome } from "../changes/rules/outcome_words.ts";
import { listVisibleIds } from "../changes/read_scope.ts";
import { listEpisodes } from "../changes/drift.ts";
import { observeTargets } from "../changes/target_readings.ts";
import type { Outcome, OutcomeRecord } from "../changes/rules/outcome.ts";
import { readReadiness } from "../changes/readiness.ts";
import { viewRollout } from "../changes/rollouts/rollout_view.ts";
import { readChangeView } from "../changes/views.ts";
import { type ChangeRecord, isRecord } from "../changes/rules/record.ts";
import { parseRecord } from "../changes/rules/stored_record.ts";
import { DAY_MS } from "../kit/days.ts";
import { gather } from "../kit/gather.ts";
import { runWithScanLimit } from "../kit/semaphore.ts";
import { countTextBytes } from "../store/engine/write_set.ts";
import type { Text } from "../store/store.ts";
import { listReviewsDue } from "../changes/reviews_due.ts";
import { listMatchingIds } from "../find/change_index.ts";
import { findChanges, isFiltered } from "../find/list_changes.ts";
import { findRelated } from "./related.ts";

const MAX_SCANNED_PER_PAGE = 5000;

/** Newest outcomes among which those of the last week are searched. */
const MAX_RECENT_OUTCOMES = 200;

/** A page of changes, newest first; `next` is the `before` of the next page. */
export interface ChangePage {
  changes: Change[];
  /** Number of changes that match the filters. */
  total: number;
  next: string | null;
}

/** Lists changes. A status alone needs one page; other filters, and restricted readers, need a query of all changes. */
export const listChanges = (deps: ChangesDeps, query: Parameters<typeof findChanges>[1]): Promise<ChangePage> =>
  isFiltered(query) || deps.reader ? findChanges(deps, query) : readChangePage(deps, query);

/** Reads a page, newest first, of 1 MiB at most. By status, at most 5,000 changes are read, and `next` continues from there. */
async function readChangePage(
  deps: ChangesDeps,
  query: { limit: number; before?: string | undefined; status?: Status | undefined },
): Promise<ChangePage> {
  const { store } = deps;
  const filtered = query.status !== undefined;
  const pageOptions = {
    limit: query.limit,
    maxScanned: filtered ? MAX_SCANNED_PER_PAGE : query.limit,
    read: async (last: Row | undefined, limit: number) =>
      readRows(deps, await store.texts("changes", { ...newestFirst(last?.id ?? query.before), limit })),
    isWanted: ({ record }: Row) =>
      record !== undefined && (query.status === undefined || record.change.status === query.status),
  };
  const page = filtered ? await runWithScanLimit(store, () => gather(pageOptions)) : await gather(pageOptions);
  const changes = page.rows.map(({ record }) => record!.change);
  const next = page.ended ? undefined : page.last?.id;
  const isMore = next && (await store.list("changes", { ...newestFirst(next), limit: 1, keysOnly: true })).length > 0;
  return { changes, total: await countChanges(deps, query.status), next: isMore ? next : null };
}

/** Counts the changes, or those of a status. An overdue change counts as denied, although its expiry is not recorded yet. */
async function countChanges(deps: ChangesDeps, status: Status | undefined): Promise<number> {
  const { counts } = (await readProjection(deps, waiting)).state;
  if (!status) return Object.values(counts).reduce((sum, count) => sum + count, 0);
  const recorded = counts[status] ?? 0;
  if (!isOpenChange(status) && status !== "denied") return recorded;
  const overdue = await listOverdue(deps);
  if (isOpenChange(status)) return recorded - overdue[status].length;
  return recorded + overdue.pending_consent.length + overdue.approved.length;
}

interface Row {
  id: string;
  size: number;
  /** Undefined if the stored text is no record. */
  record: ChangeRecord | undefined;
}

async function readRows(deps: ChangesDeps, texts: readonly Text[]): Promise<Row[]> {
  const records = texts.map(parseRecord);
  // One preview for each text that is a record, in their order.
  const previews = (await previewExpiry(deps, records.filter(isRecord))).values();
  return texts.map(({ id, text }, index) => ({
    id,
    size: countTextBytes(text),
    record: isRecord(records[index]) ? previews.next().value : undefined,
  }));
}

const newestFirst = (before: string | undefined) => ({ ...(before && { after: before }), reverse: true });

/** Returns everything about one change, with the actions of `reader`, if any. Errors: 404 `change_not_found`. */
export async function readChangeDetail(deps: ChangesDeps, changeId: string, reader?: Actor) {
  const view = await readChangeView(deps, changeId, reader);
  const [outcome, drift, related, rollout] = await Promise.all([
    readOutcome(deps, changeId),
    listEpisodes(deps.store, changeId),
    findRelated(deps, view),
    viewRollout(deps.store, view),
  ]);
  return { ...view, outcome, drift: drift[0] ?? null, related, ...(rollout && { rollout }) };
}

/** Reads the current values of a change's targets, and adds a gate if they have moved; `seen` is undefined if unreadable. */
export async function readObservedValues(deps: ChangesDeps, view: Awaited<ReturnType<typeof readChangeDetail>>) {
  const observed = await observeTargets(deps, view).catch(() => undefined);
  const moved =
    observed && isOpenChange(view.status) ? findMovedValues(view, deps.product!.intent, observed) : undefined;
  if (!moved) return { seen: observed };
  const gate: Gate = {
    gate: "target_moved",
    state: moved.blocks ? "block" : "warn",
    message: describeMovedValues(moved),
  };
  return { seen: observed, gates: [...view.gates, gate] };
}

async function readOutcome(deps: ChangesDeps, changeId: string): Promise<Outcome | null> {
  const read = await readProjection(deps, outcomes);
  const record = (await read.get("outcomes", changeId))?.value;
  const [outcome = null] = await viewOutcomes(deps, read, record ? [record] : []);
  return outcome;
}

/** Lists pending and approved changes with the gates that block each, oldest first; `next` is the `after` of the next page. */
export async function listApprovals(deps: ChangesDeps, query: { limit: number; after?: string | undefined }) {
  const inOrder = (await (deps.reader ? listOwnLive(deps, query.after) : listLive(deps, query))).sort();
  let position = 0;
  const page = await gather({
    limit: query.limit,
    maxScanned: query.limit,
    async read(_: Row | undefined, count: number) {
      const ids = inOrder.slice(position, (position += count));
      return readRows(deps, await deps.store.texts("changes", ids));
    },
    isWanted: ({ record }) => isOpenChange(record?.change.status),
  });
  const records = page.rows.map(({ record }) => record!);
  const [readiness, reviews] = await Promise.all([
    createHoldFinder(deps).then((findHolds) => readReadiness(deps, records, findHolds)),
    listReviewsDue(deps),
  ]);
  const views = records.map(({ change }, index) => {
    const { missing, gates } = readiness[index]!;
    return { ...pick(change, SHOWN_FIELDS), missing, blocked_by: gates.filter(({ state }) => state === "block") };
  });
  return {
    pending: views.filter(({ status }) => status === "pending_consent"),
    approved: views.filter(({ status }) => status === "approved"),
    review_due: reviews.map((change) => pick(change, REVIEWED_FIELDS)),
    next: page.last && page.last.id !== inOrder.at(-1) ? page.last.id : null,
  };
}

/** Lists pending and approved changes: of each status as many as a page has, and one more. */
async function listLive(deps: ChangesDeps, query: { limit: number; after?: string | undefined }): Promise<string[]> {
  const read = await readProjection(deps, waiting);
  const listed = await Promise.all(
    (["pending_consent", "approved"] as const).map(async (status) => {
      const prefix = waitingPrefix(status);
      const options = { prefix, after: prefix + (query.after ?? ""), limit: query.limit + 1, keysOnly: true } as const;
      return (await read.list("waiting", options)).map(({ id }) => id.slice(prefix.length));
    }),
  );
  return listed.flat();
}

/** Lists all pending and approved changes of a reader. */
const listOwnLive = (deps: ChangesDeps, after = ""): Promise<string[]> =>
  listMatchingIds(deps, ({ change_id, status }) => isOpenChange(status) && change_id > after);

const REVIEWED_FIELDS = ["change_id", "status", "tier", "target", "summary", "review"] as const;

const SHOWN_FIELDS = [
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
  "apply_when",
  "automation_stopped",
  "proposer_kind",
  "asked_by",
  "required_approvers",
  "approvals",
] as const satisfies readonly (keyof Change)[];

/** Picks members of an object by name. */
export const pick = <T, K extends keyof T>(object: T, names: readonly K[]): Pick<T, K> =>
  Object.fromEntries(names.map((name) => [name, object[name]])) as Pick<T, K>;

/** Reads the outcomes of applied changes, newest first; `next` is the `before` of the next page. */
export async function readOutcomePage(
  deps: ChangesDeps,
  query: { limit: number; before?: string | undefined },
): Promise<{ outcomes: Outcome[]; calibration: Calibration[] | null; next: string | null }> {
  const read = await readProjection(deps, outcomes);
  const page = await (deps.reader ? listOwnOutcomes : listOutcomes)(deps, read, query);
  const viewed = await viewOutcomes(deps, read, page.slice(0, query.limit));
  // The calibration comes from all changes, so restricted readers do not get it.
  const calibration = query.before === undefined && !deps.reader ? await listCalibration(read) : null;
  return { outcomes: viewed, calibration, next: page.length > query.limit ? viewed.at(-1)!.change_id : null };
}

/** Lists the KPIs that were judged worse than at an apply in the last week; no change is named as the cause. */
export async function listWorseKpis(deps: ChangesDeps): Promise<string[]> {
  const read = await readProjection(deps, outcomes);
  const records = await (deps.reader ? listOwnOutcomes : listOutcomes)(deps, read, { limit: MAX_RECENT_OUTCOMES });
  const viewed = await viewOutcomes(deps, read, records);
  const since = new Date(deps.clock.now() - 7 * DAY_MS).toISOString();
  const worse = viewed.filter(({ verdict, judged_from }) => verdict === "regressed" && judged_from > since);
  return [...new Set(worse.flatMap(({ kpi }) => kpi ?? []))];
}

interface OutcomeQuery {
  limit: number;
  before?: string | undefined;
}

/** Lists as many outcomes as a page has, and one more. */
const listOutcomes = async (
  _deps: ChangesDeps,
  read: OutcomeSnapshot,
  { limit, before }: OutcomeQuery,
): Promise<OutcomeRecord[]> =>
  (await read.list("outcomes", { ...newestFirst(before), limit: limit + 1 })).map(({ value }) => value);

async function listOwnOutcomes(
  deps: ChangesDeps,
  read: OutcomeSnapshot,
  { limit, before }: OutcomeQuery,
): Promise<OutcomeRecord[]> {
  const isWanted = ({ change_id, applied_at }: Pick<Change, "change_id" | "applied_at">) =>
    applied_at !== null && (before === undefined || change_id < before);
  const ids = await listMatchingIds(deps, isWanted);
  const records: OutcomeRecord[] = [];
  for (let begin = 0; begin < ids.length && records.length <= limit; begin += limit)
    for (const stored of await read.getMany("outcomes", ids.slice(begin, begin + limit)))
      if (stored) records.push(stored.value);
  return records.slice(0, limit + 1);
}

/** Measures outcomes now, without changes that a restricted reader may not see. */
export async function viewOutcomes(
  deps: ChangesDeps,
  read: OutcomeSnapshot,
  records: readonly OutcomeRecord[],
): Promise<Outcome[]> {
  const { clock, product, reader } = deps;
  const measured = await measureOutcomes(read, records, product!.intent, new Date(clock.now()).toISOString());
  return reader ? Promise.all(measured.map((outcome) => hideOtherChanges(deps, outcome))) : measured;
}

/** Returns an outcome without the changes that the reader may not see, and without their number. */
async function hideOtherChanges(deps: ChangesDeps, outcome: Outcome): Promise<Outcome> {
  const { shared_with, replaced_by } = outcome;
  const visible = await listVisibleIds(deps, [...shared_with, ...(replaced_by === null ? [] : [replaced_by])]);
  const redacted = {
    ...outcome,
    shared_with: shared_with.filter((id) => visible.includes(id)),
    shared_count: shared_with.filter((id) => visible.includes(id)).length,
    replaced_by: replaced_by !== null && visible.includes(replaced_by) ? replaced_by : null,
  };
  return { ...redacted, words: describeOutcome(redacted) };
}
