/** Entries as followers read them. */
import { entryKey } from "../audit/chain.ts";
import type { AuditEntry } from "../audit/entry.ts";
import type { Actor } from "../governance/rules/actor.ts";
import type { Change } from "../governance/rules/change.ts";
import { type Detail, detailIn } from "../governance/rules/event.ts";
import { type Source, type SourceDeps, sourceOf } from "./source.ts";

/** What an entry's detail says, as far as followers read it. What an older version left out is absent. */
interface Facts extends Detail {
  manifest_hash?: string;
  proposer?: Change["proposer"];
  authenticated?: Actor["authenticated"];
  target?: string;
  progress?: string;
  stage?: string;
  error?: string;
  host?: string;
  /** The host's answer to an operation whose failure is in the log already. */
  late?: boolean;
  state?: string;
  by?: string;
  actor?: string | null;
  until?: string | null;
  /** Of an accepted clock: when the entry before it says it was written. */
  last?: string;
  adapter?: object | null;
  E?: number | null;
  code?: string;
  /** Refusals of a day that have no entry of their own. */
  count?: number;
  day?: string;
}

/** An entry with its detail read. */
export interface Entry extends AuditEntry {
  facts: Facts;
}

/** Reads an entry. */
export const factsIn = (entry: AuditEntry): Entry => ({ ...entry, facts: detailIn(entry.detail) });

/** A run of entries in their order, and what followers derive from beside them. */
export interface Run {
  entries: readonly Entry[];
  source: Source;
}

/** Entries after an id: some at least where there are any, and `limit` at most. */
export type EntryReader = (after: number, limit: number) => Promise<Run>;

const READ = 64;
/** Followers stand apart when the log grows faster than they follow: each has its run then, and some to spare. */
const KEPT = 8;

/**
 * A reader over a store, for one catching up or one state of the log: followers share what one of them has read of entries and
 * changes, wherever in it they stand. An entry that is missing is an error, since nothing can be followed beyond it.
 */
export function entryReader(deps: SourceDeps): EntryReader {
  const recent: { after: number; last: number; run: Promise<Run> }[] = [];
  return async (after, limit) => {
    if (limit === 0) return { entries: [], source: sourceOf(deps, []) };
    const index = recent.findIndex((known) => known.after <= after && after < known.last);
    const [known] = index === -1 ? [] : recent.splice(index, 1);
    const last = after + Math.min(limit, READ);
    const { run, ...at } = known ?? { after, last, run: runAfter(deps, after, last) };
    recent.unshift({ ...at, run });
    recent.length = Math.min(recent.length, KEPT);
    const { entries, source } = await run.catch((error: unknown) => {
      recent.splice(0);
      throw error;
    });
    return { entries: entries.slice(after - at.after, after - at.after + limit), source };
  };
}

async function runAfter(deps: SourceDeps, after: number, last: number): Promise<Run> {
  const limit = last - after;
  const page = await deps.store.list("audit", { after: entryKey(after), limit });
  const gap = page.findIndex(({ value }, index) => value.id !== after + 1 + index);
  if (gap !== -1 || page.length < limit)
    throw new Error(`audit entry ${after + 1 + (gap === -1 ? page.length : gap)} is missing from the store`);
  const entries = page.map(({ value }) => factsIn(value));
  return { entries, source: sourceOf(deps, entries) };
}
