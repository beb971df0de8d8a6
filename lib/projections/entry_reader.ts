/** Reads the log for followers, in runs that they share. */
import { entryKey } from "../audit/chain.ts";
import { type Entry, factsIn } from "./entries.ts";
import { type Source, type SourceDeps, sourceOf } from "./source.ts";

/** A run of entries in their order, and what followers derive from beside them. */
export interface Run {
  entries: readonly Entry[];
  source: Source;
}

/** Entries after an id: some at least where there are any, and `limit` at most. */
export type EntryReader = (after: number, limit: number) => Promise<Run>;

const READ = 64;
/** Followers stand apart while they go through some hundred entries: what the first has read is there for the last. */
const KEPT = 12;

/**
 * A reader of a log of some length: followers share what one of them has read of entries and changes, wherever in it they
 * stand. An entry that is missing is an error, since nothing can be followed beyond it.
 */
export function entryReader(deps: SourceDeps, length: number): EntryReader {
  const recent: { after: number; last: number; run: Promise<Run> }[] = [];
  let origin: number | undefined;
  return async (after, limit) => {
    if (limit === 0) return { entries: [], source: sourceOf(deps, []) };
    const index = recent.findIndex((known) => known.after <= after && after < known.last);
    const [known] = index === -1 ? [] : recent.splice(index, 1);
    // Runs of those who begin elsewhere would lie across each other.
    const first = Math.max(0, after - modulo(after - (origin ??= after), READ));
    const last = Math.min(first + READ, length);
    const { run, ...at } = known ?? { after: first, last, run: runAfter(deps, first, last) };
    recent.unshift({ ...at, run });
    recent.length = Math.min(recent.length, KEPT);
    const { entries, source } = await run.catch((error: unknown) => {
      recent.splice(0);
      throw error;
    });
    return { entries: entries.slice(after - at.after, after - at.after + limit), source };
  };
}

const modulo = (dividend: number, divisor: number): number => ((dividend % divisor) + divisor) % divisor;

async function runAfter(deps: SourceDeps, after: number, last: number): Promise<Run> {
  const limit = last - after;
  const page = await deps.store.list("audit", { after: entryKey(after), limit });
  const gap = page.findIndex(({ value }, index) => value.id !== after + 1 + index);
  if (gap !== -1 || page.length < limit)
    throw new Error(`audit entry ${after + 1 + (gap === -1 ? page.length : gap)} is missing from the store`);
  const entries = page.map(({ value }) => factsIn(value));
  return { entries, source: sourceOf(deps, entries) };
}
