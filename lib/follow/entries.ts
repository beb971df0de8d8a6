/** Entries as followers read them. */
import { entryKey } from "../audit/chain.ts";
import type { AuditEntry } from "../audit/entry.ts";
import type { Actor } from "../governance/rules/actor.ts";
import type { Change } from "../governance/rules/change.ts";
import { type Detail, detailIn } from "../governance/rules/event.ts";
import type { Store } from "../store/store.ts";

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

/** Entries after an id, in their order: some at least and `limit` at most. */
export type EntryReader = (after: number, limit: number) => Promise<Entry[]>;

const READ = 64;
const KEPT = 4;

/**
 * A reader over a store: followers that stand at the same place share what one of them has read. An entry that is missing is
 * an error, since nothing can be followed beyond it.
 */
export function entryReader(store: Store): EntryReader {
  const recent: { after: number; entries: Promise<Entry[]> }[] = [];
  return async (after, limit) => {
    if (limit === 0) return [];
    let run = recent.find((known) => known.after === after);
    if (!run) {
      run = { after, entries: read(store, after, Math.min(limit, READ)) };
      recent.unshift(run);
      recent.length = Math.min(recent.length, KEPT);
      run.entries.catch(() => recent.splice(0));
    }
    return (await run.entries).slice(0, limit);
  };
}

async function read(store: Store, after: number, limit: number): Promise<Entry[]> {
  const page = await store.list("audit", { after: entryKey(after), limit });
  const gap = page.findIndex(({ value }, index) => value.id !== after + 1 + index);
  if (gap !== -1 || page.length < limit)
    throw new Error(`audit entry ${after + 1 + (gap === -1 ? page.length : gap)} is missing from the store`);
  return page.map(({ value }) => factsIn(value));
}
