/**
 * Applies the log to one projection in slices. A slice is one transaction, fenced by the revision of the projection's cursor
 * and by nothing else: it delays no governed write, and two processes cannot store the same entry.
 */
import { entryKey, readHead } from "../audit/chain.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import { json } from "../store/json.ts";
import { RevisionConflict, type Store } from "../store/store.ts";
import type { LogReader } from "./log_reader.ts";
import {
  type Cursor,
  MAX_WRITES_PER_STEP,
  type Projection,
  type ProjectionContext,
  type ProjectionDeps,
  startCursor,
} from "./projection.ts";
import { createWriteBuffer, type WriteBuffer } from "./write_buffer.ts";

const MAX_ENTRIES_PER_SLICE = 128;
/** The cursor is one more write of the transaction. */
const MAX_WRITES_PER_SLICE = 49;

/** The end of the log for a slice. */
export interface LogEnd {
  /** The log's length. */
  length: number;
  /** The moment up to which time has certainly passed there; ISO 8601, `""` if only entries count. */
  now: string;
  read: LogReader;
}

/** Reads the length of the log. */
export const readLength = async ({ store }: Pick<ProjectionDeps, "store">): Promise<number> =>
  (await readHead(store))?.length ?? 0;

/** The result of a slice; `more`: the log may have further entries; `conflict`: another process or a rebuild moved the cursor. */
export type SliceResult = "done" | "more" | "conflict";

/** Projects the next slice towards the end of the log, into `store`. */
export async function projectSlice(
  deps: ProjectionDeps,
  projection: Projection,
  store: Store,
  end: LogEnd,
): Promise<SliceResult> {
  const stored = await store.get("cursors", projection.name);
  const isBeyond = stored !== undefined && stored.value.entry > end.length;
  // The cursor may be ahead because another process has projected newer entries. Otherwise the log was replaced: start again.
  if (isBeyond && stored.value.entry <= (await readLength(deps))) return "done";
  const isValid = stored && !isBeyond && stored.value.version === projection.version;
  const start = isValid ? stored.value : startCursor(projection);
  const rows = createWriteBuffer(store);
  const { cursor, isDone } = start.clearing
    ? { cursor: await clearRows(projection, start, rows, store), isDone: false }
    : await applyEntries(deps, projection, start, rows, end);
  if (rows.size === 0 && cursor.entry === start.entry && cursor.step === start.step && !start.clearing) return "done";
  try {
    await store.transact((tx) => {
      tx.put("cursors", projection.name, json(cursor), stored?.revision ?? 0);
      rows.flush(tx);
    });
  } catch (error) {
    if (error instanceof RevisionConflict) return "conflict";
    throw error;
  }
  return isDone ? "done" : "more";
}

/** Deletes rows that are to be rebuilt, up to the limit of one transaction. */
async function clearRows(
  { collections }: Projection,
  { clearing, ...cursor }: Cursor,
  rows: WriteBuffer,
  store: Store,
): Promise<Cursor> {
  let { place: index, after } = clearing!;
  while (index < collections.length && rows.size < MAX_WRITES_PER_SLICE) {
    const limit = MAX_WRITES_PER_SLICE - rows.size;
    const page = await store.list(collections[index]!, { after, limit, keysOnly: true });
    for (const { id } of page) rows.delete(collections[index]!, id);
    if (page.length === limit) after = page.at(-1)!.id;
    else [index, after] = [index + 1, ""];
  }
  return index < collections.length ? { ...cursor, clearing: { place: index, after } } : cursor;
}

/** Applies the next entries; `isDone` when the end of the log was reached. */
async function applyEntries<S>(
  { store }: ProjectionDeps,
  projection: Projection<S>,
  start: Cursor,
  tx: WriteBuffer,
  { length, now, read }: LogEnd,
): Promise<{ cursor: Cursor; isDone: boolean }> {
  let { entry: applied, step } = start;
  let state = start.state as S;
  const last = Math.min(length, applied + MAX_ENTRIES_PER_SLICE);
  const hasRoom = (writes: number): boolean => tx.size + writes <= MAX_WRITES_PER_SLICE;
  const createResult = (isDone: boolean) => ({ cursor: { ...start, entry: applied, step, state }, isDone });
  // At most one for each length of the log from `applied` to `last`.
  const samples = projection.applyTime ? await readClockSamples(store, applied, MAX_ENTRIES_PER_SLICE + 1) : undefined;
  while (applied < last) {
    const { entries, facts } = await read(applied, last - applied);
    const context: ProjectionContext<S> = { ...facts, tx, state, position: applied, hasRoom };
    for (const entry of entries) {
      const until = findLater(samples?.get(applied), entry.timestamp);
      // An entry that continues at a later step had time applied before its first step.
      const isTimeApplied = step !== "" || ((await projection.applyTime?.(context, until)) ?? true);
      ({ state } = context);
      if (!isTimeApplied || !hasRoom(MAX_WRITES_PER_STEP)) return createResult(false);
      context.position = entry.id;
      step = (await projection.apply(context, entry, step)) ?? "";
      ({ state } = context);
      if (step !== "") return createResult(false);
      applied = entry.id;
    }
    if (applied < last) await yieldToEventLoop();
  }
  const until = findLater(samples?.get(applied), now);
  if (applied < length || !projection.applyTime || until === "") return createResult(applied === length);
  const { facts } = await read(applied, 0);
  const context: ProjectionContext<S> = { ...facts, tx, state, position: applied, hasRoom };
  const sizeBefore = tx.size;
  const isDone = await projection.applyTime(context, until);
  ({ state } = context);
  // Stored for rebuilds, since the log does not contain this moment.
  if (tx.size > sizeBefore) tx.put("sightings", entryKey(applied), { at: until });
  return createResult(isDone);
}

const findLater = (a: string | undefined, b: string): string => (a !== undefined && a > b ? a : b);

/** Reads the moments up to which time was applied, by length of the log, from `length` on. */
async function readClockSamples(store: Store, length: number, limit: number): Promise<Map<number, string>> {
  const after = length === 0 ? "" : entryKey(length - 1);
  const page = await store.list("sightings", { after, limit });
  return new Map(page.map(({ id, value }) => [Number(id), value.at]));
}
