/**
 * One query over the changes on record, behind chat, the tools of models, reports and lists: what is asked for, and how it is
 * answered. An answer always says how far it looked.
 */
import type { GovernanceDeps } from "../../governance/deps.ts";
import type { DriftEpisode } from "../../governance/drift.ts";
import type { Change } from "../../governance/rules/change.ts";
import type { Outcome } from "../../governance/rules/outcome.ts";
import { isRecord } from "../../governance/rules/record.ts";
import { recordIn } from "../../governance/rules/written_record.ts";
import { quietly } from "../../governance/views.ts";
import { outcomes } from "../../follow/outcomes.ts";
import type { OutcomeReading } from "../../follow/outcomes_now.ts";
import { reading } from "../../follow/reading.ts";
import { PAGE_BYTES } from "../../kit/gather.ts";
import { turn } from "../../kit/turn.ts";
import { expireOverdue } from "../../follow/expire_overdue.ts";
import { shownOutcomes } from "../change_views.ts";
import type { Beside, ChangeFilter } from "./filter.ts";
import { type Dimension, type Group, grouped } from "./groups.ts";
import { look, type Look } from "./look.ts";
import { matches } from "./matches.ts";
import { type Event, type Row, timesOf } from "./row.ts";

export type { ChangeFilter };

/** A query: which changes, in which order, and what of them. */
export interface ChangeQuery extends ChangeFilter {
  /** By the event of the period, or else by their proposals. */
  order?: "newest" | "oldest" | undefined;
  /** How many rows at most; 20. */
  limit?: number | undefined;
  /** Goes on behind the row of this id: the `next` of the page before. */
  after?: string | undefined;
  /** Counts by this; the rows are then left out unless a limit is given. */
  group?: Dimension | undefined;
}

/** A change with its outcome and its drift. */
export interface FoundChange {
  change: Change;
  outcome: Outcome | null;
  drift: DriftEpisode | null;
}

/** What a query found. */
export interface ChangeAnswer {
  rows: FoundChange[];
  /** How many changes match, among those that were looked at. */
  total: number;
  /** The `after` of the next page; `null` at the end. */
  next: string | null;
  /** With `group`: how many match of each, the most first; days and weeks in their order. */
  groups: Group[];
  /** How many of the newest changes were looked at, and whether these are all there are. */
  looked: number;
  complete: boolean;
}

const ROWS = 20;
const AT_ONCE = 500;
/** So many records are read together: some of them may be large. */
const TOGETHER = 20;

/** Answers a query from the records. */
export async function queryChanges(deps: GovernanceDeps, query: ChangeQuery): Promise<ChangeAnswer> {
  await quietly(deps, expireOverdue(deps));
  return answerFrom(deps, await look(deps), query);
}

/** Answers a query from a look that was taken: several queries then see the same. */
export async function answerFrom(deps: GovernanceDeps, seen: Look, query: ChangeQuery): Promise<ChangeAnswer> {
  const { group, limit = group === undefined ? ROWS : 0, after } = query;
  const read = await reading(deps, outcomes);
  const { sorted, beside } = await matching(deps, seen, query, read);
  const from = after === undefined ? 0 : placeBehind(sorted, seen, query, after);
  const page = sorted.slice(from, from + limit);
  const { rows, last } = await shown(deps, read, page, beside.drift);
  return {
    rows,
    total: sorted.length,
    next: last !== undefined && last !== sorted.at(-1) ? last.change_id : null,
    groups: group === undefined ? [] : grouped(sorted, group, query, beside),
    looked: seen.looked,
    complete: seen.complete,
  };
}

/** The ids of all that a query finds in a look, in its order: no record is read for them. */
export async function idsFrom(deps: GovernanceDeps, seen: Look, query: ChangeQuery): Promise<string[]> {
  const { sorted } = await matching(deps, seen, query, await reading(deps, outcomes));
  return sorted.map(({ change_id }) => change_id);
}

async function matching(deps: GovernanceDeps, seen: Look, query: ChangeQuery, read: OutcomeReading) {
  const drift = await driftNow(deps);
  const before = await fitting(seen.rows, query, drift);
  const judged = query.verdict !== undefined || query.group === "verdict";
  const told = judged ? await outcomesOf(deps, read, before) : new Map<string, Outcome>();
  const beside = { drift, outcomes: told };
  const found = query.verdict === undefined ? before : before.filter((row) => matches(row, query, beside));
  return { sorted: inOrder(found, query.period?.of ?? "proposed", query.order ?? "newest"), beside };
}

/** Those that fit, whatever their outcomes. Texts are made ready to be searched in, so other work has its turn between slices. */
async function fitting(rows: readonly Row[], query: ChangeQuery, drift: Beside["drift"]): Promise<Row[]> {
  const fits = (row: Row): boolean => matches(row, query, { drift });
  if (query.text === undefined) return rows.filter(fits);
  const found: Row[] = [];
  for (let begin = 0; begin < rows.length; begin += AT_ONCE) {
    if (begin > 0) await turn();
    found.push(...rows.slice(begin, begin + AT_ONCE).filter(fits));
  }
  return found;
}

/** Where a page goes on behind a change, which may be none of them any more. */
function placeBehind(sorted: readonly Row[], seen: Look, query: ChangeQuery, after: string): number {
  const known = sorted.findIndex(({ change_id }) => change_id === after);
  if (known !== -1) return known + 1;
  const cursor = seen.rows.find(({ change_id }) => change_id === after);
  if (!cursor) return sorted.length;
  const { order = "newest", period } = query;
  const [own, key] = [keyOf(cursor, period?.of), (row: Row) => keyOf(row, period?.of)];
  const next = sorted.findIndex((row) => (order === "newest" ? key(row) < own : key(row) > own));
  return next === -1 ? sorted.length : next;
}

/** Changes by their last time of an event; those of one moment in the order of their ids. */
function inOrder(rows: readonly Row[], event: Event, order: "newest" | "oldest"): Row[] {
  const keyed = rows.map((row) => ({ row, key: keyOf(row, event) }));
  keyed.sort((a, b) => (a.key < b.key ? 1 : -1));
  if (order === "oldest") keyed.reverse();
  return keyed.map(({ row }) => row);
}

const keyOf = (row: Row, event: Event = "proposed"): string => `${timesOf(row, event).at(-1) ?? ""} ${row.change_id}`;

/** The episodes of drift under way, by change. */
async function driftNow({ store }: GovernanceDeps): Promise<Map<string, DriftEpisode>> {
  const episodes = await store.list("drift", { limit: 1000 });
  return new Map(episodes.map(({ id, value }) => [id, value]));
}

/** The outcomes, as they stand now, of those that were ever applied. */
async function outcomesOf(
  deps: GovernanceDeps,
  read: OutcomeReading,
  rows: readonly Pick<Row, "change_id" | "applied_at">[],
): Promise<Map<string, Outcome>> {
  const ids = rows.flatMap(({ change_id, applied_at }) => (applied_at === null ? [] : [change_id]));
  const found = new Map<string, Outcome>();
  for (let begin = 0; begin < ids.length; begin += AT_ONCE) {
    const records = await read.getMany("outcomes", ids.slice(begin, begin + AT_ONCE));
    const kept = records.flatMap((record) => record?.value ?? []);
    for (const outcome of await shownOutcomes(deps, read, kept)) found.set(outcome.change_id, outcome);
  }
  return found;
}

/** The records of a page, 1 MiB of them at most, and the row that it ends with. */
async function shown(
  deps: GovernanceDeps,
  read: OutcomeReading,
  page: readonly Row[],
  drift: ReadonlyMap<string, DriftEpisode>,
): Promise<{ rows: FoundChange[]; last: Row | undefined }> {
  const changes: Change[] = [];
  let last: Row | undefined;
  for (let begin = 0, bytes = 0; begin < page.length && bytes < PAGE_BYTES; begin += TOGETHER) {
    const part = page.slice(begin, begin + TOGETHER);
    const texts = await deps.store.texts(
      "changes",
      part.map(({ change_id }) => change_id),
    );
    const records = texts.map(recordIn).filter(isRecord);
    changes.push(...records.map(({ change }) => change));
    bytes += texts.reduce((sum, { text }) => sum + text.length, 0);
    last = part.at(-1);
  }
  const told = await outcomesOf(deps, read, changes);
  const rows = changes.map((change) => ({
    change,
    outcome: told.get(change.change_id) ?? null,
    drift: drift.get(change.change_id) ?? null,
  }));
  return { rows, last };
}
