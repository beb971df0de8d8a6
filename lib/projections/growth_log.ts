/** The growth log as it is read: rows made of entries and of outcomes, and notices of what has no entry. */
import { readHead } from "../audit/chain.ts";
import { readRecords } from "../changes/records.ts";
import type { Reads, Tx } from "../store/store.ts";
import { nameChange } from "../wording/names.ts";
import { joinParts } from "../wording/part.ts";
import type { FollowDeps } from "./follower.ts";
import { growth } from "./growth.ts";
import { addRow, type GrowthRow, kindKey, type Notice, OUTCOME_KIND, type RowSource, SOURCES } from "./growth_row.ts";
import { outcomes } from "./outcomes.ts";
import { reading } from "./reading.ts";
import { type Ring, ringKey, seqAt } from "./ring.ts";

declare module "../store/store.ts" {
  interface Meta {
    notices: Ring;
    /** The last cycle, and when it ended. */
    tick: { tick: number; at: string };
  }
}

/** Adds a notice in the transaction of what it tells of. Its place is the log's length by then, or a little before. */
export async function addNotice({ store }: Pick<FollowDeps, "store">, tx: Tx, notice: Notice): Promise<void> {
  // Not through the transaction: it must not be decided anew for every entry that others write.
  const position = (await readHead(store))?.length ?? 0;
  const tick = (await tx.get("meta", "tick"))?.value.tick ?? 0;
  const ring = (await tx.get("meta", "notices"))?.value;
  tx.put("meta", "notices", await addRow(tx, "notices", ring, { position, tick }, notice));
}

/** Rows, newest first; `next` is the `before` of the next page. */
export async function growthPage(
  deps: FollowDeps,
  { limit, before, kind }: { limit: number; before?: number | undefined; kind?: string | undefined },
): Promise<{ entries: GrowthRow[]; next: number | null }> {
  const [ofEntries, ofOutcomes] = await Promise.all([reading(deps, growth), reading(deps, outcomes)]);
  const reads: Record<RowSource, Reads> = { growth_rows: ofEntries, outcome_rows: ofOutcomes, notices: deps.store };
  const pages = await Promise.all(
    SOURCES.map((source) => rowsBefore(reads[source], source, before ?? Number.MAX_SAFE_INTEGER, limit + 1, kind)),
  );
  const rows = pages.flat().sort((a, b) => b.seq - a.seq);
  const entries = rows.slice(0, limit);
  return { entries, next: rows.length > limit ? entries.at(-1)!.seq : null };
}

/** Names changes in the titles of rows; stored rows have their ids alone, so that an erasure leaves no words in them. */
export async function nameChanges(reads: Pick<Reads, "getMany">, rows: readonly GrowthRow[]): Promise<GrowthRow[]> {
  const ids = [...new Set(rows.flatMap(({ ref, title }) => (ref !== null && title.includes(ref) ? [ref] : [])))];
  if (ids.length === 0) return [...rows];
  const records = await readRecords(reads, ids);
  const names = new Map(
    records.flatMap((record, at) => (record ? [[ids[at]!, joinParts(nameChange(record.change))]] : [])),
  );
  return rows.map((row) => {
    const name = row.ref === null ? undefined : names.get(row.ref);
    return name === undefined ? row : { ...row, title: row.title.replaceAll(row.ref!, () => name) };
  });
}

async function rowsBefore(
  reads: Reads,
  source: RowSource,
  before: number,
  limit: number,
  kind: string | undefined,
): Promise<GrowthRow[]> {
  const newestFirst = { limit, reverse: true };
  if (source === "outcome_rows" && kind !== undefined && kind !== OUTCOME_KIND) return [];
  if (source === "outcome_rows" || kind === undefined)
    return (await reads.list(source, { ...newestFirst, after: ringKey(before) })).map(({ value }) => value);
  const prefix = `${kind}\n`;
  const after = kindKey(kind, before);
  const keys = await reads.list(`${source}_kinds`, { ...newestFirst, prefix, after, keysOnly: true });
  const rows = await reads.getMany(
    source,
    keys.map(({ id }) => id.slice(prefix.length)),
  );
  return rows.flatMap((row) => (row ? [row.value] : []));
}

/** The newest row of those that will not change any more: every follower that makes rows has passed its place. */
export async function newestRow({ getMany }: Reads): Promise<number> {
  const cursors = (await getMany("cursors", [growth.name, outcomes.name])).map((stored) => stored?.value);
  const passed = Math.min(...cursors.map((cursor) => (cursor && !cursor.clearing ? cursor.entry : 0)));
  const newest = cursors.map((cursor) => (cursor?.state as { rows: Ring } | undefined)?.rows.seq ?? 0);
  return Math.min(Math.max(...newest), seqAt(passed + 1) - 1);
}

/** Stored rows after a number and up to another, oldest first. */
export async function rowsAfter(
  reads: Reads,
  sources: readonly RowSource[],
  seq: number,
  last: number,
  limit: number,
): Promise<GrowthRow[]> {
  const pages = await Promise.all(sources.map((source) => reads.list(source, { after: ringKey(seq), limit })));
  const rows = pages.flat().map(({ value }) => value);
  return rows
    .filter((row) => row.seq <= last)
    .sort((a, b) => a.seq - b.seq)
    .slice(0, limit);
}
