/**
 * Reads the activity log, and adds notices to it. Its rows are those of entries, those of outcomes, and notices of anything else.
 * The number of a row (`seq`) is its position in the audit log times a million, plus an offset.
 */
import { readHead } from "../audit/chain.ts";
import { readRecords } from "../changes/records.ts";
import type { Reads, Tx } from "../store/store.ts";
import { nameChange } from "../wording/names.ts";
import { joinParts } from "../wording/part.ts";
import type { ProjectionDeps } from "./projection.ts";
import {
  activity,
  type ActivityRow,
  addRow,
  kindKey,
  type Notice,
  OUTCOME_KIND,
  ROW_SOURCES,
  type RowSource,
} from "./activity.ts";
import { outcomes } from "./outcomes.ts";
import { readProjection } from "./snapshot.ts";
import { type BufferState, sequenceKey, firstSequence } from "./buffer.ts";

declare module "../store/store.ts" {
  interface Meta {
    /** State of the collection of that name. */
    notices: BufferState;
    /** The last cycle, and the moment of its end. */
    tick: { tick: number; at: string };
  }
}

/** Adds a notice in the transaction of the event that it reports. Its position is the log's length, or slightly less. */
export async function addNotice({ store }: Pick<ProjectionDeps, "store">, tx: Tx, notice: Notice): Promise<void> {
  // Read outside the transaction, which would otherwise conflict with every entry.
  const position = (await readHead(store))?.length ?? 0;
  const tick = (await tx.get("meta", "tick"))?.value.tick ?? 0;
  const buffer = (await tx.get("meta", "notices"))?.value;
  tx.put("meta", "notices", await addRow(tx, "notices", buffer, { position, tick }, notice));
}

/** Reads a page of rows, newest first; `next` is the `before` of the next page. */
export async function readActivityPage(
  deps: ProjectionDeps,
  { limit, before, kind }: { limit: number; before?: number | undefined; kind?: string | undefined },
): Promise<{ entries: ActivityRow[]; next: number | null }> {
  const [entryRows, outcomeRows] = await Promise.all([readProjection(deps, activity), readProjection(deps, outcomes)]);
  const reads: Record<RowSource, Reads> = { growth_rows: entryRows, outcome_rows: outcomeRows, notices: deps.store };
  const pages = await Promise.all(
    ROW_SOURCES.map((source) =>
      listSourceRows(reads[source], source, before ?? Number.MAX_SAFE_INTEGER, limit + 1, kind),
    ),
  );
  const rows = pages.flat().sort((a, b) => b.seq - a.seq);
  const entries = rows.slice(0, limit);
  return { entries, next: rows.length > limit ? entries.at(-1)!.seq : null };
}

/** Replaces ids by names of changes in the titles of rows; stored rows contain ids, so that an erasure need not search them. */
export async function nameChanges(reads: Pick<Reads, "getMany">, rows: readonly ActivityRow[]): Promise<ActivityRow[]> {
  const ids = [...new Set(rows.flatMap(({ ref, title }) => (ref !== null && title.includes(ref) ? [ref] : [])))];
  if (ids.length === 0) return [...rows];
  const records = await readRecords(reads, ids);
  const names = new Map(
    records.flatMap((record, index) => (record ? [[ids[index]!, joinParts(nameChange(record.change))]] : [])),
  );
  return rows.map((row) => {
    const name = row.ref === null ? undefined : names.get(row.ref);
    // A function, since `$` has a meaning in a replacement text.
    return name === undefined ? row : { ...row, title: row.title.replaceAll(row.ref!, () => name) };
  });
}

async function listSourceRows(
  reads: Reads,
  source: RowSource,
  before: number,
  limit: number,
  kind: string | undefined,
): Promise<ActivityRow[]> {
  const newestFirst = { limit, reverse: true };
  // All rows of outcomes have one kind, so they have no index by kind.
  if (source === "outcome_rows" && kind !== undefined && kind !== OUTCOME_KIND) return [];
  if (source === "outcome_rows" || kind === undefined)
    return (await reads.list(source, { ...newestFirst, after: sequenceKey(before) })).map(({ value }) => value);
  const prefix = `${kind}\n`;
  const after = kindKey(kind, before);
  const keys = await reads.list(`${source}_kinds`, { ...newestFirst, prefix, after, keysOnly: true });
  const rows = await reads.getMany(
    source,
    keys.map(({ id }) => id.slice(prefix.length)),
  );
  return rows.flatMap((row) => (row ? [row.value] : []));
}

/**
 * Finds the number up to which no more rows can be added, because every projection of rows has passed its position. It is never
 * above the newest row, so that it rises only with a row.
 */
export async function findNewestFixedRow({ getMany }: Reads): Promise<number> {
  const cursors = (await getMany("cursors", [activity.name, outcomes.name])).map((stored) => stored?.value);
  const passed = Math.min(...cursors.map((cursor) => (cursor && !cursor.clearing ? cursor.entry : 0)));
  const newest = cursors.map((cursor) => (cursor?.state as { rows: BufferState } | undefined)?.rows.seq ?? 0);
  return Math.min(Math.max(...newest), firstSequence(passed + 1) - 1);
}

/** Lists at most `limit` stored rows, oldest first, with numbers above `seq` and up to `last`. */
export async function listStoredRows(
  reads: Reads,
  sources: readonly RowSource[],
  seq: number,
  last: number,
  limit: number,
): Promise<ActivityRow[]> {
  const pages = await Promise.all(sources.map((source) => reads.list(source, { after: sequenceKey(seq), limit })));
  const rows = pages.flat().map(({ value }) => value);
  return rows
    .filter((row) => row.seq <= last)
    .sort((a, b) => a.seq - b.seq)
    .slice(0, limit);
}
